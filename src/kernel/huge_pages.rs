//! Requests huge pages for large buffers where programs have to (`madvise`).
//!
//! Fewer pages mean fewer TLB misses when a kernel accesses memory with large strides. A request touches no page, so
//! each is still placed on the NUMA node of its first user. Reserved pages (hugetlbfs) need an administrator and are not
//! used.

use std::mem::MaybeUninit;

/// Size of a huge page in bytes on x86-64, and on AArch64 with pages of 4 KiB. Elsewhere, a request may have no effect.
pub const HUGE_PAGE: usize = 2 << 20;

/// Requests huge pages for every complete huge page inside `memory`. Does nothing if the system has no huge pages or
/// needs no request.
pub fn request_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(HUGE_PAGE);
    let bytes = size_of_val(memory).saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    if bytes > 0 && system::requires_request() {
        system::request(start.wrapping_add(before), bytes);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::sync::OnceLock;

    use rustix::mm::{Advice, madvise};

    pub fn requires_request() -> bool {
        static MADVISE: OnceLock<bool> = OnceLock::new();
        *MADVISE.get_or_init(|| {
            let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
            enabled.is_ok_and(|enabled| enabled.contains("[madvise]"))
        })
    }

    pub fn request(start: *mut u8, bytes: usize) {
        // SAFETY: the caller borrows the memory exclusively, and this advice changes only the size of pages. If the
        // system refuses, the pages stay small, which is harmless.
        let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub fn requires_request() -> bool {
        false
    }

    pub fn request(_: *mut u8, _: usize) {}
}

#[cfg(test)]
mod tests;
