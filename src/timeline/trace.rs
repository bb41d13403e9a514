//! Writes a trace in the JSON format of chrome://tracing and Perfetto (<https://ui.perfetto.dev>).
//!
//! Arrows end at "arrived", a separate span of a receive's last nanosecond; `docs/timelines.md` says why.
//!
//! Invariants: each rank is a process. Track numbers are unique across ranks, and differ from process numbers. Spans on
//! a track do not overlap, except for "arrived". Times are in microseconds on rank 0's clock.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::{Activity, Span, Timeline};
use crate::schedule::Lane;

/// Maximum spans on worker tracks. Beyond, tasks that all workers share are on the first worker's track only.
const MAX_WORKER_SPANS: usize = 1 << 20;

/// Tracks for one lane's transfers, as many as are in flight at once.
#[derive(Default)]
struct Tracks {
    /// The end of each track's last span, in nanoseconds.
    free: Vec<f64>,
}

impl Tracks {
    /// The first free track. Spans must be placed in order of start time.
    fn place(&mut self, [start, end]: [f64; 2]) -> usize {
        let at = self.free.iter().position(|&free| free <= start).unwrap_or(self.free.len());
        self.free.resize(self.free.len().max(at + 1), 0.0);
        self.free[at] = end;
        at
    }
}

struct End {
    rank: usize,
    track: usize,
    nanoseconds: f64,
}

