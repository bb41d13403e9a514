//! Prints a plan as text with one row per value.

use std::borrow::Cow;
use std::fmt;

use super::options::KernelChoice;
use super::packing::Packing;
use super::path_report::PathReport;
use super::structure::{Candidate, Pipeline, Plan, ResultResidency, Source, Value};
use crate::algorithm::Objective;
use crate::schedule::{ReuseScope, Schedule};
use crate::tree::counted;

/// See [`Plan::explain`].
pub struct Explain<'a> {
    pub(super) plan: &'a Plan,
    pub(super) schedules: Cow<'a, [Schedule]>,
}

impl fmt::Display for Explain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        let machine = &plan.machine;
        writeln!(f, "plan      {}", plan.expression)?;
        writeln!(
            f,
            "for       {}, {}, {}{}",
            plan.dtype,
            counted(machine.ranks, "rank"),
            counted(machine.workers, "worker") + if machine.ranks > 1 { " each" } else { "" },
            if plan.kernel == KernelChoice::Auto { String::new() } else { format!(", kernel {}", plan.kernel.name()) }
                + if plan.objective == Objective::Bytes { ", fewest bytes" } else { "" }
        )?;
        let idle = plan.idle_ranks();
        if idle > 0 {
            let have = if idle == 1 { "has no task and holds" } else { "have no task and hold" };
            writeln!(f, "idle      {idle} of {} {have} no block", counted(machine.ranks, "rank"))?;
        }
        let dims = plan.names.iter().zip(plan.whole_extents()).map(|(name, extent)| format!("{name}={extent}"));
        writeln!(f, "extents   {}", dims.collect::<Vec<_>>().join(" "))?;
        if !plan.slices.is_empty() {
            let pieces = plan.slices.iter().map(|slice| format!("{} by {}", plan.name(slice.label), slice.piece));
            writeln!(f, "slices    {}: {}", plan.slice_count(), pieces.collect::<Vec<_>>().join(", "))?;
            self.groups(f)?;
        }
        if !plan.branches.is_empty() {
            let steps = plan.branches.iter().map(|branch| format!("{} to {}", branch.start, branch.end - 1));
            writeln!(f, "lanes     {}: steps {}", plan.branches.len(), steps.collect::<Vec<_>>().join(", "))?;
        }
        if let Some(Pipeline { label, pieces, groups, .. }) = &plan.pipeline {
            let name = plan.name(*label);
            writeln!(f, "pipeline  {pieces} batches of {name} through {groups} groups of ranks")?;
        }
        for &index in &plan.operands_in_parts {
            let times = match plan.operand_reads(index) {
                1 => String::new(),
                times => format!(", {times} times"),
            };
            let parts = counted(plan.operand_corners(index).len(), "part");
            writeln!(f, "operand   {index} read in {parts}{times}; ranks store one part at a time")?;
        }
        if plan.result == ResultResidency::InParts {
            let parts = counted(plan.part_count(), "part");
            writeln!(f, "result    computed in {parts}; ranks store one part at a time")?;
        }
        writeln!(f)?;
        if let (true, Some(path)) = (plan.path.len() > 1, PathReport::of(plan)) {
            writeln!(f, "{path}")?;
        }
        let mut rows =
            vec![["", "step", "how", "distribution", "GFLOP", "MB received", "bound", "predicted"].map(str::to_owned)];
        let schedules = &self.schedules;
        for ((received, _), (id, value)) in plan.received(schedules).iter().zip(plan.values.iter().enumerate()) {
            rows.push(self.row(id, value, *received));
        }
        write_table(f, &rows, &[1, 2, 3])?;
        writeln!(f)?;
        self.candidates(f)?;
        let mut packing = Packing::new(plan);
        let peak = schedules.iter().map(|schedule| packing.peak_bytes(schedule)).max().unwrap_or(0);
        let of =
            if schedules.len() < plan.ranks() { format!(" of {} sampled", schedules.len()) } else { String::new() };
        writeln!(f, "memory    {} on the busiest rank{of}", megabytes(peak as f64))?;
        let ungrouped = plan.ungrouped.map(|seconds| format!("; {} with all ranks in every step", duration(seconds)));
        writeln!(f, "predicted {}{}", duration(plan.seconds()), ungrouped.unwrap_or_default())?;
        write!(f, "fingerprint {:016x}", plan.fingerprint())
    }
}

