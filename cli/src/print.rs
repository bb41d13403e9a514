//! Prints a run's results as text or as one JSON object.
//!
//! Both are made from the same [`Report`].

use std::fmt::Write;

use einsum_dist::io::output::display_path;
use einsum_dist::report::{ByLink, CheckReport, Measured, NodeReport, Report, Seconds};
use einsum_dist::timeline::Timeline;
use einsum_dist::{Error, Plan, World};

use super::check::Overflow;
use super::config::RunConfig;
use super::failure::{Failure, say};
use super::range::OutOfRange;
use super::units::{bytes, counted, digits, seconds};
use super::{Result, norm, write_out};

const MAX_STEPS: usize = 24;

const MAX_TEXT_CHARACTERS: usize = 400;

const MAX_COMPARED_RANKS: usize = 64;

const MAX_ALIGNED_CHARACTERS: usize = 60;

/// What is printed after a run, equal on all ranks except for the kernel's name and the reading time.
#[derive(Debug)]
pub struct Outcome {
    pub measured: Vec<Measured>,
    pub compile_seconds: f64,
    pub seconds: Seconds,
    /// Seconds for reading operands in parts in the last run, on this process.
    pub reading_seconds: f64,
    pub resumed_slices: usize,
    pub norm: f64,
    /// With `--exponent`, the power of two by which elements are to be multiplied.
    pub exponent: Option<i64>,
    pub out_of_range: Option<OutOfRange>,
    pub check: Option<CheckReport>,
    pub overflow: Option<Overflow>,
    pub kernel: &'static str,
    pub trace_error: Option<Error>,
}

/// The text for standard output on rank 0's process; with `--quiet`, only JSON.
///
/// # Errors
/// If the result is outside the error bound or the range of the type, after the text has been printed.
pub fn result(world: &World, config: &RunConfig, outcome: &Outcome) -> Result<Option<String>> {
    let text = match (world.is_root(), config.args.json, config.args.quiet) {
        (true, true, _) => Some(json(&report(world, config, outcome))),
        (true, false, false) => Some(summary(world, config, outcome)),
        _ => None,
    };
    let overflow = outcome.overflow.as_ref();
    if outcome.check.is_none_or(|check| check.ok) {
        if let (Some(overflow), true) = (overflow, world.is_root()) {
            say!("warning: {}", overflow.message);
        }
        if let (Some(found), true, false, None) = (&outcome.out_of_range, world.is_root(), config.args.quiet, overflow)
        {
            say!("warning: {}", found.message);
        }
        return Ok(text);
    }
    write_out(&text.unwrap_or_default()).map_err(Failure::Print)?;
    if world.is_root() {
        let kept = config.args.output.as_ref().map_or("", |_| "; no output file was written");
        match overflow {
            Some(overflow) => say!("error: {}{kept}", overflow.message),
            None => say!("error: the result is outside the error bound{kept}"),
        }
        if let Some(error) = &outcome.trace_error {
            say!("error: {error}");
        }
    }
    Err(Failure::Check)
}

/// `report` is that of the plan, with its kernel.
pub fn planned_json(world: &World, config: &RunConfig, report: Report) -> String {
    json(&in_context(world, config, report))
}

fn json(report: &Report) -> String {
    // Serialising numbers, strings and maps with string keys into memory cannot fail.
    serde_json::to_string(report).unwrap_or_default() + "\n"
}

/// Adds what the program knows besides the plan.
fn in_context(world: &World, config: &RunConfig, mut report: Report) -> Report {
    report.path_search = Some(config.path_search);
    report.transport = Some(world.transport().to_owned());
    report
}

