//! Reports a plan and its run's measurements.
//!
//! Invariant: [`Plan`] computes the planned values; measured values are `None` before a run.

#![warn(missing_docs)]

mod types;

pub use types::{
    ByLink, Bytes, CheckReport, FewestBytes, MaxMean, Measured, NodeReport, OutputReport, PathSearchReport, Peak,
    RankReport, Report, Seconds,
};

use std::collections::BTreeMap;

use crate::dims::{Kind, Label};
use crate::plan::{Candidate, Plan, Source, Value};
use crate::schedule::Schedule;
use crate::tree::UnaryOp;

const MAX_LISTED_RANKS: usize = 64;

impl Plan {
    /// The plan's report. `measured` is from [`Program::measured`](crate::Program::measured); the report then has all
    /// ranks' schedules, otherwise those of sampled ranks.
    pub fn report(&self, measured: Option<&[Measured]>) -> Report {
        let all = || (0..self.ranks()).map(|rank| self.schedule(rank)).collect();
        self.report_of(measured, &measured.map_or_else(|| self.sampled_schedules(), |_| all()))
    }

    /// The report before a run, from [`Plan::sampled_schedules`].
    pub fn report_with(&self, sampled: &[Schedule]) -> Report {
        self.report_of(None, sampled)
    }

    fn report_of(&self, measured: Option<&[Measured]>, schedules: &[Schedule]) -> Report {
        let steps = self.values.iter().enumerate().filter(|(_, v)| !matches!(v.source, Source::Operand(_)));
        let received = self.all_bytes_received(schedules);
        let all_ranks = self.received(schedules);
        let nodes = steps.map(|(id, value)| {
            let got = measured.map(|ranks| ranks.iter().map(|rank| rank.received[id]).collect::<Vec<u64>>());
            let seconds = measured.map(|ranks| ranks.iter().map(|rank| rank.seconds[id]).fold(0.0, f64::max));
            let bytes = Bytes {
                planned: MaxMean { max: all_ranks[id].0, mean: all_ranks[id].1 },
                measured: got.as_deref().map(MaxMean::of),
            };
            node(self, value, bytes, seconds)
        });
        let peaks = self.peaks(schedules);
        let all: Vec<u64> = received.iter().map(|rank| rank.iter().sum()).collect();
        let per_rank =
            schedules.iter().zip(&peaks).zip(all).take(MAX_LISTED_RANKS).map(|((schedule, &peak), received)| {
                let got = measured.and_then(|ranks| ranks.get(schedule.rank));
                RankReport {
                    node_name: got.map(|m| m.node_name.clone()),
                    cpus: got.map(|m| m.cpus.clone()),
                    numa: got.and_then(|m| m.numa),
                    bytes_received: Peak { planned: received, measured: got.map(|m| m.received.iter().sum()) },
                    bytes_by_link: got.map(|m| m.by_link),
                    peak_bytes: Peak { planned: peak, measured: got.map(|m| m.peak_bytes) },
                    idle_seconds: got.map(|m| m.idle_seconds),
                    hidden_share: got.and_then(|m| m.hidden_share),
                }
            });
        let peak = Peak {
            planned: peaks.iter().copied().max().unwrap_or(0),
            measured: measured.and_then(|ranks| ranks.iter().map(|rank| rank.peak_bytes).max()),
        };
        Report {
            schema: 1,
            expression: self.expression.clone(),
            objective: self.objective.name(),
            dtype: self.dtype.name().to_owned(),
            ranks: self.ranks(),
            workers: self.machine.workers,
            transport: None,
            kernel: self.kernel.name().to_owned(),
            plan_fingerprint: format!("{:016x}", self.fingerprint()),
            slices: self.slice_count(),
            slice_groups: self.slice_groups,
            memory_limit: self.memory_limit,
            path: self.path.clone(),
            path_search: None,
            dims: self.names.iter().cloned().zip(self.whole_extents()).collect(),
            nodes: nodes.collect(),
            per_rank: per_rank.collect(),
            plan_seconds: None,
            compile_seconds: None,
            seconds: None,
            gflops: None,
            peak_bytes: peak,
            check: None,
            output: OutputReport {
                shape: self.output_shape(),
                parts: self.part_count(),
                norm: None,
                log10_norm: None,
                exponent: None,
                out_of_range: None,
            },
        }
    }
}

fn node(plan: &Plan, value: &Value, bytes_received: Bytes, seconds: Option<f64>) -> NodeReport {
    let (op, algorithm) = match &value.source {
        Source::Contract { algorithm, .. } => ("contract", Some(algorithm.name())),
        Source::Unary { op: UnaryOp::Permute, .. } => ("permute", None),
        Source::Unary { op: UnaryOp::Sum, .. } => ("sum", None),
        Source::Unary { op: UnaryOp::Diagonal, .. } => ("diagonal", None),
        Source::Redistribute { .. } | Source::Operand(_) => ("redistribute", None),
    };
    let kinds = match &value.source {
        Source::Contract { kinds, .. } => {
            kinds.iter().map(|(label, kind)| (plan.name(label).to_owned(), Kind::letter(kind))).collect()
        }
        _ => BTreeMap::new(),
    };
    let named = |cuts: Vec<(Label, usize)>| {
        cuts.into_iter().map(|(label, ranks)| (plan.name(label).to_owned(), ranks)).collect()
    };
    let ranks = match &value.source {
        Source::Contract { group: Some(group), .. } => group.len(),
        _ => plan.ranks_per_group(),
    };
    let grid = match &value.source {
        Source::Contract { algorithm, .. } => named(algorithm.grid(ranks)),
        _ => BTreeMap::new(),
    };
    let times = plan.times(value) as f64;
    let fewest = value.considered.iter().find(|candidate| candidate.fewest_bytes);
    let fewest_bytes = fewest.map(|Candidate { algorithm, contraction, .. }| FewestBytes {
        algorithm: algorithm.name(),
        grid: named(algorithm.grid(ranks)),
        bytes: contraction.bytes * times,
        predicted_seconds: contraction.seconds * times,
    });
    NodeReport {
        expression: plan.step_text(value),
        op,
        kinds,
        algorithm,
        grid,
        gflop: plan.gflop(value),
        seconds,
        bytes_received,
        lower_bound_bytes: plan.lower_bound_bytes(value),
        predicted_seconds: value.seconds * times,
        fewest_bytes,
    }
}
