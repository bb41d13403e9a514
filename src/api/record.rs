//! What the ranks of this process measured in a run, slice by slice.
//!
//! Invariant: a run of one slice keeps what its ranks measured and the seconds of steps. Of several slices there are sums, and as many
//! of the first ones by themselves as have [`MOST_KEPT`] tasks on all ranks together.

use crate::exec::{Metrics, RankProgram};
use crate::plan::Plan;
use crate::timeline::Busy;

/// Tasks of slices that are kept, of all ranks together: a few megabytes, and a picture that viewers can open.
const MOST_KEPT: usize = 1 << 18;

/// One run.
#[derive(Default)]
pub(super) struct Record {
    /// The first slices, each by local rank.
    slices: Vec<Vec<Metrics>>,
    /// By local rank, once there are several slices.
    sum: Vec<Metrics>,
    busy: Vec<Busy>,
    /// Seconds of each value of the plan, by local rank.
    node_seconds: Vec<Vec<f64>>,
    /// Slices that have run.
    ran: usize,
}

impl Record {
    /// Takes in the next slice.
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
        // Nothing is kept after a slice that is not.
        if self.slices.is_empty() || (self.slices.len() + 1 == self.ran && self.ran * tasks * ranks <= MOST_KEPT) {
            self.slices.push(metrics);
        }
    }

    /// Of all slices together, by local rank: as if tasks had taken as long as they did in all of them.
    pub(super) fn metrics(&self) -> &[Metrics] {
        match &self.slices[..] {
            [only] if self.sum.is_empty() => only,
            _ => &self.sum,
        }
    }

    /// Of all slices together, by local rank.
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
