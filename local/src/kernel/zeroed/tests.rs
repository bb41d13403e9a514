//! Unit tests of `zeroed`.

use super::*;

#[test]
fn starts_where_asked_and_is_zero() {
    for (bytes, align) in [(0, 64), (1, 4096), (100_000, 64), (1 << 20, 4096)] {
        let memory = Zeroed::new(bytes, align).unwrap();
        assert_eq!((memory.start().as_ptr() as usize % align, memory.bytes()), (0, bytes));
        // SAFETY: the bytes are allocated and initialised.
        let all = unsafe { std::slice::from_raw_parts(memory.start().as_ptr(), bytes) };
        assert!(all.iter().all(|&byte| byte == 0));
    }
    assert!(Zeroed::new(usize::MAX, 64).is_none());
}

#[test]
#[cfg(target_os = "linux")]
fn large_memory_is_not_touched() {
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
    };
    let before = resident();
    let memory = Zeroed::new(1 << 30, 4096).unwrap();
    // If touched, the memory would add 262,144 resident pages. The limit leaves room for pages that other tests of this
    // process touch at the same time.
    assert!(resident() < before + 100_000);
    drop(memory);
}

#[test]
fn large_memory_starts_and_ends_at_huge_pages() {
    for bytes in [MIN_HUGE, MIN_HUGE + 1, HUGE_PAGE, 3 * HUGE_PAGE + 100] {
        let memory = Zeroed::new(bytes, 64).unwrap();
        let start = memory.start().as_ptr() as usize;
        assert_eq!((start % HUGE_PAGE, memory.bytes()), (0, bytes));
        let (base, size) = (memory.base.as_ptr() as usize, memory.layout.size());
        assert!(start + bytes.next_multiple_of(HUGE_PAGE) <= base + size);
    }
    // Less memory would take much more than was asked for.
    assert!(Zeroed::new(MIN_HUGE - 1, 64).unwrap().layout.size() < HUGE_PAGE);
}
