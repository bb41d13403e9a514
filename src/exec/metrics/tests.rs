//! Unit tests of `metrics`.

use super::*;

#[test]
fn a_step_begins_with_its_work_or_what_has_come_not_with_what_is_awaited() {
    let seconds = |tasks: &[(Lane, f64, f64)]| {
        let mut span = NodeSpan::default();
        tasks.iter().for_each(|&(lane, start, end)| span.add(lane, &TaskMetric { start, end, bytes: 0 }));
        span.seconds()
    };
    // The receive is posted at the start, long before its bytes arrive.
    assert_eq!(seconds(&[(Lane::Recv, 0.0, 5.0), (Lane::Work, 5.5, 8.0)]), 3.0);
    assert_eq!(seconds(&[(Lane::Send, 0.0, 6.0), (Lane::Work, 5.5, 8.0), (Lane::Recv, 0.0, 9.0)]), 3.5);
    assert_eq!(seconds(&[(Lane::Recv, 1.0, 5.0), (Lane::Send, 2.0, 4.0)]), 4.0);
    assert_eq!((seconds(&[(Lane::Work, 1.0, 4.0)]), seconds(&[])), (3.0, 0.0));
}
