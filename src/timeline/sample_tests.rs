//! Spans and timelines for the unit tests of this module.

use super::*;

pub fn span(rank: usize, activity: Activity, start: f64, end: f64) -> Span {
    Span { rank, activity, node: 0, task: 0, worker: None, start, end, bytes: 0, predicted: 0.0 }
}

pub fn timeline(seconds: f64, ranks: usize, spans: Vec<Span>) -> Timeline {
    let (hosts, steps) = (Vec::new(), vec!["mk,kn->mn".to_owned()]);
    Timeline { seconds, ranks, shown: Vec::new(), workers: 1, hosts, slices: 1, clock_error: 0.0, steps, spans }
}
