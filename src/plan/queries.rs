//! Queries about a plan.

use super::context::PlanningContext;
use super::error::PlanError;
use super::explain::Explain;
use super::found::{self, SearchedTree};
use super::noise::Noise;
use super::options::PlanOptions;
use super::packing::Packing;
use super::proof::{Classes, Step};
use super::slice_groups::Between;
use super::structure::{Plan, Value};
use super::{bound, local_seconds, lower, path, path_report, proof, received, rounding, simulate, slice_groups, spec};
use crate::machine::Machine;
use crate::schedule::verify::{Described, Spec, VerifyError};
use crate::schedule::{ReuseScope, Schedule, TaskId};
use crate::timeline::Timeline;
use crate::tree::{Einsums, Tree};

impl Plan {
    /// The tree of an expression.
    ///
    /// # Errors
    /// If an explicit path does not fit the expression.
    pub fn tree(einsums: &Einsums, machine: &Machine, options: &PlanOptions) -> Result<Tree, PlanError> {
        Plan::searched_tree(einsums, machine, options).map(|searched| searched.tree)
    }

    /// Like [`Plan::tree`], with what the path searches did.
    ///
    /// # Errors
    /// Same as for [`Plan::tree`].
    pub fn searched_tree(
        einsums: &Einsums,
        machine: &Machine,
        options: &PlanOptions,
    ) -> Result<SearchedTree, PlanError> {
        found::tree(einsums, machine, options, None, &|_| ())
    }

    /// [`Plan::path`] as numbers of tensors ([`PathChoice::Numbered`](super::PathChoice::Numbered)).
    pub fn ssa_path(&self) -> Vec<[usize; 2]> {
        path::numbers(&self.path, self.operands)
    }

    /// The order and slices as a JSON object, which [`GivenPath`](crate::GivenPath) reads: `path` as in opt_einsum,
    /// `ssa_path` and `sliced_inds` as in cotengra, and `multiply_adds` over all slices.
    pub fn path_json(&self) -> String {
        path_report::written(self).to_string()
    }

    /// Plans a tree for a machine.
    ///
    /// # Errors
    /// - If the machine is not valid, or has more ranks than the planner supports.
    /// - If a forced algorithm or cut does not apply, or a step requires a redistribution that is forbidden.
    /// - If a tensor is too large for any address space, or no plan fits within the memory limit.
    /// - If an operand to keep constant or to conjugate does not exist.
    pub fn new(expression: &str, tree: &Tree, machine: &Machine, options: &PlanOptions) -> Result<Plan, PlanError> {
        let plan = super::planned(&PlanningContext::new(expression, tree, machine, options)?)?;
        Ok(local_seconds::predicted(plan))
    }

    /// One rank's tasks in one slice, without those between groups ([`Plan::slice_groups`]). Cost: O(tasks), plus
    /// O(ranks) for some steps.
    pub fn schedule(&self, rank: usize) -> Schedule {
        lower::lower(self, rank)
    }

    /// [`Plan::schedule`] without groups, with what each transfer carries.
    pub fn described(&self, rank: usize) -> Described {
        let (schedule, carried) = lower::described(self, rank);
        Described { schedule, carried }
    }

    /// The specification that schedules are verified against.
    pub fn spec(&self) -> Spec {
        spec::spec(self)
    }

    /// Proves that in the schedules of all ranks, sends match receives, no rank deadlocks, buffers are written before
    /// they are read, every result element contains each product once, and memory stays within the limit. Cost: O(tasks
    /// of all ranks).
    ///
    /// # Errors
    /// If a schedule has a fault, which is a bug in an algorithm.
    pub fn verify(&self) -> Result<(), VerifyError> {
        proof::whole(self)
    }

    /// Proves the schedules of one rank of each class (ranks with equal extents and roles), step by step, given what
    /// messages carry. Cost: O(ranks x values), and the schedules of these ranks and of four peers each. For several
    /// threads, call [`Plan::verify_whole_schedules`] and [`Plan::each_step`].
    ///
    /// # Errors
    /// Same as for [`Plan::verify`].
    pub fn verify_by_classes(&self) -> Result<Classes, VerifyError> {
        proof::by_classes(self)
    }

