//! Requests huge pages (`madvise`) for large buffers (`docs/placement.md`).
//!
//! A request touches no page, so the first user still decides its NUMA node. Reserved pages (hugetlbfs) need an
//! administrator and are not used.

use std::mem::MaybeUninit;

/// Bytes in a huge page on x86-64, and on AArch64 with pages of 4 KiB. Elsewhere, a request may have no effect.
pub const HUGE_PAGE: usize = 2 << 20;

/// Requests every complete huge page inside `memory`, unless the system has none or needs no request.
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

    pub fn requires_request() -> bool {
        static MADVISE: OnceLock<bool> = OnceLock::new();
        *MADVISE.get_or_init(|| {
            let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
            enabled.is_ok_and(|enabled| enabled.contains("[madvise]"))
        })
    }

    pub fn request(start: *mut u8, bytes: usize) {
        // SAFETY: the memory is borrowed exclusively, and this advice changes only the size of pages. A refusal is
        // harmless.
        let _ = unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
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
