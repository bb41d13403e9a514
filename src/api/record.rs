//! Measurements of the local ranks in one run, for each slice.
//!
//! Invariant: a run of one slice stores the metrics of its ranks and the seconds of steps. A run of several slices
//! stores sums over slices, and the metrics of the first slices individually: of the first slice always, and of further
//! slices while all stored slices have at most [`MAX_RECORDED_TASKS`] tasks on all ranks together.

use crate::exec::{Metrics, RankProgram};
use crate::plan::Plan;
use crate::timeline::Busy;

/// Maximum number of tasks of the stored slices, over all ranks. This limits their memory to a few megabytes, and
/// traces to a size that viewers can open.
const MAX_RECORDED_TASKS: usize = 1 << 18;

/// The measurements of one run.
#[derive(Default)]
pub(super) struct Record {
    /// The first slices, each by local rank.
    slices: Vec<Vec<Metrics>>,
    /// Sums over all slices by local rank; empty unless there are several slices.
    sum: Vec<Metrics>,
    busy: Vec<Busy>,
    /// Seconds of each value of the plan, by local rank.
    node_seconds: Vec<Vec<f64>>,
    /// Number of slices that have run.
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
        // The stored slices are consecutive: after the first slice that is not stored, no slice is stored.
        if self.slices.is_empty()
            || (self.slices.len() + 1 == self.ran && self.ran * tasks * ranks <= MAX_RECORDED_TASKS)
        {
            self.slices.push(metrics);
        }
    }

    /// The metrics of all slices by local rank. The duration of a task is its total over all slices.
    pub(super) fn metrics(&self) -> &[Metrics] {
        match &self.slices[..] {
            [only] if self.sum.is_empty() => only,
            _ => &self.sum,
        }
    }

    /// The busy times by local rank, summed over all slices.
    pub(super) fn busy(&self, programs: &[RankProgram]) -> Vec<Busy> {
        if self.sum.is_empty() { busy(programs, self.metrics()).collect() } else { self.busy.clone() }
    }

    /// Seconds of each value of the plan by local rank, summed over all slices.
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
