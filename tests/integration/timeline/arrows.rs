//! Reads a trace as trace viewers do.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Tolerance for comparisons of times that are sums of rounded numbers, in microseconds.
const ROUNDED: f64 = 1e-4;

/// A slice on a track of a trace.
struct Slice {
    start: f64,
    end: f64,
    kind: String,
    name: String,
    bytes: Option<u64>,
}

/// Checks a trace of `ranks` ranks and returns its number of arrows. The ranks' clocks may differ by `late`
/// microseconds.
///
/// Every rank is a named process. Every track has a name and a unique number, which differs from all process numbers.
/// Slices on a track do not overlap, except that the end of a receive is a slice inside the receive. Events are sorted
/// by time. Every arrow joins the innermost slices at its two ends. These must be a send, and the end of the receive in
/// which the peer receives the same bytes. The end of the receive does not start before the send.
#[track_caller]
pub fn arrows(text: &str, ranks: usize, late: f64) -> usize {
    let trace: Value = serde_json::from_str(text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let (mut processes, mut threads) = (BTreeMap::new(), BTreeMap::new());
    let mut tracks: BTreeMap<(usize, u64), Vec<Slice>> = BTreeMap::new();
    let mut ends: BTreeMap<u64, [Vec<&Value>; 2]> = BTreeMap::new();
    let mut now = 0.0;
    for event in events {
        let phase = event["ph"].as_str().unwrap();
        if phase != "M" {
            assert!(number(event, "ts") >= now, "{event} after {now}");
            now = number(event, "ts");
        }
        match phase {
            "M" => {
                let name = event["args"]["name"].as_str().map(str::to_owned);
                match event["name"].as_str().unwrap() {
                    "process_name" => assert!(processes.insert(place(event).0, name.unwrap()).is_none()),
                    "thread_name" => assert!(threads.insert(place(event), name.unwrap()).is_none()),
                    order => assert!(order.ends_with("_sort_index"), "{event}"),
                }
            }
            "X" => {
                let [start, lasts] = ["ts", "dur"].map(|key| number(event, key));
                let text = |key: &str| event[key].as_str().unwrap().to_owned();
                let bytes = event["args"]["bytes"].as_u64();
                let slice = Slice { start, end: start + lasts, kind: text("cat"), name: text("name"), bytes };
                let arrived = slice.kind == "arrived";
                assert!(lasts >= 0.0 && (arrived || number(&event["args"], "predicted_seconds") >= 0.0), "{event}");
                tracks.entry(place(event)).or_default().push(slice);
            }
            "s" | "f" => {
                assert_eq!(event["bp"] == "e", phase == "f", "{event}");
                ends.entry(event["id"].as_u64().unwrap()).or_default()[usize::from(phase == "f")].push(event);
            }
            other => panic!("unknown phase {other}"),
        }
    }
    assert_eq!(processes.keys().copied().collect::<Vec<_>>(), (0..ranks).collect::<Vec<_>>());
    assert!(processes.iter().all(|(rank, name)| name.starts_with(&format!("rank {rank}"))), "{processes:?}");
    let numbers: BTreeSet<u64> = threads.keys().map(|(_, tid)| *tid).collect();
    assert!(numbers.len() == threads.len() && numbers.first() >= Some(&(ranks as u64)), "{:?}", threads.keys());
    check_tracks(&tracks, &threads);
    let mut transfers = tracks.values().flatten().filter(|slice| slice.kind == "send").count();
    assert_eq!(transfers, ends.len());
    for [sent, received] in ends.values() {
        let ([sent], [received]) = (&sent[..], &received[..]) else { panic!("{sent:?} to {received:?}") };
        check_arrow(&tracks, sent, received, late);
        transfers -= 1;
    }
    assert_eq!(transfers, 0);
    ends.len()
}

#[track_caller]
fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or_else(|| panic!("{key} of {event}"))
}

/// The process and the track of an event.
fn place(event: &Value) -> (usize, u64) {
    (event["pid"].as_u64().unwrap() as usize, event["tid"].as_u64().unwrap())
}

/// Slices must not overlap, except that the end of a receive is inside the receive.
#[track_caller]
fn check_tracks(tracks: &BTreeMap<(usize, u64), Vec<Slice>>, threads: &BTreeMap<(usize, u64), String>) {
    for (place, slices) in tracks {
        let kind = slices[0].kind.as_str();
        let kind = if ["contract", "arrange"].contains(&kind) { "worker" } else { kind };
        assert!(threads[place].contains(kind), "{kind} on {}", threads[place]);
        let mut outer: Option<&Slice> = None;
        for slice in slices {
            match outer.filter(|outer| outer.end > slice.start + ROUNDED) {
                None => outer = Some(slice),
                Some(outer) => assert!(
                    outer.kind == "receive" && slice.kind == "arrived" && slice.end <= outer.end + ROUNDED,
                    "{} {} in {} {} until {} on {place:?}",
                    slice.kind,
                    slice.start,
                    outer.kind,
                    outer.start,
                    outer.end
                ),
            }
        }
    }
}

/// An arrow must join a send and the end of the receive for the same bytes.
#[track_caller]
fn check_arrow(tracks: &BTreeMap<(usize, u64), Vec<Slice>>, sent: &Value, received: &Value, late: f64) {
    // The slices at each end of the arrow, from outermost to innermost.
    let [from, to] = [sent, received].map(|end| {
        let at = number(end, "ts");
        let inside = |slice: &&Slice| slice.start <= at + ROUNDED && at + ROUNDED < slice.end;
        tracks[&place(end)].iter().filter(inside).collect::<Vec<_>>()
    });
    let ([from], [to, arrived]) = (&from[..], &to[..]) else { panic!("{sent} to {received}") };
    let (source, target) = (place(sent).0, place(received).0);
    assert!(from.kind == "send" && from.name == format!("to {target}"), "{sent} is in {}", from.name);
    assert!(to.kind == "receive" && to.name == format!("from {source}"), "{received} is in {}", to.name);
    assert!(from.bytes > Some(0) && from.bytes == to.bytes, "{:?} to {:?} bytes", from.bytes, to.bytes);
    // Viewers draw an arrow from whichever of its two slices starts earlier, so the send must not start later than the
    // arrival.
    assert!(arrived.kind == "arrived" && from.start <= arrived.start + late + ROUNDED, "{sent} to {received}");
    assert!(number(sent, "ts") <= number(received, "ts") + late, "{sent} to {received}");
}
