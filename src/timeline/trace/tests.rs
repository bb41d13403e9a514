//! Unit tests of `trace`.

use super::super::sample_tests::{span, timeline};
use super::*;

#[test]
fn transfers_that_overlap_have_tracks_of_their_own() {
    let spans = vec![
        span(0, Activity::Send(1), 0.0, 4.0),
        span(0, Activity::Send(1), 1.0, 2.0),
        span(0, Activity::Send(1), 3.0, 5.0),
        span(1, Activity::Recv(0), 2.0, 4.0),
        span(1, Activity::Recv(0), 2.0, 2.0),
        span(1, Activity::Recv(0), 4.0, 5.0),
    ];
    // Rank 0 has a worker track (2), a track for receives (3) and two tracks for sends (4 and 5). The tracks of rank 1
    // start at 6.
    let trace: Value = serde_json::from_str(&timeline(5.0, 2, spans).trace()).unwrap();
    let of = |phase: &str, first: &str| {
        let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == phase);
        let text = |event: &Value| format!("{} {} {:.3}", event[first], event["tid"], event["ts"].as_f64().unwrap());
        let mut found: Vec<String> = events.map(text).collect();
        found.sort();
        found.join(", ")
    };
    assert_eq!(
        of("X", "pid"),
        "0 4 0.000, 0 5 1000000.000, 0 5 3000000.000, \
         1 7 2000000.000, 1 7 3999999.999, 1 7 4000000.000, 1 7 4999999.999, 1 8 2000000.000, 1 8 2000000.000"
    );
    assert_eq!(of("s", "id"), "0 4 0.000, 1 5 1000000.000, 2 5 3000000.000");
    assert_eq!(of("f", "id"), "0 7 3999999.999, 1 8 2000000.000, 2 7 4999999.999");
}

#[test]
fn very_many_tasks_are_on_one_track() {
    let spans = (0..1 << 11).map(|at| span(0, Activity::Contract, at as f64, at as f64 + 0.5)).collect();
    let trace = Timeline { workers: 513, ..timeline(2048.0, 1, spans) }.trace();
    assert_eq!(trace.matches("\"ph\":\"X\"").count(), 1 << 11);
    assert!(trace.contains("all workers, worker 0") && trace.contains("worker 512"));
}
