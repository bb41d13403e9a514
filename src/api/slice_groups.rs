//! Runs plans in which groups of ranks take disjoint sets of slices.
//!
//! A run copies the operands to all groups but the first, runs the slices, and adds the groups' results. The program
//! keeps copies and partial sums between runs. In each round, every group runs one of its slices; groups with fewer
//! slices rest in the last round.
//!
//! Invariant: all ranks of a group run a slice or all rest, so none waits for a resting rank.

use super::checkpoint::Saves;
use super::program::{GroupSteps, bind};
use super::record::Record;
use super::{DistTensor, Program, Result, World};
use crate::exec::Factors;
use crate::kernel::Element;
use crate::memory::Slot;
use crate::plan::{Plan, ResultResidency};
use crate::schedule::{Home, ReuseScope};

impl<T: Element> GroupSteps<T> {
    /// Compiles the steps between groups; `None` if the plan has no groups. Collective.
    pub(super) fn compile(world: &World, plan: &Plan) -> Result<Option<Box<GroupSteps<T>>>> {
        let (Some(spreads), Some(combination)) = (plan.spreads(), plan.combination()) else { return Ok(None) };
        let moved = |plan: &Plan| DistTensor::try_zeros(world, &plan.output_shape(), &plan.output().distribution);
        let copies = spreads.iter().map(moved).collect::<Result<_>>()?;
        let sums = combination.operand(0);
        let sums = DistTensor::try_zeros(world, &combination.operand_shape(0), &sums.distribution)?;
        let spreads = spreads.iter().map(|plan| Program::compile(world, plan)).collect::<Result<_>>()?;
        let combination = Program::compile(world, &combination)?;
        Ok(Some(Box::new(GroupSteps { spreads, copies, sums, combination })))
    }

    /// The programs of the steps in the last run, before and after the slices, with the values that they compute.
    pub(super) fn around(&self, plan: &Plan) -> [Vec<(&Program<T>, usize)>; 2] {
        let spreads = self.spreads.iter().enumerate().map(|(operand, spread)| (spread, plan.copy_of(operand)));
        [spreads.collect(), vec![(self.combination.measuring(), plan.values.len() - 1)]]
    }

    /// Number of bytes in the buffers that remain allocated between runs.
    pub(super) fn held_bytes(&self) -> u64 {
        let blocks = self.copies.iter().chain([&self.sums]).flat_map(DistTensor::blocks);
        let elements: usize = blocks.map(|(_, block)| block.len()).sum();
        let programs = self.spreads.iter().chain([&self.combination]).map(Program::held_bytes).sum::<u64>();
        programs + (elements * size_of::<T>()) as u64
    }
}

impl<T: Element> Program<T> {
    /// Runs a plan with groups. The tensors have been checked.
    pub(super) fn run_in_groups(
        &mut self,
        alpha: T,
        operands: &[&DistTensor<T>],
        beta: T,
        out: &mut DistTensor<T>,
        saves: Option<&mut Saves>,
    ) -> Result<()> {
        let Some(mut steps) = self.groups.take() else { return Ok(()) };
        let outcome = self.run_steps(&mut steps, (alpha, operands), (beta, out), saves);
        self.groups = Some(steps);
        outcome
    }

    fn run_steps(
        &mut self,
        steps: &mut GroupSteps<T>,
        (alpha, operands): (T, &[&DistTensor<T>]),
        (beta, out): (T, &mut DistTensor<T>),
        mut saves: Option<&mut Saves>,
    ) -> Result<()> {
        self.record = saves.as_ref().map_or_else(Record::default, |saves| saves.measurements(&self.plan));
        // The values of a failed run must not be reused.
        let holds = self.all_hold()?;
        self.holds = false;
        for (index, (spread, copy)) in steps.spreads.iter_mut().zip(&mut steps.copies).enumerate() {
            if holds && self.plan.constant.contains(&index) {
                spread.record = Record::default();
            } else {
                spread.run_dist(T::ONE, &[operands[index]], T::ZERO, copy)?;
            }
        }
        steps.sums.blocks_mut().for_each(|(_, mut block)| block.fill(T::ZERO));
        let first = saves.as_ref().map_or(0, |saves| saves.finished());
        if let Some(saves) = &saves {
            saves.restore(&mut steps.sums)?;
        }
        for round in first..self.plan.slice_rounds() {
            let lasts = if round > first { Some(ReuseScope::Run) } else { holds.then_some(ReuseScope::Program) };
            for rank in &mut self.ranks {
                rank.hold(lasts);
                rank.rest(round >= self.plan.slices_of_rank(rank.schedule().rank).len());
            }
            self.run_round(steps, round, (alpha, operands))?;
            self.report_slices((round + 1) * self.plan.slice_groups);
            if let Some(saves) = saves.as_mut().filter(|saves| saves.next == round + 1) {
                saves.after(round + 1, &steps.sums)?;
            }
        }
        steps.combination.run_dist(T::ONE, &[&steps.sums], beta, out)?;
        self.holds = true;
        Ok(())
    }

    /// Runs one slice of every group, and adds the results onto the partial sums.
    fn run_round(
        &mut self,
        steps: &mut GroupSteps<T>,
        round: usize,
        (alpha, operands): (T, &[&DistTensor<T>]),
    ) -> Result<()> {
        let sums = self.plan.values.len() - 2;
        let bound = self.ranks.iter().map(|rank| {
            let schedule = rank.schedule();
            let slices = self.plan.slices_of_rank(schedule.rank);
            // Resting ranks have unused buffers too.
            let slice = slices.start + round.min(slices.len().saturating_sub(1));
            bind(schedule, |buffer| match buffer.home {
                Home::Operand(index) => {
                    // The first group has no copies.
                    let copy = steps.copies[index].block(schedule.rank);
                    let block = copy.or_else(|| operands[index].block(schedule.rank))?;
                    Some(Slot::borrowed(&self.slice_of(block, &self.plan.values[buffer.node], slice)))
                }
                Home::Output => {
                    let block = steps.sums.block_mut(schedule.rank)?;
                    Some(Slot::borrowed_mut(&mut self.slice_of_mut(block, &self.plan.values[sums], slice)))
                }
                Home::Arena | Home::Exchange => None,
            })
        });
        let bound = bound.collect();
        self.execute(Factors::new(alpha, T::ONE), bound, ResultResidency::Whole, false)
    }
}
