//! Unit tests of `svg`.

use super::super::sample_tests::{span, timeline};
use super::*;

#[test]
fn a_small_one_as_text() {
    let spans = vec![
        span(0, Activity::Contract, 0.0, 1e-3),
        span(0, Activity::Recv(1), 0.0, 5e-4),
        span(1, Activity::Send(0), 0.0, 5e-4),
        span(1, Activity::Contract, 0.0, 1e-3),
        span(1, Activity::Arrange, 1e-3, 2e-3),
    ];
    let svg = timeline(2e-3, 2, spans).svg("mk,kn->mn & more");
    assert!(svg.contains("mk,kn-&gt;mn &amp; more"), "{svg}");
    // Rank 0 contracts during the first half of the run. Rank 1 contracts during the first half, and arranges during
    // the second.
    assert!(svg.contains(r##"<path d="M80.00 78.88h448.00V101.92h-448.00z" fill="#2a6fb0"/>"##), "{svg}");
    assert!(svg.contains(r##"<path d="M528.00 126.88h448.00V149.92h-448.00z" fill="#8fc1e3"/>"##), "{svg}");
    for name in ["0 ms", "0.5 ms", "2 ms", "rank 0", "rank 1", "receiving"] {
        assert!(svg.contains(name), "{name}: {svg}");
    }
}

#[test]
fn pictures_do_not_grow_with_tasks() {
    let spans = |tasks: usize| {
        let one = |task: usize| span(0, Activity::Contract, task as f64, task as f64 + 0.9);
        (0..tasks).map(one).collect::<Vec<_>>()
    };
    let bars = |tasks: usize| {
        let svg = timeline(tasks as f64, 512, spans(tasks)).svg("");
        svg.matches('M').count()
    };
    // The bars of 100 tasks are about a pixel apart, so they are not merged. Those of 100,000 tasks are merged into
    // one.
    assert_eq!((bars(100), bars(100_000)), (100, 1));
    assert!(timeline(0.0, 1, Vec::new()).svg("nothing").contains("nothing"));
}

#[test]
fn of_many_ranks_some_are_drawn() {
    let drawn = |ranks: usize| {
        let svg = timeline(1.0, ranks, vec![span(ranks - 1, Activity::Contract, 0.0, 0.5)]).svg("");
        (
            svg.matches("text-anchor=\"end\"").count() - 1,
            svg.contains(&format!("64 of {ranks} ranks; workers busy 1 %")),
        )
    };
    assert_eq!((drawn(64), drawn(65), drawn(1000).0), ((64, false), (64, true), 64));
}

#[test]
fn ticks_are_round() {
    let names = |seconds| ticks(seconds).into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(", ");
    assert_eq!(names(1.04), "0 s, 0.2 s, 0.4 s, 0.6 s, 0.8 s, 1 s");
    assert_eq!(names(37.0), "0 s, 5 s, 10 s, 15 s, 20 s, 25 s, 30 s, 35 s");
    assert_eq!(names(0.0), "0");
    assert_eq!(names(4e-8), "0 ns, 5 ns, 10 ns, 15 ns, 20 ns, 25 ns, 30 ns, 35 ns, 40 ns");
}
