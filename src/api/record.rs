//! Stores the local ranks' measurements of one run.
//!
//! A run with several slices stores their sums, and the metrics of the first slice and of further ones up to
//! [`MAX_RECORDED_TASKS`] tasks in total; a single slice has metrics and the time of each step.

use crate::exec::{Metrics, RankProgram};
use crate::plan::Plan;
use crate::timeline::Busy;

/// Of all ranks: a few megabytes, few enough for trace viewers.
const MAX_RECORDED_TASKS: usize = 1 << 18;

#[derive(Default)]
pub(super) struct Record {
    /// By slice and local rank.
    slices: Vec<Vec<Metrics>>,
    /// By local rank; empty unless there are several slices.
    sum: Vec<Metrics>,
    busy: Vec<Busy>,
    /// By local rank and value of the plan.
    node_seconds: Vec<Vec<f64>>,
    ran: usize,
    pub(super) resumed: usize,
}

impl Record {
    pub(super) fn resuming(resumed: usize) -> Record {
        Record { resumed, ..Record::default() }
    }

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
        // Stored slices must be consecutive.
        if self.slices.is_empty()
            || (self.slices.len() + 1 == self.ran && self.ran * tasks * ranks <= MAX_RECORDED_TASKS)
        {
            self.slices.push(metrics);
        }
    }

    pub(super) fn metrics(&self) -> &[Metrics] {
        match &self.slices[..] {
            [only] if self.sum.is_empty() => only,
            _ => &self.sum,
        }
    }

    /// Summed over all slices.
    pub(super) fn busy(&self, programs: &[RankProgram]) -> Vec<Busy> {
        if self.sum.is_empty() { busy(programs, self.metrics()).collect() } else { self.busy.clone() }
    }

    pub(super) fn node_seconds(&self) -> &[Vec<f64>] {
        &self.node_seconds
    }

    pub(super) fn ran(&self) -> usize {
        self.ran
    }

    pub(super) fn slices(&self) -> &[Vec<Metrics>] {
        &self.slices
    }
}

fn busy<'a>(programs: &'a [RankProgram], metrics: &'a [Metrics]) -> impl Iterator<Item = Busy> + 'a {
    programs.iter().zip(metrics).map(|(program, metrics)| metrics.busy(program.schedule()))
}
