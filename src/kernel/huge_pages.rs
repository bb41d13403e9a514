//! Huge pages for large buffers, where the system leaves it to programs to ask (`madvise`).
//!
//! Fewer pages mean fewer misses of the translation buffer when a kernel walks over large strides. Asking changes neither contents
//! nor who touches a page first. Deliberately absent: buffers that start at a huge page, which would take up to 2 MiB more than is planned
//! and save one page each; reserved pages (hugetlbfs), which somebody has to set aside.

use std::mem::MaybeUninit;

/// Bytes of a huge page on x86-64, and on AArch64 with pages of 4 KiB. Where they are larger, asking does nothing.
const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages for whatever consists of whole ones; does nothing where the system has none, or gives them to everybody.
pub fn ask_for_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(HUGE_PAGE);
    let bytes = size_of_val(memory).saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    if bytes > 0 && system::leaves_it_to_programs() {
        system::ask(start.wrapping_add(before), bytes);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::sync::OnceLock;

    use rustix::mm::{Advice, madvise};

    pub fn leaves_it_to_programs() -> bool {
        static LEAVES: OnceLock<bool> = OnceLock::new();
        *LEAVES.get_or_init(|| {
            let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
            enabled.is_ok_and(|enabled| enabled.contains("[madvise]"))
        })
    }

    pub fn ask(start: *mut u8, bytes: usize) {
        // SAFETY: the caller borrows the memory exclusively; this advice changes the size of pages and nothing in them. A system that
        // refuses leaves small pages, which serve as well.
        let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub fn leaves_it_to_programs() -> bool {
        false
    }

    pub fn ask(_: *mut u8, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_place_and_size_stays_as_it_is() {
        for elements in [0, 1, HUGE_PAGE / 8 - 1, HUGE_PAGE, 3 * HUGE_PAGE / 8 + 5] {
            let mut values = vec![7_u64; 3];
            values.reserve_exact(elements);
            ask_for_huge_pages(values.spare_capacity_mut());
            values.resize(3 + elements, 8);
            assert!(values[..3] == [7; 3] && values[3..].iter().all(|&value| value == 8));
        }
    }

    /// Memory of which a page is touched has a huge page then, where these are to be had.
    #[test]
    #[cfg(target_os = "linux")]
    fn large_memory_has_huge_pages() {
        use crate::kernel::Zeroed;
        if !system::leaves_it_to_programs() {
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