fn report(world: &World, config: &RunConfig, outcome: &Outcome) -> Report {
    let mut report = in_context(world, config, config.plan.report(Some(&outcome.measured)));
    report.kernel = outcome.kernel.to_owned();
    let steps = report.nodes.iter_mut().zip(first_run_seconds(config));
    steps.for_each(|(node, additional)| node.predicted_seconds += additional);
    report.plan_seconds = Some(config.plan_seconds);
    report.compile_seconds = Some(outcome.compile_seconds);
    report.seconds = Some(outcome.seconds);
    report.gflops = (outcome.seconds.median > 0.0).then(|| gflop(config, outcome) / outcome.seconds.median);
    report.check = outcome.check;
    let scale = outcome.exponent.unwrap_or(0);
    report.output.norm = Some(norm::scaled(outcome.norm, scale)).filter(|norm| *norm > 0.0 || outcome.norm == 0.0);
    report.output.log10_norm = norm::log10(outcome.norm, scale);
    report.output.exponent = outcome.exponent;
    report.output.out_of_range = outcome.out_of_range.as_ref().map(|found| found.what);
    report
}

fn gflop(config: &RunConfig, outcome: &Outcome) -> f64 {
    let slices = config.plan.slice_count() as f64;
    config.plan.total_gflop() * (1.0 - outcome.resumed_slices as f64 / slices)
}

fn summary(world: &World, config: &RunConfig, outcome: &Outcome) -> String {
    let report = report(world, config, outcome);
    let plan = &config.plan;
    let mut lines: Vec<(&str, String)> = vec![("expression", beginning(report.expression.clone()))];
    let extents = plan.names.iter().zip(plan.whole_extents()).map(|(name, extent)| format!("{name}={extent}"));
    let default = if config.default_sizes { "  (default; --size sets them)" } else { "" };
    lines.push(("extents", beginning(extents.collect::<Vec<_>>().join(" ")) + default));
    lines.push(("type", report.dtype.clone()));
    let transport = if report.ranks > 1 { format!(", transport {}", world.transport()) } else { String::new() };
    let each = if report.ranks > 1 { " each" } else { "" };
    let (ranks, workers) = (counted(report.ranks, "rank"), counted(report.workers, "worker"));
    lines.push(("ran on", format!("{ranks}, {workers}{each}{transport}")));
    lines.push(("kernel", report.kernel.clone()));
    lines.extend(steps(config, &report));
    lines.extend(config.chosen_limit().map(|limit| ("limit", limit)));
    if outcome.resumed_slices > 0 {
        let (taken, all) = (outcome.resumed_slices, plan.slice_count());
        lines.push(("continued", format!("{taken} of {all} slices are from the checkpoint, and are not in the times")));
    }
    lines.push(("time", time(config, outcome)));
    if !plan.operands_in_parts.is_empty() {
        let all = if plan.operands_in_parts.len() == 1 { "operand" } else { "operands" };
        let which: Vec<String> = plan.operands_in_parts.iter().map(usize::to_string).collect();
        let took = seconds(outcome.reading_seconds);
        lines.push(("reading", format!("{took} of the last run, for parts of {all} {}", which.join(", "))));
    }
    if let Some(gflops) = report.gflops.filter(|&gflops| gflops > 0.0) {
        let flop = format!("{} GFLOP", digits(gflop(config, outcome)));
        lines.push(("rate", format!("{} GFLOP/s ({flop})", digits(gflops))));
    }
    if report.ranks > 1 {
        lines.extend(communication(config, outcome, &report));
    }
    let shape: Vec<String> = report.output.shape.iter().map(usize::to_string).collect();
    let shape = if shape.is_empty() { "one number".to_owned() } else { shape.join(" x ") };
    let parts =
        if report.output.parts > 1 { format!(", computed in {} parts", report.output.parts) } else { String::new() };
    lines.push((
        "output",
        format!("{}, norm {}{parts}", beginning(shape), norm::text(outcome.norm, outcome.exponent.unwrap_or(0))),
    ));
    if let Some(exponent) = outcome.exponent {
        lines.push(("exponent", format!("{exponent}: the result is 2^{exponent} times the elements of the output")));
    }
    lines.extend(outcome.check.as_ref().map(|check| ("check", verdict(outcome, check))));
    if let (Some(path), true) = (&config.args.output, outcome.check.is_none_or(|check| check.ok)) {
        lines.push(("written", display_path(path).to_string()));
    }
    for (name, path) in
        [("trace", &config.args.trace), ("timeline", &config.args.timeline), ("path", &config.args.path_out)]
    {
        lines.extend(path.iter().map(|path| (name, display_path(path).to_string())));
    }
    let mut text = String::new();
    for (name, value) in lines {
        // Writing into memory cannot fail.
        let _ = writeln!(text, "{name:<12}{value}");
    }
    text
}

