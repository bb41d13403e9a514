//! Counts the bytes that each rank receives without building schedules, exactly and for all ranks.
//!
//! An algorithm knows the words of one rank from the extents of its tiles, and a redistribution from the overlap of its
//! blocks. Invariant: they equal those of the schedules. `slicing`, and contractions of tensors that are distributed
//! otherwise than by their algorithm, are not counted. A rank without elements that receives none is idle.

use std::collections::HashMap;
use std::ops::Range;

use super::slice_groups::{self, Between};
use super::structure::{Plan, Source, Value};
use super::up_to_names::up_to_names;
use crate::algorithm::{Algorithm, Contraction, Movement, Objective, Price, Tensor};
use crate::schedule::ReuseScope;
use crate::schedule::collective::CollectiveAlgorithm;

/// What ranks receive for one value, or one batch of it.
enum Step<'a> {
    Contraction { id: usize, algorithm: &'a Algorithm, group: Range<usize>, contraction: Box<Contraction> },
    Redistribution { id: usize, tensors: Box<[Tensor; 2]>, movement: Movement },
}

impl Step<'_> {
    fn id(&self) -> usize {
        match self {
            Step::Contraction { id, .. } | Step::Redistribution { id, .. } => *id,
        }
    }

    /// Adds the words of every rank; `None` if they cannot be counted.
    fn add_words(&self, words: &mut [u64]) -> Option<()> {
        match self {
            Step::Contraction { algorithm, group, contraction, .. } => {
                let Contraction { left, right, out, .. } = contraction.as_ref();
                let by_tiles =
                    matches!(algorithm, Algorithm::Grid(grid) if grid.algorithm == CollectiveAlgorithm::Direct);
                // Ranks whose blocks are equal along every axis of a grid have equal tiles.
                let alike = [left, right, out].map(|tensor| tensor.distribution.alike(&tensor.shape));
                let mut rank = 0;
                while rank < group.len() {
                    let received = algorithm.words_received(contraction, rank, group.len())?;
                    let next = if by_tiles { alike.iter().map(|alike| alike.until(rank)).min() } else { None };
                    let next = next.unwrap_or(rank + 1).min(group.len());
                    words[group.start + rank..group.start + next].iter_mut().for_each(|words| *words += received);
                    rank = next;
                }
            }
            Step::Redistribution { tensors, movement, .. } => {
                let [from, to] = tensors.as_ref();
                let receivers = match movement {
                    Movement::Tree => 0..words.len(),
                    Movement::Broadcast | Movement::Direct => to.distribution.span(),
                };
                receivers.for_each(|rank| words[rank] += movement.words_received(from, to, rank));
            }
        }
        Some(())
    }
}

/// The steps of one plan without groups.
struct Steps<'a>(Vec<Step<'a>>);