impl Explain<'_> {
    fn groups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        if plan.slice_groups == 1 {
            return Ok(());
        }
        let [most, fewest] = [0, plan.slice_groups - 1].map(|group| plan.slices_of_group(group).len());
        let each = if most == fewest { most.to_string() } else { format!("{fewest} or {most}") };
        let ranks = counted(plan.ranks_per_group(), "rank");
        writeln!(f, "groups    {} of {ranks}, each with {each} of the slices", plan.slice_groups)
    }

    fn placement(&self, id: usize) -> String {
        let plan = self.plan;
        let names: Vec<&str> = plan.values[id].labels.iter().map(|&label| plan.name(label)).collect();
        plan.distribution_over_groups(id).describe(&names)
    }

    fn candidates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        let mut rows = vec![["", "candidate", "predicted", "including inputs"].map(str::to_owned)];
        for (id, value) in plan.values.iter().enumerate().filter(|(_, value)| value.considered.len() > 1) {
            for (at, candidate) in value.considered.iter().enumerate() {
                let Candidate { how, contraction, whole, chosen, fewest_bytes, .. } = candidate;
                let times = plan.times(value) as f64;
                let note = match (chosen, fewest_bytes) {
                    (true, _) => ", chosen".to_owned(),
                    (_, true) => format!(", receives only {}", megabytes(contraction.bytes * times)),
                    _ => String::new(),
                };
                rows.push([
                    if at == 0 { id.to_string() } else { String::new() },
                    format!("{how}{note}"),
                    duration(contraction.seconds * times),
                    duration(whole.seconds * times),
                ]);
            }
        }
        if rows.len() > 1 {
            write_table(f, &rows, &[1])?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn row(&self, id: usize, value: &Value, received: u64) -> [String; 8] {
        let plan = self.plan;
        let (step, mut how) = match &value.source {
            Source::Operand(index) => (plan.step_text(value), format!("operand {index}")),
            Source::Contract { algorithm, group, .. } => {
                let how = algorithm.describe(|label| plan.name(label).to_owned());
                let fewer = group.as_ref().filter(|group| group.len() < plan.ranks_per_group());
                let on = fewer.map(|group| match group.len() {
                    1 => format!(" on rank {}", group.start),
                    _ => format!(" on ranks {} to {}", group.start, group.end - 1),
                });
                (plan.step_text(value), how + &on.unwrap_or_default())
            }
            Source::Unary { op, .. } => (plan.step_text(value), format!("{op:?}").to_lowercase()),
            Source::Redistribute { input } => {
                (plan.term(&value.labels), format!("redistribute from {}", self.placement(*input)))
            }
        };
        let step_row = !matches!(value.source, Source::Operand(_));
        how += match value.lasts {
            ReuseScope::Run if step_row => ", once for all slices",
            ReuseScope::Program if step_row => ", once for all runs",
            ReuseScope::Program => ", constant",
            ReuseScope::Run | ReuseScope::Slice => "",
        };
        if matches!(value.source, Source::Operand(index) if plan.conjugate.contains(&index)) {
            how += ", conjugated";
        }
        let gflop = plan.gflop(value);
        let shown = |yes: bool, text: String| if yes { text } else { String::new() };
        [
            id.to_string(),
            step,
            how,
            self.placement(id),
            shown(gflop > 0.0, format!("{gflop:.3}")),
            shown(step_row, format!("{:.3}", received as f64 / 1e6)),
            plan.lower_bound_bytes(value).map_or(String::new(), |bytes| format!("{:.3}", bytes / 1e6)),
            shown(step_row, duration(value.seconds * plan.times(value) as f64)),
        ]
    }
}

fn write_table<const COLUMNS: usize>(
    f: &mut fmt::Formatter<'_>,
    rows: &[[String; COLUMNS]],
    words: &[usize],
) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if words.contains(&column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

fn megabytes(bytes: f64) -> String {
    format!("{:.3} MB", bytes / 1e6)
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}
