//! Draws quantities over numbers of ranks as SVG: panels one below the other, both axes logarithmic.
//!
//! Points that are not positive are left out.

use svg::Document;
use svg::node::element::{Circle, Group, Line, Path, Rectangle};

use super::svg::text;

/// Sizes are in pixels.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 36.0;
/// Of a panel, with its title, and of the area in which it draws.
const PANEL: f64 = 264.0;
const AREA: f64 = 196.0;
const BETWEEN_LABELS: f64 = 40.0;
/// Of the quantity, and of what it is compared with.
const STYLES: [(&str, &str); 2] = [("#2a6fb0", "none"), ("#e08214", "6 4")];

/// One quantity, and what it is compared with.
pub struct Panel<'a> {
    /// The name and the (ranks, quantity) pairs of each curve, in ascending order.
    pub curves: [(&'a str, Vec<[f64; 2]>); 2],
    /// Formats a power of ten.
    pub unit: &'a dyn Fn(f64) -> String,
}

/// A linear map from logarithms to pixels.
struct Axis {
    log: [f64; 2],
    pixels: [f64; 2],
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let ([from, to], [start, end]) = (self.log, self.pixels);
        start + (value.log10() - from) / (to - from) * (end - start)
    }
}

/// Cost: O(points).
pub fn svg(title: &str, panels: &[Panel]) -> String {
    let height = TOP + PANEL * panels.len() as f64;
    let mut ranks: Vec<f64> =
        panels.iter().flat_map(|panel| &panel.curves).flat_map(|(_, p)| p).map(|p| p[0]).collect();
    ranks.sort_by(f64::total_cmp);
    ranks.dedup();
    let log = ends(ranks.iter().copied());
    let x = Axis { log: [log[0], log[1].max(log[0] + 0.3)], pixels: [LEFT + 12.0, WIDTH - RIGHT - 12.0] };
    let background = Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff");
    let document = Document::new()
        .set("viewBox", (0, 0, WIDTH, height))
        .set("width", WIDTH)
        .set("height", height)
        .set("font-family", "sans-serif")
        .set("font-size", 11)
        .add(background)
        .add(text(LEFT, 20.0, "start", title).set("font-size", 14));
    let drawn = panels.iter().enumerate().map(|(at, panel)| panel.drawn(TOP + PANEL * at as f64, &x, &ranks));
    drawn.fold(document, Document::add).to_string()
}

/// The decimal logarithms of the least and the largest; 0 and 0 of nothing.
fn ends(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    if least.is_finite() { [least, values.fold(least, f64::max)].map(f64::log10) } else { [0.0; 2] }
}

impl Panel<'_> {
    fn drawn(&self, top: f64, x: &Axis, ranks: &[f64]) -> Group {
        let positive = self.curves.iter().flat_map(|(_, points)| points).map(|point| point[1]).filter(|&y| y > 0.0);
        let [least, most] = ends(positive);
        let [from, to] = [least.floor(), most.ceil().max(least.floor() + 1.0)];
        let bottom = top + 24.0 + AREA;
        let y = Axis { log: [from, to], pixels: [bottom, top + 24.0] };
        let line = |x: [f64; 2], y: [f64; 2]| {
            let line = Line::new().set("x1", x[0]).set("x2", x[1]).set("y1", y[0]).set("y2", y[1]);
            line.set("stroke", "#dddddd")
        };
        let mut group = Group::new();
        for power in from as i32..=to as i32 {
            let (value, at) = (10f64.powi(power), y.at(10f64.powi(power)));
            let label = text(LEFT - 6.0, at + 4.0, "end", &(self.unit)(value));
            group = group.add(line([LEFT, WIDTH - RIGHT], [at; 2])).add(label);
        }
        let mut free = 0.0;
        for &number in ranks {
            let at = x.at(number);
            group = group.add(line([at; 2], [bottom, top + 24.0]));
            if at >= free {
                group = group.add(text(at, bottom + 16.0, "middle", &number.to_string()));
                free = at + BETWEEN_LABELS;
            }
        }
        group = group.add(text(WIDTH - RIGHT, bottom + 32.0, "end", "ranks"));
        let mut legend = LEFT;
        for ((name, points), (colour, dashes)) in self.curves.iter().zip(STYLES) {
            let stroke = |path: Path| path.set("fill", "none").set("stroke", colour).set("stroke-dasharray", dashes);
            group = group.add(stroke(Path::new().set("d", format!("M{legend} {}h24", top + 11.0))));
            group = group.add(text(legend + 30.0, top + 15.0, "start", name));
            legend += 60.0 + 6.2 * name.len() as f64;
            let points = points.iter().filter(|point| point[1] > 0.0).map(|point| (x.at(point[0]), y.at(point[1])));
            let path: String = points.clone().map(|(x, y)| format!("L{x:.1} {y:.1}")).collect();
            if !path.is_empty() {
                group = group.add(stroke(Path::new().set("d", path.replacen('L', "M", 1)).set("stroke-width", 2)));
            }
            for (x, y) in points.filter(|_| dashes == "none") {
                let [x, y] = [x, y].map(|pixel| format!("{pixel:.1}"));
                group = group.add(Circle::new().set("cx", x).set("cy", y).set("r", 3).set("fill", colour));
            }
        }
        group
    }
}

#[cfg(test)]
mod tests;