impl<'a> Steps<'a> {
    /// `None` if a contraction's tensors are not distributed as its algorithm distributes them.
    fn of(plan: &'a Plan) -> Option<Steps<'a>> {
        let mut steps = Vec::new();
        for (id, value) in plan.values.iter().enumerate() {
            for piece in 0..plan.pieces_of(id) {
                let tensor = |id: usize| plan.tensor(id, piece);
                match &value.source {
                    Source::Operand(_) | Source::Unary { .. } => {}
                    Source::Contract { left, right, algorithm, group, .. } => {
                        let group = group.clone().unwrap_or(0..plan.ranks());
                        let [left, right, out] = [*left, *right, id].map(|id| tensor(id).relative_to(group.start));
                        let own = algorithm.distributions(&left.labels, &right.labels, &out.labels, group.len())?;
                        if [&left, &right, &out].map(|tensor| &tensor.distribution) != [&own.left, &own.right, &own.out]
                        {
                            return None;
                        }
                        let contraction = Box::new(Contraction { left, right, out, onto: false });
                        steps.push(Step::Contraction { id, algorithm, group, contraction });
                    }
                    Source::Redistribute { input } => {
                        let tensors = Box::new([*input, id].map(tensor));
                        let movement = Movement::of(&tensors[0], &tensors[1]);
                        steps.push(Step::Redistribution { id, tensors, movement });
                    }
                }
            }
        }
        Some(Steps(steps))
    }

    /// Whether contractions give tasks to a rank that stores no element; `None` if that takes its schedule, as with an
    /// empty operand, which nobody receives.
    fn computes(&self, rank: usize) -> Option<bool> {
        let mut received = self.0.iter().map(|step| match step {
            Step::Contraction { algorithm, group, contraction, .. } if group.contains(&rank) => {
                let words = algorithm.words_received(contraction, rank - group.start, group.len());
                // Without words, ranks inside a grid may send zeros.
                let tensors = [&contraction.left, &contraction.right, &contraction.out];
                let inside = tensors.iter().any(|t| t.distribution.span().contains(&(rank - group.start)));
                words.filter(|&words| words > 0 || !inside && !contraction.is_empty())
            }
            _ => Some(0),
        });
        received.try_fold(false, |any, words| Some(any || words? > 0))
    }

    /// The words that `rank` receives, by value; `None` if some step cannot be counted.
    fn words(&self, rank: usize, values: usize) -> Option<Vec<u64>> {
        let mut words = vec![0; values];
        for step in &self.0 {
            match step {
                Step::Contraction { id, algorithm, group, contraction } if group.contains(&rank) => {
                    words[*id] += algorithm.words_received(contraction, rank - group.start, group.len())?;
                }
                Step::Contraction { .. } => {}
                Step::Redistribution { id, tensors, movement } => {
                    words[*id] += movement.words_received(&tensors[0], &tensors[1], rank);
                }
            }
        }
        Some(words)
    }
}

/// The bytes that the sampled ranks receive in one slice of a plan without groups.
pub fn by_samples(plan: &Plan) -> Option<u64> {
    let steps = Steps::of(plan)?;
    let words = plan.sampled_ranks().into_iter().map(|rank| steps.words(rank, plan.values.len()));
    let words = words.map(|words| words.map(|words| words.iter().sum::<u64>())).sum::<Option<u64>>()?;
    Some(words * plan.dtype.size() as u64)
}

/// Whether each rank has neither a task nor an element. Cost: the elements' owners, and O(other ranks x contractions).
pub fn idle(plan: &Plan) -> Vec<bool> {
    let mut idle = vec![true; plan.ranks()];
    for Value { distribution, shape, .. } in &plan.values {
        if idle[distribution.span()].contains(&true) {
            let holders = distribution.holders(shape);
            holders.into_iter().for_each(|rank| idle[rank] = false);
        }
    }
    let steps = Steps::of(plan);
    let computes = |rank| match steps.as_ref().and_then(|steps| steps.computes(rank)) {
        Some(computes) => computes,
        None => !plan.schedule(rank).tasks.is_empty(),
    };
    idle.iter().enumerate().map(|(rank, &idle)| idle && !computes(rank)).collect()
}

/// The maximum and mean over all ranks of the bytes received in a run of every step, for each value.
pub fn over_ranks(plan: &Plan) -> Option<Vec<(u64, f64)>> {
    let mean = |sum: u128| sum as f64 / plan.ranks() as f64;
    if !slice_groups::has_groups(plan) {
        let Steps(steps) = Steps::of(plan)?;
        let mut all = vec![(0, 0.0); plan.values.len()];
        let mut known: HashMap<u128, (u64, f64)> = HashMap::new();
        for batches in steps.chunk_by(|step, next| step.id() == next.id()) {
            let id = batches[0].id();
            let Value { source, lasts, .. } = &plan.values[id];
            let inputs = source.inputs().into_iter().map(|input| (&plan.values[input], Source::Operand(0)));
            let step = up_to_names(inputs.chain([(&plan.values[id], source.clone().with_inputs(|_| 0))]));
            if let Some(&same) = known.get(&step).filter(|_| batches.len() == 1) {
                all[id] = same;
                continue;
            }
            let element = plan.dtype.size() as u64;
            let times = if *lasts == ReuseScope::Slice { plan.slice_count() as u64 } else { 1 };
            let (most, sum) = if let [Step::Redistribution { tensors, movement, .. }] = batches {
                movement.most_and_all_words(&tensors[0], &tensors[1])
            } else {
                let mut words = vec![0; plan.ranks()];
                batches.iter().try_for_each(|step| step.add_words(&mut words))?;
                (words.iter().copied().max().unwrap_or(0), words.into_iter().map(u128::from).sum())
            };
            let bytes = u128::from(element) * u128::from(times);
            all[id] = ((most * element).saturating_mul(times), mean(sum.saturating_mul(bytes)));
            if batches.len() == 1 {
                known.insert(step, all[id]);
            }
        }
        return Some(all);
    }
    let mut all = vec![(0, 0u128); plan.values.len()];
    each_rank(plan, |_, bytes| {
        for ((max, sum), &bytes) in all.iter_mut().zip(bytes) {
            (*max, *sum) = (bytes.max(*max), *sum + u128::from(bytes));
        }
    })?;
    Some(all.into_iter().map(|(max, sum)| (max, mean(sum))).collect())
}

impl Plan {
    /// Whether the plan is cheaper than `other` by its objective.
    pub(super) fn beats(&self, other: &Plan) -> bool {
        let price = |plan: &Plan| Price { seconds: plan.seconds(), bytes: plan.most_bytes() };
        self.objective.compare(price(self), price(other)).is_lt()
    }

