//! Measurements of the local ranks in one run, slice by slice.
//!
//! Invariant: a run of one slice keeps the metrics of its ranks and the seconds of steps. A run of several slices keeps
//! their sums, and the metrics of the first slices individually: of the first one always, and of as many as have at
//! most
//! [`MAX_RECORDED_TASKS`] tasks on all ranks together.

use crate::exec::{Metrics, RankProgram};
use crate::plan::Plan;
use crate::timeline::Busy;

/// Maximum tasks of the kept slices, on all ranks together: a few megabytes, and a trace that viewers can open.
const MAX_RECORDED_TASKS: usize = 1 << 18;

/// The measurements of one run.
#[derive(Default)]
pub(super) struct Record {
    /// The first slices, each by local rank.
    slices: Vec<Vec<Metrics>>,
    /// Sums over all slices by local rank, once there are several slices.
    sum: Vec<Metrics>,
    busy: Vec<Busy>,
    /// Seconds of each value of the plan, by local rank.
    node_seconds: Vec<Vec<f64>>,
    /// The number of slices that have run.
    ran: usize,
}

impl Record {
    /// Adds the metrics of the next slice.
    pub(super) fn add(&mut self, programs: &[RankProgram], plan: &Plan, metrics: Vec<Metrics>) {
        self.ran += 1;
        let (ranks, values) = (plan.ranks(), plan.values.len());
        self.node_seconds.resize_with(programs.len(), || vec![0.0; values]);
        for ((sum, program), metrics) in self.node_seconds.iter_mut().zip(programs).zip(&metrics) {
            let seconds = metrics.node_seconds(program.schedule(), values);
            sum.iter_mut().zip(seconds).for_each(|(sum, more)| *sum += more);
        }
        if let [first] = &self.slices[..]
            && self.sum.is_empty()
        {
            self.sum.clone_from(first);
            self.busy = busy(programs, first).collect();
        }
        if !self.sum.is_empty() {
            self.sum.iter_mut().zip(&metrics).for_each(|(sum, more)| sum.add(more));
            self.busy.iter_mut().zip(busy(programs, &metrics)).for_each(|(sum, more)| sum.add(more));
        }
        let tasks = metrics.iter().map(|rank| rank.tasks.len()).max().unwrap_or(0);
        // The kept slices are consecutive: after the first one that is not kept, none is.
        if self.slices.is_empty()
            || (self.slices.len() + 1 == self.ran && self.ran * tasks * ranks <= MAX_RECORDED_TASKS)
        {
            self.slices.push(metrics);
        }
    }

    /// The metrics of all slices together, by local rank: each task has the total duration that it had in all slices.
    pub(super) fn metrics(&self) -> &[Metrics] {
        match &self.slices[..] {
            [only] if self.sum.is_empty() => only,
            _ => &self.sum,
        }
    }

    /// The busy times of all slices together, by local rank.
    pub(super) fn busy(&self, programs: &[RankProgram]) -> Vec<Busy> {
        if self.sum.is_empty() { busy(programs, self.metrics()).collect() } else { self.busy.clone() }
    }

    /// Seconds of each value of the plan in all slices together, by local rank.
    pub(super) fn node_seconds(&self) -> &[Vec<f64>] {
        &self.node_seconds
    }

    /// The first slices, each by local rank.
    pub(super) fn slices(&self) -> &[Vec<Metrics>] {
        &self.slices
    }
}

fn busy<'a>(programs: &'a [RankProgram], metrics: &'a [Metrics]) -> impl Iterator<Item = Busy> + 'a {
    programs.iter().zip(metrics).map(|(program, metrics)| metrics.busy(program.schedule()))
}
