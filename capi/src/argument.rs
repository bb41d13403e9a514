//! Values behind pointers: strings, lists, and where results are written.

use std::ffi::{CStr, CString, c_char};

use super::status::{Failure, Result, guarded_or};

/// Reads a string.
///
/// # Safety
/// `text` is null or a string that ends with 0.
pub unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Failure::usage(format!("{name} is NULL")));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
}

/// Reads a list. NULL is an empty list.
///
/// # Safety
/// `first` is null or points to `len` values that live as long as the result is used.
pub unsafe fn list<'a, V>(first: *const V, len: usize, name: &str) -> Result<&'a [V]> {
    match (first.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::usage(format!("{name} is NULL"))),
        // SAFETY: guaranteed by the caller.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, len) }),
    }
}

/// Reads a handle.
///
/// # Safety
/// `handle` is null or a live handle that nothing changes while the result is used.
pub unsafe fn handle<'a, V>(handle: *const V, name: &str) -> Result<&'a V> {
    // SAFETY: guaranteed by the caller.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::usage(format!("{name} is NULL")))
}

/// Reads a handle that the call changes.
///
/// # Safety
/// `handle` is null or a live handle that nothing else uses while the result is used.
pub unsafe fn handle_mut<'a, V>(handle: *mut V, name: &str) -> Result<&'a mut V> {
    // SAFETY: guaranteed by the caller.
    unsafe { handle.as_mut() }.ok_or_else(|| Failure::usage(format!("{name} is NULL")))
}

/// Writes a result.
///
/// # Safety
/// `to` is null or points to memory for a value.
pub unsafe fn write<V>(to: *mut V, value: V, name: &str) -> Result<()> {
    if to.is_null() {
        return Err(Failure::usage(format!("{name} is NULL")));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a new handle.
///
/// # Safety
/// Same as for [`write`].
pub unsafe fn write_handle<V>(to: *mut *mut V, value: V, name: &str) -> Result<()> {
    let value = Box::new(value);
    if to.is_null() {
        return Err(Failure::usage(format!("{name} is NULL")));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { write(to, Box::into_raw(value), name) }
}

/// Writes a new string, which `einsum_dist_text_free` frees.
///
/// # Safety
/// Same as for [`write`].
pub unsafe fn write_text(to: *mut *mut c_char, value: &str, name: &str) -> Result<()> {
    let text = CString::new(value.replace('\0', " ")).unwrap_or_default();
    if to.is_null() {
        return Err(Failure::usage(format!("{name} is NULL")));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { write(to, text.into_raw(), name) }
}

/// Drops a handle; NULL is ignored.
///
/// # Safety
/// `handle` is null or a live handle, which is not used again.
pub unsafe fn free<V>(handle: *mut V) {
    if !handle.is_null() {
        // SAFETY: guaranteed by the caller; handles are made from boxes.
        guarded_or((), || drop(unsafe { Box::from_raw(handle) }));
    }
}

/// Frees a string that a function of this library returned; NULL is ignored.
///
/// # Safety
/// `text` is null or such a string, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: guaranteed by the caller; such strings are made by `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}
