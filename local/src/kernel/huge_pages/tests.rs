//! Unit tests of `huge_pages`.

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
