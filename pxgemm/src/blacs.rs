//! The functions of BLACS and PBLAS that are needed, from the ScaLAPACK of the program.

use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    fn Cblacs_gridinfo(context: c_int, rows: *mut c_int, columns: *mut c_int, row: *mut c_int, column: *mut c_int);
    fn blacs_get_(context: *const c_int, what: *const c_int, value: *mut c_int);
    fn Cblacs_abort(context: c_int, code: c_int);
    fn PB_Cabort(context: c_int, routine: *mut c_char, code: c_int);
}

/// The grid of a context, and this process's place in it; row -1 outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Rows and columns.
    pub shape: [c_int; 2],
    pub place: [c_int; 2],
}

/// `None` if this process is not in the context.
pub fn grid(context: c_int) -> Option<Grid> {
    let ([mut rows, mut columns], [mut row, mut column]) = ([-1; 2], [-1; 2]);
    // SAFETY: BLACS only writes to the four integers; it returns -1 for contexts that it does not know.
    unsafe { Cblacs_gridinfo(context, &raw mut rows, &raw mut columns, &raw mut row, &raw mut column) };
    (rows >= 0).then_some(Grid { shape: [rows, columns], place: [row, column] })
}

/// The communicator of a context's processes, as a Fortran integer. The process must be in the context.
pub fn communicator(context: c_int) -> c_int {
    const COMMUNICATOR_OF_CONTEXT: c_int = 10;
    let mut handle = 0;
    // SAFETY: reads two integers and writes one.
    unsafe { blacs_get_(&raw const context, &COMMUNICATOR_OF_CONTEXT, &raw mut handle) };
    handle
}

/// Reports a wrong argument as PBLAS does: a message and the end of the program, except in PBLAS's own tests.
pub fn wrong_argument(context: c_int, routine: &str, code: c_int) {
    let routine = CString::new(routine).unwrap_or_default();
    // SAFETY: PBLAS only reads the string.
    unsafe { PB_Cabort(context, routine.as_ptr().cast_mut(), code) };
}

/// Ends the program.
pub fn abort(context: c_int, routine: &str, why: &str) {
    eprintln!("einsum-dist: {routine}: {why}");
    // SAFETY: has no requirements, and does not return.
    unsafe { Cblacs_abort(context, 1) };
}

/// Unit tests call none of these, but link all.
#[cfg(test)]
mod none {
    use std::ffi::c_int;

    #[unsafe(no_mangle)]
    extern "C" fn Cblacs_gridinfo(_: c_int, _: *mut c_int, _: *mut c_int, _: *mut c_int, _: *mut c_int) {}

    #[unsafe(no_mangle)]
    extern "C" fn blacs_get_(_: *const c_int, _: *const c_int, _: *mut c_int) {}

    #[unsafe(no_mangle)]
    extern "C" fn Cblacs_abort(_: c_int, _: c_int) {}

    #[unsafe(no_mangle)]
    extern "C" fn PB_Cabort(_: c_int, _: *mut std::ffi::c_char, _: c_int) {}
}