    /// The schedules of [`Plan::sampled_ranks`], for [`Plan::verify_whole_schedules`], [`Plan::explain_with`] and
    /// [`Plan::report_with`].
    pub fn sampled_schedules(&self) -> Vec<Schedule> {
        self.sampled_ranks().into_iter().map(|rank| self.schedule(rank)).collect()
    }

    /// Checks bounds, hazards and memory in [`Plan::sampled_schedules`].
    ///
    /// # Errors
    /// Same as for [`Plan::verify`].
    pub fn verify_whole_schedules(&self, sampled: &[Schedule]) -> Result<(), VerifyError> {
        proof::whole_schedules(self, sampled)
    }

    /// Each step as a plan whose operands are its inputs.
    pub fn each_step(&self) -> Vec<Step> {
        proof::each_step(self)
    }

    /// A hash of the plan without predicted times, which ranks compare before the first transfer.
    pub fn fingerprint(&self) -> u64 {
        // Their last bits may differ between processors.
        let mut plan = self.clone();
        plan.values.iter_mut().for_each(|value| value.seconds = 0.0);
        plan.pipeline.iter_mut().for_each(|pipeline| pipeline.seconds = 0.0);
        plan.ungrouped = None;
        // Serialising numbers, strings and enums into memory cannot fail.
        let text = serde_json::to_vec(&plan).unwrap_or_default();
        xxhash_rust::xxh3::xxh3_64(&text)
    }

