//! Unit tests of `uses`.

use super::*;

/// Tests that both reads are kept if the tasks may run at the same time. Such tasks complete in any order, so the
/// completion of the later task does not imply that the earlier task is complete.
#[test]
fn readers_side_by_side_are_both_kept() {
    let view = View { buffer: 0, bounds: std::iter::once(0..4).collect() };
    let kept = |may_overlap: bool| {
        let mut uses = Uses::default();
        for task in 0..2 {
            uses.insert(&view, Use { task, lane: Lane::Work, write: false }, |_| may_overlap);
        }
        uses.conflicting(&view, true).map(|used| used.task).collect::<Vec<_>>()
    };
    assert_eq!(kept(false), [1]);
    assert_eq!(kept(true), [0, 1]);
}
