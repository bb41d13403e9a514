//! Runs plans in which groups of ranks take disjoint sets of slices (`docs/algorithms.md`).
//!
//! Copies and partial sums are kept between runs. In each round, every group runs one slice; those with fewer rest in
//! the last round. Groups of one rank in one process run several short rounds independently.
//!
//! Invariant: all ranks of a group run a slice or all rest, so none waits for a resting rank.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::checkpoint::Saves;
use super::launch::{Round, Slots, launch_apart};
use super::program::{GroupSteps, bind};
use super::record::Record;
use super::{DistTensor, Program, Result, World};
use crate::exec::{Factors, RankProgram};
use crate::kernel::Element;
use crate::memory::Slot;
use crate::plan::{Plan, ResultResidency};
use crate::schedule::{Home, ReuseScope};

/// Shorter rounds start together.
const SHORT: Duration = Duration::from_millis(250);

impl<T: Element> GroupSteps<T> {
    /// `None` if the plan has no groups. Collective.
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

    pub(super) fn around(&self, plan: &Plan) -> [Vec<(&Program<T>, usize)>; 2] {
        let spreads = self.spreads.iter().enumerate().map(|(operand, spread)| (spread, plan.copy_of(operand)));
        [spreads.collect(), vec![(self.combination.measuring(), plan.values.len() - 1)]]
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let blocks = self.copies.iter().chain([&self.sums]).flat_map(DistTensor::blocks);
        let elements: usize = blocks.map(|(_, block)| block.len()).sum();
        let programs = self.spreads.iter().chain([&self.combination]).map(Program::held_bytes).sum::<u64>();
        programs + (elements * size_of::<T>()) as u64
    }
}

impl<T: Element> Program<T> {
    /// The tensors have been checked.
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
        let rounds = self.plan.slice_rounds();
        let (mut done, mut at_once) = (first, 1);
        while done < rounds {
            let most = saves.as_ref().map_or(rounds, |saves| saves.next.min(rounds)) - done;
            let next = done..done + if self.runs_apart() { most.min(at_once) } else { 1 };
            let lasts = if done > first { Some(ReuseScope::Run) } else { holds.then_some(ReuseScope::Program) };
            let started = Instant::now();
            self.run_rounds(steps, next.clone(), lasts, (alpha, operands))?;
            if started.elapsed() < SHORT {
                at_once = 2 * next.len();
            }
            done = next.end;
            self.report_slices(done * self.plan.slice_groups);
            if let Some(saves) = saves.as_mut().filter(|saves| saves.next == done) {
                saves.after(done, &steps.sums)?;
            }
        }
        steps.combination.run_dist(T::ONE, &[&steps.sums], beta, out)?;
        self.holds = true;
        Ok(())
    }

    /// Whether ranks are threads that do not communicate in slices.
    fn runs_apart(&self) -> bool {
        self.plan.ranks_per_group() == 1 && self.world.is_one_process()
    }

    /// Adds slices of every group onto the partial sums. `lasts` is for the first.
    fn run_rounds(
        &mut self,
        steps: &mut GroupSteps<T>,
        rounds: Range<usize>,
        lasts: Option<ReuseScope>,
        (alpha, operands): (T, &[&DistTensor<T>]),
    ) -> Result<()> {
        let factors = Factors::new(alpha, T::ONE);
        let rests = |rank: &RankProgram, round| round >= self.plan.slices_of_rank(rank.schedule().rank).len();
        if rounds.len() == 1 {
            let resting: Vec<bool> = self.ranks.iter().map(|rank| rests(rank, rounds.start)).collect();
            for (rank, rests) in self.ranks.iter_mut().zip(resting) {
                rank.hold(lasts);
                rank.rest(rests);
            }
            let bound = self.ranks.iter().map(|rank| self.bound(steps, rank, rounds.start, operands)).collect();
            return self.execute(factors, bound, ResultResidency::Whole, false);
        }
        let of_rank = |rank: &RankProgram| {
            let run = |round: usize| Round {
                slots: self.bound(steps, rank, round, operands),
                state: Some((if round == rounds.start { lasts } else { Some(ReuseScope::Run) }, rests(rank, round))),
            };
            rounds.clone().map(run).collect()
        };
        let bound: Vec<Vec<Round>> = self.ranks.iter().map(of_rank).collect();
        let metrics = launch_apart(&self.world, &self.plan, &mut self.ranks, factors, bound)?;
        let mut metrics: Vec<_> = metrics.into_iter().map(Vec::into_iter).collect();
        for _ in rounds {
            let of_round = metrics.iter_mut().filter_map(Iterator::next).collect();
            self.count_run(of_round);
        }
        Ok(())
    }

    fn bound(&self, steps: &mut GroupSteps<T>, rank: &RankProgram, round: usize, operands: &[&DistTensor<T>]) -> Slots {
        let (schedule, sums) = (rank.schedule(), self.plan.values.len() - 2);
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
                Some(Slot::borrowed_mut(&mut self.slice_of(block, &self.plan.values[sums], slice)))
            }
            Home::Arena | Home::Exchange => None,
        })
    }
}
