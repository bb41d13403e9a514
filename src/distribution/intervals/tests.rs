//! Unit tests of `intervals`.

use super::*;

#[test]
fn positions_of_a_set() {
    let set = Intervals::ascending([2..5, 8..9, 10..14]);
    assert_eq!(set.select(&(0..8)), set);
    assert_eq!(select(&set, &[1..3, 3..5, 7..8]).ranges(), [3..5, 8..9, 10..11, 13..14]);
    assert_eq!(set.select(&(7..8)), Intervals::from(13..14));
    assert_eq!(select(&set, &[]).len(), 0);
}