fn steps(config: &RunConfig, report: &Report) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let steps = listed(report);
    let texts: Vec<String> = steps.iter().map(|node| beginning(node.expression.clone())).collect();
    let hows: Vec<String> = steps.iter().map(|node| how(node)).collect();
    let [width, wide] = [&texts, &hows].map(|column| {
        column
            .iter()
            .map(|text| text.chars().count())
            .filter(|&width| width <= MAX_ALIGNED_CHARACTERS)
            .max()
            .unwrap_or(0)
    });
    for (at, ((node, text), how)) in steps.iter().zip(&texts).zip(&hows).enumerate() {
        let step = match node.seconds.filter(|_| report.ranks > 1) {
            Some(took) => {
                let predicted = predicted(config, node.predicted_seconds);
                format!("{text:<width$}  {how:<wide$}  {}{predicted}", seconds(took))
            }
            None => format!("{text:<width$}  {how}"),
        };
        lines.push((if at == 0 { "steps" } else { "" }, step));
    }
    if steps.len() < report.nodes.len() {
        let more = counted(report.nodes.len() - steps.len(), "smaller step");
        lines.push(("", format!("and {more} (--explain and --json have all)")));
    }
    lines
}

fn communication(config: &RunConfig, outcome: &Outcome, report: &Report) -> Vec<(&'static str, String)> {
    let timeline = (report.ranks <= MAX_COMPARED_RANKS).then(|| config.simulated_timeline()).flatten();
    let sum = |bytes: fn(&ByLink) -> u64| outcome.measured.iter().map(|rank| bytes(&rank.by_link)).sum::<u64>();
    let [near, far] = [sum(|link| link.same_node), sum(|link| link.other_nodes)].map(|sum| bytes(sum as f64));
    let mut lines = vec![
        ("received", received(report, outcome)),
        ("links", format!("{near} within nodes, {far} between nodes, total over all ranks")),
    ];
    lines.extend(overlap(outcome, timeline.as_ref()).map(|text| ("overlap", text)));
    lines.push(("idle", idle(&config.plan, outcome, timeline.as_ref())));
    if outcome.seconds.runs > 1 {
        let of = "time and rate are medians of all timed runs; all other measurements are from the last run";
        lines.push(("note", of.to_owned()));
    }
    lines
}

fn verdict(outcome: &Outcome, check: &CheckReport) -> String {
    let verdict = match (&outcome.overflow, check.ok) {
        (Some(_), false) => "OVERFLOW",
        (Some(_), true) => "ok, with overflow",
        (None, true) => "ok",
        (None, false) => "WRONG",
    };
    let elements = counted(check.checked as usize, "element");
    format!("{verdict}: {elements}, error {:.1e}, bound {:.1e}", check.max_error, check.bound)
}

fn listed(report: &Report) -> Vec<&NodeReport> {
    let mut steps: Vec<(usize, &NodeReport)> = report.nodes.iter().enumerate().collect();
    steps.sort_by(|(_, a), (_, b)| b.gflop.total_cmp(&a.gflop));
    steps.truncate(MAX_STEPS);
    steps.sort_by_key(|(at, _)| *at);
    steps.into_iter().map(|(_, node)| node).collect()
}

