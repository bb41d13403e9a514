//! `--scaling`: plans and simulates on several numbers of ranks, as a table, JSON, CSV and curves.

use std::collections::BTreeSet;

use einsum_dist::plan::{Noise, Source, Value as PlannedValue};
use einsum_dist::report::Report;
use einsum_dist::timeline::curves::{self, Panel};
use einsum_dist::{Error, Plan, World};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::args::Args;
use super::explain::NOT_SIMULATED;
use super::print::beginning;
use super::start::usage;
use super::units::{bytes, digits, seconds};
use super::validate::Request;
use super::{Result, trace_files};

struct Scaled {
    report: Report,
    /// The algorithm of the contraction that takes longest.
    how: String,
    seconds: f64,
    predicted_seconds: f64,
    simulated_ranks: usize,
    gflop: f64,
    /// On the busiest rank.
    received: u64,
    /// The largest bound of any step.
    bound: Option<f64>,
    /// Relative to the first row with a plan.
    efficiency: f64,
}

type Row = (usize, Result<Scaled>);

/// The text for standard output, and the error of a file that cannot be written.
///
/// # Errors
/// If flags or files are invalid, or no number of ranks has a plan.
pub fn scaling(world: &World, mut args: Args) -> Result<(Option<String>, Option<Error>)> {
    let request = Request::checked(world, &mut args)?;
    let counts = args.scaling.as_ref().map_or(&[][..], |counts| &counts.0);
    let weak = labels(&args, &request)?;
    // Strong scaling compares one order. With a memory limit, each number of ranks has its own slices.
    let common = weak.is_empty() && request.options.memory_limit.is_none();
    let mut found = None;
    let mut requests = Vec::new();
    for &ranks in counts {
        let mut request = request.on(&args, ranks)?;
        let factor = (ranks as f64 / counts[0] as f64).powf(1.0 / weak.len().max(1) as f64);
        request.shaped = request.shaped.with_extents(|name, extent| match weak.contains(name) {
            true => (extent as f64 * factor).round() as usize,
            false => extent,
        });
        let searched = match found.take().filter(|_| common) {
            Some(found) => found,
            None => request.searched(world, &args)?,
        };
        found = Some(searched.clone());
        requests.push((ranks, request, searched));
    }
    let row = |(ranks, mut request, searched): (usize, Request, _)| {
        let planned = request.plan(&args, searched, 0.0);
        (ranks, planned.and_then(|planned| Scaled::new(&args, &planned.plan)))
    };
    let mut rows: Vec<Row> = requests.into_par_iter().map(row).collect();
    let fails = |(_, row): &Row| row.as_ref().is_err_and(|failure| failure.code() != 2);
    let fatal = rows.iter().position(fails).or_else(|| rows.iter().all(|(_, row)| row.is_err()).then_some(0));
    if let Some(at) = fatal
        && let (_, Err(failure)) = rows.swap_remove(at)
    {
        return Err(failure);
    }
    compare(&mut rows, !weak.is_empty());
    let files = [(&args.csv, csv as fn(&Args, &[Row]) -> String), (&args.timeline, picture)];
    let files = files.into_iter().filter_map(|(path, text)| Some((path.as_deref()?, text)));
    let mut error = None;
    for (path, text) in files {
        error = error.or(world.write_text(path, &text(&args, &rows)).err());
    }
    let text = if args.json { object(&args, &rows, &weak) } else { table(&args, &rows, &weak) };
    Ok((Some(text), error))
}

fn labels<'a>(args: &'a Args, request: &Request) -> Result<BTreeSet<&'a str>> {
    let names = &request.shaped.einsums().names;
    let labels = args.weak.iter().flat_map(|labels| labels.split(',')).map(str::trim);
    let known = |label| match names.iter().any(|name| name == label) {
        true => Ok(label),
        false => Err(usage(format!("--weak: the expression has no label `{label}` (it has {})", names.join(", ")))),
    };
    labels.map(known).collect()
}