    /// The bytes that the busiest rank receives; 0 unless they are minimised.
    pub(super) fn most_bytes(&self) -> f64 {
        if self.objective == Objective::Time {
            return 0.0;
        }
        let mut most = 0;
        let mut see = |bytes: &[u64]| most = bytes.iter().sum::<u64>().max(most);
        if self.count_received(|_, bytes| see(bytes)).is_none() {
            self.sampled_ranks().into_iter().for_each(|rank| see(&self.bytes_received(rank)));
        }
        most as f64
    }
}

/// See [`Plan::count_received`].
pub fn each_rank(plan: &Plan, mut see: impl FnMut(usize, &[u64])) -> Option<()> {
    let element = plan.dtype.size() as u64;
    let between = Between::of(plan);
    let of_group = slice_groups::has_groups(plan).then(|| slice_groups::of_group(plan));
    let (inner, offset) = of_group.as_ref().map_or((plan, 0), |group| (group, plan.operands));
    let steps = Steps::of(inner)?;
    let spreads = between.spreads.iter().map(|(spread, operands)| Some((Steps::of(spread)?, operands.as_slice())));
    let spreads: Vec<(Steps, &[usize])> = spreads.collect::<Option<_>>()?;
    let combination = match &between.combination {
        Some(combination) => Some(Steps::of(combination)?),
        None => None,
    };
    // The words of one group's ranks are those of all groups.
    let words = (0..inner.ranks()).map(|rank| steps.words(rank, inner.values.len()));
    let words: Option<Vec<Vec<u64>>> = if of_group.is_some() { words.collect() } else { Some(Vec::new()) };
    let words = words?;
    for rank in 0..plan.ranks() {
        let mut bytes = vec![0; plan.values.len()];
        let own;
        let of_slices: &[u64] = if of_group.is_some() {
            plan.slice_group_of(rank).map_or(&[], |group| &words[rank - group * inner.ranks()])
        } else {
            own = steps.words(rank, inner.values.len())?;
            &own
        };
        let slices = plan.slices_of_rank(rank).len() as u64;
        for ((bytes, words), value) in bytes[offset..].iter_mut().zip(of_slices).zip(&plan.values[offset..]) {
            *bytes = (words * element).saturating_mul(if value.lasts == ReuseScope::Slice { slices } else { 1 });
        }
        for (spread, operands) in &spreads {
            let words: u64 = spread.words(rank, 2)?.iter().sum();
            operands.iter().for_each(|&operand| bytes[plan.copy_of(operand)] = words * element);
        }
        if let (Some(combination), Some(last)) = (&combination, bytes.last_mut()) {
            *last = combination.words(rank, 2)?.iter().sum::<u64>() * element;
        }
        see(rank, &bytes);
    }
    Some(())
}
