//! Draws a timeline as SVG, with one row per rank of three lines: work, receives and sends.
//!
//! A row's height decreases with the number of ranks, of which the first 64 are drawn. Invariant: merging bars bounds
//! the file's size, whatever the number of tasks.

use std::fmt::Write;

use svg::Document;
use svg::node::element::{Group, Line, Path, Rectangle, Text, Title};

use super::{Activity, Span, Timeline};

/// Sizes are in pixels.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 28.0;
const ROWS: f64 = 1536.0;
const MAX_ROW_HEIGHT: f64 = 48.0;
const MAX_RANKS: usize = 64;
/// Bars of a kind are merged below this gap.
const MIN_GAP: f64 = 0.25;
const MIN_BAR_WIDTH: f64 = 0.6;
const BETWEEN_TICKS: f64 = 90.0;

/// Kinds of spans: name, colour, and the line's position in a row, from the top (0) to the bottom (1).
const KINDS: [(&str, &str, [f64; 2]); 4] = [
    ("contracting", "#2a6fb0", [0.06, 0.54]),
    ("adding, permuting, copying", "#8fc1e3", [0.06, 0.54]),
    ("receiving", "#e08214", [0.58, 0.76]),
    ("sending", "#a6611a", [0.78, 0.96]),
];

fn kind(activity: Activity) -> usize {
    match activity {
        Activity::Contract => 0,
        Activity::Arrange => 1,
        Activity::Recv(_) => 2,
        Activity::Send(_) => 3,
    }
}

impl Timeline {
    /// Cost: O(spans).
    pub fn svg(&self, title: &str) -> String {
        let rows = self.rows();
        let ranks = rows.len().min(MAX_RANKS);
        let row = (ROWS / ranks as f64).min(MAX_ROW_HEIGHT);
        let height = TOP + row * ranks as f64 + BOTTOM;
        let scale = if self.seconds > 0.0 { (WIDTH - LEFT - RIGHT) / self.seconds } else { 0.0 };
        let mut document = Document::new()
            .set("viewBox", (0, 0, WIDTH, height))
            .set("width", WIDTH)
            .set("height", height)
            .set("font-family", "sans-serif")
            .set("font-size", 11)
            .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"))
            .add(text(LEFT, 20.0, "start", title).set("font-size", 14))
            .add(legend())
            .add(text(WIDTH - RIGHT, 41.0, "end", &self.caption()));
        for (at, label) in ticks(self.seconds) {
            let x = LEFT + at * scale;
            let line = Line::new().set("x1", x).set("x2", x).set("y1", TOP - 4.0).set("y2", height - BOTTOM + 4.0);
            document = document.add(line.set("stroke", "#dddddd"));
            for y in [TOP - 10.0, height - BOTTOM + 17.0] {
                document = document.add(text(x, y, "middle", &label));
            }
        }
        let bars = Bars::of(self, &rows, scale);
        for (at, rank) in rows.into_iter().take(ranks).enumerate() {
            let top = TOP + row * at as f64;
            let name = text(LEFT - 8.0, top + row / 2.0 + 4.0, "end", &format!("rank {rank}"));
            document = document.add(name).add(bars.row((at, rank), top, row));
        }
        document.to_string()
    }

    /// At the top right: the percentages of busy and hidden time, and the number of ranks if not all are drawn.
    fn caption(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let drawn = self.rows().len().min(MAX_RANKS);
        let some = if drawn < self.ranks { format!("{drawn} of {} ranks; ", self.ranks) } else { String::new() };
        let hidden = self
            .hidden_share()
            .map_or(String::new(), |share| format!(", {} of the transfer time hidden", percent(share)));
        format!("{some}workers busy {}{hidden}", percent(self.working_share()))
    }
}

pub(super) fn text(x: f64, y: f64, anchor: &str, what: &str) -> Text {
    Text::new(what).set("x", x).set("y", y).set("text-anchor", anchor).set("fill", "#333333")
}

fn legend() -> Group {
    let mut legend = Group::new();
    let mut x = LEFT;
    for (name, colour, _) in KINDS {
        let mark = Rectangle::new().set("x", x).set("y", 32).set("width", 12).set("height", 10).set("fill", colour);
        legend = legend.add(mark).add(text(x + 16.0, 41.0, "start", name));
        x += 40.0 + 6.2 * name.len() as f64;
    }
    legend
}

fn ticks(seconds: f64) -> Vec<(f64, String)> {
    if seconds <= 0.0 {
        return vec![(0.0, "0".to_owned())];
    }
    let step = round(seconds * BETWEEN_TICKS / (WIDTH - LEFT - RIGHT));
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (unit, name) = units.into_iter().find(|&(unit, _)| seconds >= unit).unwrap_or((1e-9, "ns"));
    let count = (seconds / step + 1e-9) as usize;
    let tick = |at: usize| {
        let time = at as f64 * step;
        (time, format!("{} {name}", (time / unit * 1000.0).round() / 1000.0))
    };
    (0..=count).map(tick).collect()
}

fn round(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
    steps.into_iter().find(|&step| step >= least).unwrap_or(10.0 * power)
}

struct Bars {
    ranks: Vec<[Vec<[f64; 2]>; KINDS.len()]>,
}

impl Bars {
    fn of(timeline: &Timeline, rows: &[usize], scale: f64) -> Bars {
        let mut ranks: Vec<[Vec<[f64; 2]>; KINDS.len()]> = rows.iter().map(|_| Default::default()).collect();
        for &Span { rank, activity, start, end, .. } in &timeline.spans {
            let Ok(at) = rows.binary_search(&rank) else { continue };
            let bars = &mut ranks[at][kind(activity)];
            let [start, end] = [start, end].map(|seconds| LEFT + seconds * scale);
            match bars.last_mut() {
                Some(last) if start - last[1] < MIN_GAP => last[1] = last[1].max(end),
                _ => bars.push([start, end]),
            }
        }
        Bars { ranks }
    }

    fn row(&self, (at, rank): (usize, usize), top: f64, height: f64) -> Group {
        let mut row = Group::new().add(Title::new(format!("rank {rank}")));
        for (bars, (_, colour, part)) in self.ranks[at].iter().zip(KINDS) {
            let mut path = String::new();
            let [from, to] = part.map(|part| top + part * height);
            for &[start, end] in bars {
                let width = (end - start).max(MIN_BAR_WIDTH);
                // Writing into a `String` cannot fail.
                let _ = write!(path, "M{start:.2} {from:.2}h{width:.2}V{to:.2}h-{width:.2}z");
            }
            if !path.is_empty() {
                row = row.add(Path::new().set("fill", colour).set("d", path));
            }
        }
        row
    }
}

#[cfg(test)]
mod tests;
