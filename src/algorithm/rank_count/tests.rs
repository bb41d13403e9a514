//! Unit tests of `rank_count`.

use super::*;

#[test]
fn squares() {
    assert_eq!([0, 1, 3, 4, 8, 9].map(|ranks| RankCount::Square.at_most(ranks)), [0, 1, 1, 4, 4, 9]);
    assert!(RankCount::Square.needs(8).is_some_and(|needs| needs.contains("which 9 is the nearest to 8")));
}