impl Timeline {
    /// One JSON object with one event per line. A task that all workers share has one event per worker.
    /// Cost: O(e log e) for e events.
    pub fn trace(&self) -> String {
        let work = self.spans.iter().filter(|span| span.activity.lane() == Lane::Work).count();
        let sharing = if work * self.workers > MAX_WORKER_SPANS { 1 } else { self.workers };
        let mut events = Vec::new();
        let mut arrows: BTreeMap<[usize; 2], [Vec<End>; 2]> = BTreeMap::new();
        // Viewers treat a track with its process's number as the main thread, so track numbers start after those of
        // ranks.
        let mut base = self.ranks;
        for (rank, spans) in self.by_rank() {
            let of = |lane: Lane| spans.iter().copied().filter(move |span| span.activity.lane() == lane);
            for span in of(Lane::Work) {
                let tracks = span.worker.map_or(0..sharing, |worker| worker..worker + 1);
                events.extend(tracks.map(|track| self.event(span, base + track)));
            }
            let mut names: Vec<String> = (0..self.workers).map(|worker| format!("worker {worker}")).collect();
            if sharing < self.workers {
                names[0] = "all workers, worker 0".to_owned();
            }
            for (lane, name) in [(Lane::Recv, "receive"), (Lane::Send, "send")] {
                let first = base + names.len();
                let mut tracks = Tracks::default();
                for span in of(lane) {
                    let [start, end] = rounded(span);
                    let track = first + tracks.place([start, end]);
                    events.push(self.event(span, track));
                    let (pair, nanoseconds) = match span.activity {
                        Activity::Send(peer) => ([rank, peer], start),
                        Activity::Recv(peer) => ([peer, rank], end - 1.0),
                        Activity::Contract | Activity::Arrange => continue,
                    };
                    if lane == Lane::Recv {
                        events.push(arrived(rank, track, nanoseconds));
                    }
                    let ends = arrows.entry(pair).or_default();
                    ends[usize::from(lane == Lane::Recv)].push(End { rank, track, nanoseconds });
                }
                let number = |at: usize| if at == 0 { name.to_owned() } else { format!("{name} {}", at + 1) };
                names.extend((0..tracks.free.len().max(1)).map(number));
            }
            self.name(rank, base, &names, &mut events);
            base += names.len();
        }
        let pairs = arrows.into_values().flat_map(|[sends, receives]| sends.into_iter().zip(receives));
        for (id, (send, receive)) in pairs.enumerate() {
            for (phase, End { rank, track, nanoseconds }) in [("s", send), ("f", receive)] {
                let mut event = json!({
                    "ph": phase, "id": id, "pid": rank, "tid": track, "ts": nanoseconds / 1e3, "name": "transfer", "cat": "transfer",
                });
                if phase == "f" {
                    event["bp"] = "e".into();
                }
                events.push((nanoseconds, event));
            }
        }
        // Names come first, with sort key -infinity. The sort is stable: "arrived" must follow its receive, and arrows
        // the slices that they connect.
        events.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut text = String::from("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
        for (at, (_, event)) in events.iter().enumerate() {
            // Writing into a `String` cannot fail.
            let _ = write!(text, "{}\n{event}", if at == 0 { "" } else { "," });
        }
        let percent = |share: f64| (share * 1e4).round() / 100.0;
        let about = json!({
            "clock_error_microseconds": microseconds(self.clock_error), "microseconds": microseconds(self.seconds),
            "percent_hidden": self.hidden_share().map(percent), "percent_working": percent(self.working_share()),
            "slices": self.slices,
        });
        let _ = writeln!(text, "\n], \"otherData\": {about}}}");
        text
    }

    fn by_rank(&self) -> BTreeMap<usize, Vec<&Span>> {
        let mut ranks: BTreeMap<usize, Vec<&Span>> = self.rows().into_iter().map(|rank| (rank, Vec::new())).collect();
        self.spans.iter().for_each(|span| ranks.entry(span.rank).or_default().push(span));
        ranks
    }

    fn event(&self, span: &Span, track: usize) -> (f64, Value) {
        let step = self.steps.get(span.node).map_or("", String::as_str);
        let (name, kind) = match span.activity {
            Activity::Contract => (step.to_owned(), "contract"),
            Activity::Arrange => (step.to_owned(), "arrange"),
            Activity::Send(peer) => (format!("to {peer}"), "send"),
            Activity::Recv(peer) => (format!("from {peer}"), "receive"),
        };
        let mut args = json!({"step": step, "task": span.task, "predicted_seconds": nanoseconds(span.predicted) / 1e9});
        if span.activity.lane() != Lane::Work {
            args["bytes"] = span.bytes.into();
        }
        let [start, end] = rounded(span);
        let event = json!({
            "ph": "X", "pid": span.rank, "tid": track, "ts": start / 1e3, "dur": (end - start) / 1e3,
            "name": name, "cat": kind, "args": args,
        });
        (start, event)
    }

    fn name(&self, rank: usize, base: usize, tracks: &[String], events: &mut Vec<(f64, Value)>) {
        let host =
            self.hosts.get(rank).filter(|host| !host.is_empty()).map_or(String::new(), |host| format!(" ({host})"));
        let mut add = |tid: usize, what: &str, args: Value| {
            events.push((f64::NEG_INFINITY, json!({"ph": "M", "pid": rank, "tid": tid, "name": what, "args": args})));
        };
        add(base, "process_name", json!({"name": format!("rank {rank}{host}")}));
        add(base, "process_sort_index", json!({"sort_index": rank}));
        for (track, name) in tracks.iter().enumerate() {
            add(base + track, "thread_name", json!({"name": name}));
            add(base + track, "thread_sort_index", json!({"sort_index": track}));
        }
    }
}

fn arrived(rank: usize, track: usize, start: f64) -> (f64, Value) {
    let event = json!({
        "ph": "X", "pid": rank, "tid": track, "ts": start / 1e3, "dur": 1e-3, "name": "arrived", "cat": "arrived",
    });
    (start, event)
}

/// The start and end, rounded to nanoseconds, so that spans of a track do not overlap. A transfer lasts at least one,
/// for its arrows.
fn rounded(span: &Span) -> [f64; 2] {
    let [start, end] = [span.start, span.end].map(nanoseconds);
    let least = if span.activity.lane() == Lane::Work { 0.0 } else { 1.0 };
    [start, end.max(start + least)]
}

fn nanoseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round()
}

fn microseconds(seconds: f64) -> f64 {
    nanoseconds(seconds) / 1e3
}

#[cfg(test)]
mod tests;