impl Scaled {
    fn new(args: &Args, plan: &Plan) -> Result<Scaled> {
        let timeline = plan.simulate_with_noise(!args.no_overlap, args.noise.unwrap_or_default());
        let timeline = timeline.ok_or_else(|| usage(NOT_SIMULATED))?;
        let report = plan.report(None);
        let mut received = 0;
        if plan.count_received(|_, bytes| received = received.max(bytes.iter().sum())).is_none() {
            received = report.per_rank.iter().map(|rank| rank.bytes_received.planned).max().unwrap_or(0);
        }
        let contractions = plan.values.iter().filter_map(|value| match &value.source {
            Source::Contract { algorithm, .. } => Some((value, algorithm)),
            _ => None,
        });
        let seconds = |value: &PlannedValue| plan.times(value) as f64 * value.seconds;
        let slowest = contractions.max_by(|one, other| seconds(one.0).total_cmp(&seconds(other.0)));
        let how = slowest.map_or(String::new(), |(value, algorithm)| {
            let how = algorithm.describe(|label| plan.name(label).to_owned());
            if plan.operands > 2 { format!("{how} in {}", plan.step_text(value)) } else { how }
        });
        Ok(Scaled {
            how: beginning(if report.slices > 1 { format!("{} slices, {how}", report.slices) } else { how }),
            seconds: timeline.seconds * plan.slice_rounds() as f64 + plan.seconds_between_groups(),
            predicted_seconds: plan.seconds(),
            simulated_ranks: if timeline.shown.is_empty() { timeline.ranks } else { timeline.shown.len() },
            gflop: plan.total_gflop(),
            received,
            bound: report.nodes.iter().filter_map(|node| node.lower_bound_bytes).reduce(f64::max),
            efficiency: f64::NAN,
            report,
        })
    }

    fn gflops(&self) -> f64 {
        self.gflop / self.seconds
    }
}

fn planned(rows: &[Row]) -> impl Iterator<Item = (usize, &Scaled)> {
    rows.iter().filter_map(|(ranks, row)| Some((*ranks, row.as_ref().ok()?)))
}

/// Computes efficiencies: the first row's (seconds x ranks), for weak scaling in proportion to operations, relative to
/// a row's.
fn compare(rows: &mut [Row], weak: bool) {
    let Some((ranks, first)) = planned(rows).next() else { return };
    let (first, gflop) = (first.seconds * ranks as f64, first.gflop);
    for (ranks, row) in rows {
        if let Ok(row) = row {
            let work = if weak { row.gflop / gflop } else { 1.0 };
            row.efficiency = first * work / (row.seconds * *ranks as f64);
        }
    }
}

fn object(args: &Args, rows: &[Row], weak: &BTreeSet<&str>) -> String {
    let row = |(ranks, row): &Row| match row {
        Err(failure) => json!({"ranks": ranks, "error": {"kind": failure.kind(), "message": failure.message()}}),
        Ok(row) => {
            let Report { workers, plan_fingerprint, slices, slice_groups, memory_limit, path, dims, nodes, .. } =
                &row.report;
            json!({
                "ranks": ranks, "workers": workers, "plan_fingerprint": plan_fingerprint, "slices": slices,
                "slice_groups": slice_groups, "memory_limit": memory_limit, "path": path, "dims": dims, "nodes": nodes,
                "gflop": row.gflop, "simulated_seconds": row.seconds, "predicted_seconds": row.predicted_seconds,
                "simulated_ranks": row.simulated_ranks, "gflops": row.gflops(), "efficiency": row.efficiency,
                "bytes_received": {"planned": row.received, "measured": null}, "lower_bound_bytes": row.bound,
                "peak_bytes": row.report.peak_bytes,
            })
        }
    };
    let noise = args.noise.map(|noise| json!({"mean": noise.mean, "seed": noise.seed}));
    let (expression, dtype) = planned(rows).next().map(|(_, row)| (&row.report.expression, &row.report.dtype)).unzip();
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let object = json!({
        "schema": 1, "expression": expression, "dtype": dtype, "noise": noise, "weak": weak, "scaling": rows,
    });
    format!("{object}\n")
}

/// What a row prints, for people and for CSV.
const COLUMNS: [[&str; 2]; 8] = [
    ["ranks", "ranks"],
    ["simulated", "simulated_seconds"],
    ["GFLOP/s", "gflops"],
    ["efficiency", "efficiency"],
    ["received", "received_bytes"],
    ["lower bound", "lower_bound_bytes"],
    ["memory", "peak_bytes"],
    ["slowest step", "slowest_step"],
];

