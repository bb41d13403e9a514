//! Unit tests of `upcoming`.

use super::*;

#[test]
fn every_line_is_listed_once_in_portions_of_any_size() {
    let (inner, outer) = ([0, 16, 30], [0, 100, 200, 300]);
    for portion in 1..=13 {
        let mut upcoming = Upcoming { from: std::ptr::null::<u8>(), inner: &inner, outer: &outer, listed: [0; 2] };
        let (mut all, mut lines) = (Vec::new(), Lines::new());
        while !upcoming.is_listed() {
            lines.clear();
            let left = upcoming.left();
            upcoming.list(portion, &mut lines);
            assert_eq!((lines.len(), upcoming.left()), (portion.min(left), left - lines.len()));
            all.extend(lines.iter().map(|line| line.addr()));
        }
        let want = outer.iter().flat_map(|o| inner.iter().map(move |i| (o + i) as usize));
        assert_eq!(all, want.collect::<Vec<_>>());
    }
    assert!(!Upcoming::<u8>::NONE.is_listed());
}
