//! Unit tests of `measured`.

use super::*;

#[test]
fn slices_follow_each_other() {
    let span = |rank: usize, start: f64| Span {
        rank,
        activity: Activity::Contract,
        node: 2,
        task: 0,
        worker: None,
        start,
        end: start + 1.0,
        bytes: 0,
        predicted: 1.0,
    };
    let measurement = |rank: usize, started: i64, took: i64| RankMeasurement {
        started: started * 1_000_000_000,
        took: took * 1_000_000_000,
        spans: vec![span(rank, 0.5)],
    };
    // The second slice begins before the first slice has ended on all ranks. The third slice begins long after the
    // second.
    let slices = vec![
        vec![measurement(0, 100, 2), measurement(1, 101, 3)],
        vec![measurement(0, 102, 4), measurement(1, 104, 2)],
        vec![measurement(0, 9000, 2), measurement(1, 9000, 2)],
    ];
    let (seconds, spans) = joined(slices);
    let starts: Vec<(usize, f64)> = spans.iter().map(|span| (span.rank, span.start)).collect();
    assert_eq!(starts, [(0, 0.5), (0, 2.5), (0, 6.5), (1, 1.5), (1, 4.5), (1, 6.5)]);
    assert_eq!(seconds, 8.0);
    assert_eq!(joined(Vec::new()), (0.0, Vec::new()));
}