    /// The plan as text. Each value has a row with the MB that the busiest rank receives and the predicted seconds,
    /// over all slices. Cost: the schedules of [`Plan::sampled_ranks`].
    pub fn explain(&self) -> Explain<'_> {
        Explain { plan: self, schedules: self.sampled_schedules().into() }
    }

    /// Like [`Plan::explain`], with [`Plan::sampled_schedules`].
    pub fn explain_with<'a>(&'a self, sampled: &'a [Schedule]) -> Explain<'a> {
        Explain { plan: self, schedules: sampled.into() }
    }

    /// Simulates one slice on the plan's machine. One slice group is simulated, and the timeline has the groups of the
    /// first 1024 ranks. In groups of more than 1024 ranks, one rank of each class is simulated ([`Timeline::shown`]);
    /// `None` if `slicing` adds replicas. Cost: O(tasks of the simulated ranks).
    pub fn simulate(&self) -> Option<Timeline> {
        simulate::simulate(self, true, Noise::default())
    }

    /// Like [`Plan::simulate`], with random delays of every task. Without `overlap`, a rank neither sends nor receives
    /// while it computes. A rank that stands for others, and the only group that is simulated, have the longest of all
    /// their delays.
    pub fn simulate_with_noise(&self, overlap: bool, noise: Noise) -> Option<Timeline> {
        simulate::simulate(self, overlap, noise)
    }

    /// Predicted seconds of a task alone, with all workers or the whole link.
    pub fn task_seconds(&self, schedule: &Schedule, task: TaskId) -> f64 {
        simulate::task_seconds(self, schedule, task)
    }

    pub(crate) fn blank_timeline(&self) -> Timeline {
        simulate::blank_timeline(self)
    }

    /// An upper bound on the additions of any term of a result element: blocked sums in each step
    /// ([`longest_chain`](crate::local_plan::longest_chain)), partial sums of threads, tasks, ranks and slices, and the
    /// addition onto an output.
    ///
    /// An element's error is at most the [`error_bound`](crate::kernel::error_bound) for this number of terms, with one
    /// factor per operand, times the sum of the absolute values of its products. Cost: O(steps), and on several ranks
    /// that of building all schedules.
    pub fn roundings(&self) -> u64 {
        rounding::roundings(self)
    }

    /// Bytes for a rank's blocks of operands and output, intermediates, and, with a
    /// [`target`](crate::PlanOptions::target), packing. A run on dense arrays (whole tensors or blocks) uses no more,
    /// and on one rank exactly this. Cost: the rank's schedule and local plans.
    pub fn peak_bytes(&self, rank: usize) -> u64 {
        Packing::new(self).peak_bytes(&self.schedule(rank))
    }

    /// Bytes that a rank receives in a run of every step, for each value. Cost: the rank's schedules.
    pub fn bytes_received(&self, rank: usize) -> Vec<u64> {
        self.all_bytes_received(&[self.schedule(rank)]).swap_remove(0)
    }

    /// Maximum and mean of [`Plan::bytes_received`] for each value, over all ranks or over `schedules` if some step's
    /// words cannot be counted without schedules.
    pub(crate) fn received(&self, schedules: &[Schedule]) -> Vec<(u64, f64)> {
        received::over_ranks(self).unwrap_or_else(|| {
            let received = self.all_bytes_received(schedules);
            let of_value = |id: usize| received.iter().map(move |rank| rank[id]);
            let max_and_mean = |id: usize| {
                let mean = of_value(id).sum::<u64>() as f64 / received.len().max(1) as f64;
                (of_value(id).max().unwrap_or(0), mean)
            };
            (0..self.values.len()).map(max_and_mean).collect()
        })
    }

    /// Calls `see` with each rank's [`Plan::bytes_received`], counted without schedules. `None` with `slicing`, or if
    /// tensors are not distributed as their algorithm distributes them. Cost: O(ranks x values).
    pub fn count_received(&self, see: impl FnMut(usize, &[u64])) -> Option<()> {
        received::each_rank(self, see)
    }

    /// Like [`Plan::bytes_received`], for these schedules.
    pub(crate) fn all_bytes_received(&self, schedules: &[Schedule]) -> Vec<Vec<u64>> {
        let Between { spreads, combination } = Between::of(self);
        let of_rank = |schedule: &Schedule| {
            let rank = schedule.rank;
            let slices = self.slices_of_rank(rank).len() as u64;
            let mut received = schedule.bytes_received_by_node(self.values.len());
            for (bytes, value) in received.iter_mut().zip(&self.values) {
                *bytes = bytes.saturating_mul(if value.lasts == ReuseScope::Slice { slices } else { 1 });
            }
            for (spread, operands) in &spreads {
                let bytes = spread.schedule(rank).bytes_received();
                operands.iter().for_each(|&operand| received[self.copy_of(operand)] = bytes);
            }
            if let (Some(combination), Some(last)) = (&combination, received.last_mut()) {
                *last = combination.schedule(rank).bytes_received();
            }
            received
        };
        schedules.iter().map(of_rank).collect()
    }

    /// Like [`Plan::peak_bytes`], for these schedules; equal contractions are planned once.
    pub(crate) fn peaks(&self, schedules: &[Schedule]) -> Vec<u64> {
        let mut packing = Packing::new(self);
        schedules.iter().map(|schedule| packing.peak_bytes(schedule)).collect()
    }

    /// Minimum bytes that the busiest rank receives if work and tensors are divided evenly. `None` unless distributed
    /// tensors are contracted.
    pub fn lower_bound_bytes(&self, value: &Value) -> Option<f64> {
        bound::bytes(self, value)
    }

    /// The ranks with neither a task (other than synchronisation) nor a block, because the work cannot be divided
    /// further or fewer ranks are predicted to be faster. Cost: the owners of all blocks, and with `slicing` or empty
    /// operands the schedules of all other ranks.
    pub fn idle_ranks(&self) -> usize {
        if slice_groups::has_groups(self) {
            return idle_beside_groups(self);
        }
        received::idle(self).into_iter().filter(|&idle| idle).count()
    }
}

fn holds(value: &Value, rank: usize) -> bool {
    value.distribution.block_extents(&value.shape, rank).is_some_and(|extents| !extents.contains(&0))
}

/// A rank that copies operands or adds results has a block of the user, or is not idle in its group.
fn idle_beside_groups(plan: &Plan) -> usize {
    let (idle, group) = (received::idle(&slice_groups::of_group(plan)), plan.ranks_per_group());
    let users = || plan.leaves.iter().map(|&leaf| &plan.values[leaf]).chain([plan.output()]);
    let is_idle = |rank: usize| plan.slice_group_of(rank).is_none_or(|number| idle[rank - number * group]);
    (0..plan.ranks()).filter(|&rank| is_idle(rank) && !users().any(|value| holds(value, rank))).count()
}
