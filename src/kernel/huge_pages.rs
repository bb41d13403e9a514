//! Requests huge pages for large buffers, on systems where programs have to request them (`madvise`).
//!
//! Fewer pages mean fewer TLB misses when a kernel accesses memory with large strides. A request neither changes the
//! contents of a buffer nor touches its pages. Each page is therefore still placed on the NUMA node of the thread that
//! uses the page first. Buffers are not aligned to huge pages. Alignment would need up to 2 MiB more memory than
//! planned, and would gain only one huge page per buffer. Reserved pages (hugetlbfs) are not used, because an
//! administrator has to set them aside.

use std::mem::MaybeUninit;

/// Size of a huge page in bytes, on x86-64 and on AArch64 with pages of 4 KiB. On systems with larger huge pages, a
/// request may have no effect.
const HUGE_PAGE: usize = 2 << 20;

/// Requests huge pages for every complete huge page inside `memory`. Does nothing if the system has no huge pages, or
/// provides huge pages without a request.
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
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_place_and_size_stays_as_it_is() {
        for elements in [0, 1, HUGE_PAGE / 8 - 1, HUGE_PAGE, 3 * HUGE_PAGE / 8 + 5] {
            let mut values = vec![7_u64; 3];
            values.reserve_exact(elements);
            request_huge_pages(values.spare_capacity_mut());
            values.resize(3 + elements, 8);
            assert!(values[..3] == [7; 3] && values[3..].iter().all(|&value| value == 8));
        }
    }

    /// Checks that Linux marks a large allocation with `hg`, the `smaps` flag for memory with requested huge pages.
    /// Does nothing if Linux uses huge pages without a request, or never.
    #[test]
    #[cfg(target_os = "linux")]
    fn large_memory_has_huge_pages() {
        use crate::kernel::Zeroed;
        if !system::requires_request() {
            return;
        }
        let memory = Zeroed::new(4 * HUGE_PAGE, 64).unwrap();
        let first = memory.start().as_ptr();
        let start = first.wrapping_add(first.align_offset(HUGE_PAGE));
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let inside = |line: &str| {
            let (first, last) = line.split(' ').next()?.split_once('-')?;
            let bounds = [first, last].map(|text| usize::from_str_radix(text, 16));
            Some((bounds[0].clone().ok()?..bounds[1].clone().ok()?).contains(&(start as usize)))
        };
        let flags = maps.lines().skip_while(|line| inside(line) != Some(true)).find(|line| line.starts_with("VmFlags"));
        assert!(flags.unwrap().split(' ').any(|flag| flag == "hg"), "{flags:?}");
    }
}