fn cells((ranks, row): &Row, weak: &BTreeSet<&str>) -> Vec<[String; 2]> {
    let number = |text: String, number: f64| {
        if number.is_finite() { [text, number.to_string()] } else { Default::default() }
    };
    let bytes = |number: f64| [bytes(number), number.to_string()];
    let ranks = [(); 2].map(|()| ranks.to_string());
    match row {
        Err(failure) => vec![ranks, [(); 2].map(|()| failure.message())],
        Ok(row) => {
            let dims = row.report.dims.iter().filter(|(name, _)| weak.contains(name.as_str()));
            let grown: String = dims.map(|(name, extent)| format!("{name}={extent} ")).collect();
            vec![
                ranks,
                number(seconds(row.seconds), row.seconds),
                number(digits(row.gflops()), row.gflops()),
                number(format!("{:.1} %", 100.0 * row.efficiency), row.efficiency),
                bytes(row.received as f64),
                row.bound.map(bytes).unwrap_or_default(),
                bytes(row.report.peak_bytes.planned as f64),
                [(); 2].map(|()| format!("{grown}{}", row.how)),
            ]
        }
    }
}

fn table(args: &Args, rows: &[Row], weak: &BTreeSet<&str>) -> String {
    let head = COLUMNS.map(|names| names.map(str::to_owned)).to_vec();
    let lines: Vec<_> = std::iter::once(head).chain(rows.iter().map(|row| cells(row, weak))).collect();
    let width = |column: usize| {
        let whole = lines.iter().filter(|line| column == 0 || line.len() == COLUMNS.len());
        whole.map(|line| line[column][0].chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    if let Some((_, Scaled { report, .. })) = planned(rows).next() {
        let dims = report.dims.iter().filter(|(name, _)| !weak.contains(name.as_str()));
        let dims: Vec<String> = dims.map(|(name, extent)| format!("{name}={extent}")).collect();
        let [expression, dims] = [report.expression.clone(), dims.join(" ")].map(beginning);
        text = format!("scaling   {expression}\nextents   {dims}\ntype      {}\n", report.dtype);
    }
    if let Some(Noise { mean, seed }) = args.noise {
        text += &format!("noise     tasks are delayed by {mean} of their time on average, seed {seed}\n");
    }
    for line in &lines {
        let cells = line.iter().enumerate().map(|(column, [cell, _])| match column + 1 == line.len() {
            true => cell.clone(),
            false => format!("{cell:>width$}", width = width(column)),
        });
        text += &format!("\n{}", cells.collect::<Vec<_>>().join("  "));
    }
    text + "\n"
}

fn csv(_: &Args, rows: &[Row]) -> String {
    let line = |row: &Row| {
        let cells = cells(row, &BTreeSet::new());
        let [before, after] = if row.1.is_err() { [&",".repeat(COLUMNS.len() - 1), ""] } else { ["", ","] };
        let last = cells.len() - 1;
        let fields: Vec<&str> = cells[..last].iter().map(|cell| cell[1].as_str()).collect();
        format!("{}{before},\"{}\"{after}\n", fields.join(","), cells[last][1].replace('"', "\"\""))
    };
    COLUMNS.map(|names| names[1]).join(",") + ",error\n" + &rows.iter().map(line).collect::<String>()
}

fn picture(args: &Args, rows: &[Row]) -> String {
    let points =
        |value: &dyn Fn(&Scaled) -> f64| planned(rows).map(|(ranks, row)| [ranks as f64, value(row)]).collect();
    // `1.000 s` is not shorter than `1 s`.
    let short = |text: String| match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    };
    let noise = args.noise.map_or(String::new(), |noise| format!(", with noise of mean {}", noise.mean));
    let expression = planned(rows).next().map_or(String::new(), |(_, row)| trace_files::title(&row.report.expression));
    let panels = [
        Panel {
            curves: [
                ("simulated time", points(&|row| row.seconds)),
                ("with the efficiency of the fewest ranks", points(&|row| row.seconds * row.efficiency)),
            ],
            unit: &|value| short(seconds(value)),
        },
        Panel {
            curves: [
                ("received by the busiest rank", points(&|row| row.received as f64)),
                ("lower bound", points(&|row| row.bound.unwrap_or(0.0))),
            ],
            unit: &|value| short(bytes(value)),
        },
    ];
    curves::svg(&format!("{expression}, simulated{noise}"), &panels)
}