fn how(node: &NodeReport) -> String {
    let cuts: Vec<&str> = node.grid.keys().map(String::as_str).collect();
    match (node.algorithm, cuts.as_slice()) {
        (Some(name), []) => name.to_owned(),
        (Some(name), cuts) => format!("{name}, cut along {}", cuts.join(" and ")),
        (None, _) => node.op.to_owned(),
    }
}

pub fn beginning(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARACTERS) {
        Some((end, _)) => format!("{}.. ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}

fn time(config: &RunConfig, outcome: &Outcome) -> String {
    let times = &outcome.seconds;
    let measured = match times.runs {
        1 => seconds(times.median),
        runs => format!(
            "{} (median of {runs} runs from {} to {})",
            seconds(times.median),
            seconds(times.min),
            seconds(times.max)
        ),
    };
    measured + &predicted(config, config.plan.seconds() + first_run_seconds(config).iter().sum::<f64>())
}

/// Each step's additional seconds, if the only timed run is the first.
fn first_run_seconds(config: &RunConfig) -> Vec<f64> {
    let is_first = config.args.warmup == 0 && config.args.repeat.get() == 1;
    if is_first { config.plan.first_run_seconds() } else { Vec::new() }
}

fn predicted(config: &RunConfig, predicted: f64) -> String {
    if config.args.no_overlap { String::new() } else { format!(", {} predicted", seconds(predicted)) }
}

fn idle(plan: &Plan, outcome: &Outcome, timeline: Option<&Timeline>) -> String {
    let all: Vec<f64> = outcome.measured.iter().map(|rank| rank.idle_seconds).collect();
    let longest = (0..all.len()).max_by(|&one, &other| all[one].total_cmp(&all[other])).unwrap_or(0);
    let predicted = timeline.map_or(String::new(), |timeline| {
        let share = (1.0 - timeline.working_share()).max(0.0);
        format!(" (simulated: {})", seconds(share * timeline.seconds * plan.slice_rounds() as f64))
    });
    let mean = seconds(all.iter().sum::<f64>() / all.len() as f64);
    format!("{mean} per rank on average{predicted}, maximum {} on rank {longest}", seconds(all[longest]))
}

/// The fraction of all receiving time in which ranks also computed, as in [`Timeline::hidden_share`].
fn hidden_share(measured: &[Measured]) -> Option<f64> {
    let receiving: f64 = measured.iter().map(|rank| rank.receiving_seconds).sum();
    let hidden = measured.iter().filter_map(|rank| Some(rank.hidden_share? * rank.receiving_seconds)).sum::<f64>();
    (receiving > 0.0).then_some(hidden / receiving)
}

fn overlap(outcome: &Outcome, timeline: Option<&Timeline>) -> Option<String> {
    let share = hidden_share(&outcome.measured)?;
    let simulated = timeline.and_then(Timeline::hidden_share);
    let simulated = simulated.map_or(String::new(), |share| format!(" (simulated: {:.0} %)", 100.0 * share));
    Some(format!("{:.0} % of the transfer time hidden{simulated}", 100.0 * share))
}

fn received(report: &Report, outcome: &Outcome) -> String {
    // The report may list only some of many ranks.
    let listed = report.per_rank.len();
    let planned = report.per_rank.iter().map(|rank| rank.bytes_received.planned).max().unwrap_or(0);
    let ranks = outcome.measured.iter().take(listed);
    let measured = ranks.map(|rank| rank.received.iter().sum::<u64>()).max().unwrap_or(0);
    // Steps may have different busiest ranks, so bounds cannot be added.
    let bounds: Vec<f64> = report.nodes.iter().filter_map(|node| node.lower_bound_bytes).collect();
    let bound = match bounds[..] {
        [bound] if report.nodes.len() == 1 => format!("; lower bound {}", bytes(bound)),
        _ => String::new(),
    };
    if planned == measured {
        return format!("{} on the busiest rank, as planned{bound}", bytes(measured as f64));
    }
    format!("{} on the busiest rank, {} planned{bound}", bytes(measured as f64), bytes(planned as f64))
}
