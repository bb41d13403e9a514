//! Groups of ranks that take disjoint sets of slices.
//!
//! All parts are ordinary plans (`docs/algorithms.md`): [`spread`], [`of_group`] (with ranks from 0) and
//! [`combination`].
//!
//! A whole plan lists the operands, distributed over the first group as the user provides them, then the values of the
//! slice plan, whose operands are redistributions of these, then the result, a redistribution over all ranks.
//!
//! Invariants: group g has the ranks from g p to (g + 1) p, where p is the ranks divided by the groups; later ranks are
//! idle. Groups take consecutive slices, in numbers that differ by at most 1, and add results onto zeros in a block of
//! the whole result. The combination adds in the order of the groups.

use std::ops::Range;

use super::reuse::operand_lasts;
use super::structure::{Plan, ResultResidency, Source, Value, leaves};
use crate::distribution::{Axis, Cut, Distribution, Owners, Role, tile_bounds};
use crate::machine::Machine;
use crate::schedule::{Action, ReuseScope, Schedule};

impl Plan {
    /// The ranks in each group.
    pub fn ranks_per_group(&self) -> usize {
        self.ranks() / self.slice_groups
    }

    /// The group of a rank; `None` for idle ranks after the last.
    pub fn slice_group_of(&self, rank: usize) -> Option<usize> {
        Some(rank / self.ranks_per_group().max(1)).filter(|&group| group < self.slice_groups)
    }

    /// The slices of a group.
    pub fn slices_of_group(&self, group: usize) -> Range<usize> {
        tile_bounds(self.slice_count(), self.slice_groups, group)
    }

    /// The slices of a rank.
    pub fn slices_of_rank(&self, rank: usize) -> Range<usize> {
        self.slice_group_of(rank).map_or(0..0, |group| self.slices_of_group(group))
    }

    /// For each operand, the plan that copies it to the other groups; `None` without groups.
    pub fn spreads(&self) -> Option<Vec<Plan>> {
        has_groups(self).then(|| (0..self.operands).map(|operand| spread(self, operand)).collect())
    }

    /// The plan that adds the partial sums of groups; `None` without groups.
    pub fn combination(&self) -> Option<Plan> {
        has_groups(self).then(|| combination(self))
    }

    /// Predicted seconds of [`Plan::spreads`] and [`Plan::combination`].
    pub fn seconds_between_groups(&self) -> f64 {
        if !has_groups(self) {
            return 0.0;
        }
        let copies = (0..self.operands).map(|operand| self.copy_of(operand));
        copies.chain([self.values.len() - 1]).map(|id| self.values[id].seconds).sum()
    }

    /// The value that is an operand's copy in every group, or the operand without groups.
    pub fn copy_of(&self, operand: usize) -> usize {
        let leaf = self.leaves[operand];
        let is_it = |value: &Value| matches!(value.source, Source::Redistribute { input } if input == leaf);
        self.values.iter().position(is_it).unwrap_or(leaf)
    }

    /// A value's distribution over all ranks: replicas in groups, and summands of the result.
    pub fn distribution_over_groups(&self, id: usize) -> Distribution {
        let Value { distribution, .. } = &self.values[id];
        let last = self.values.len() - 1;
        match self.slice_groups {
            2.. if id == last - 1 => over_groups(distribution, self, &Role::Partial),
            2.. if (self.operands..last).contains(&id) => replicated(self, distribution),
            _ => distribution.clone(),
        }
    }

    /// Bytes of a rank's blocks of operands and output outside the current slice, which schedules do not count, with
    /// groups also the block of the user's result. With `reads`, operands in parts have none.
    pub fn bytes_outside(&self, rank: usize, output: ResultResidency, reads: bool) -> u64 {
        let users = |plan: &Plan, rank: usize| {
            let outside = |value: &Value| {
                plan.block_bytes(value, rank, &plan.whole_shape(value)) - plan.block_bytes(value, rank, &value.shape)
            };
            plan.users(rank, output, reads).map(outside).fold(0, u64::saturating_add)
        };
        if self.slices.is_empty() {
            return 0;
        }
        if self.slice_groups == 1 {
            return users(self, rank);
        }
        let result = self.block_bytes(self.output(), rank, &self.output_shape());
        let group = self.slice_group_of(rank).map(|group| rank - group * self.ranks_per_group());
        result.saturating_add(group.map_or(0, |rank| users(&of_group(self), rank)))
    }
}

pub fn has_groups(plan: &Plan) -> bool {
    plan.slice_groups > 1
}

pub fn of_group(plan: &Plan) -> Plan {
    let (first, last) = (plan.operands, plan.values.len() - 1);
    let is_step = |value: &&Value| !matches!(value.source, Source::Redistribute { input } if input < first);
    let keeps = plan.values[first..last].iter().filter(is_step).any(|value| value.lasts == ReuseScope::Run);
    let values = plan.values[first..last].iter().map(|value| {
        let mut value = value.clone();
        value.source = match value.source {
            Source::Redistribute { input } if input < first => {
                value.lasts = operand_lasts(plan, &value, input, keeps);
                Source::Operand(input)
            }
            source => source.with_inputs(|input| input - first),
        };
        value
    });
    let values: Vec<Value> = values.collect();
    Plan {
        machine: machine_of_group(&plan.machine, plan.ranks_per_group()),
        slice_groups: 1,
        leaves: leaves(&values, plan.operands),
        values,
        // Other groups may compute elements that this one does not.
        accumulate: true,
        operands_in_parts: Vec::new(),
        ..plan.clone()
    }
}

pub fn machine_of_group(machine: &Machine, ranks: usize) -> Machine {
    Machine { speeds: Vec::new(), ..machine.part(0..ranks) }
}

pub fn spread(plan: &Plan, operand: usize) -> Plan {
    let (id, ranks) = (plan.copy_of(operand), plan.ranks_per_group());
    let others = with_axis(&plan.values[id].distribution, (plan.slice_groups - 1, ranks), &Role::Replicate, true);
    moved(plan, id, &plan.operand(operand).distribution, &others.moved(0, ranks))
}

/// The steps between groups, if any.
pub struct Between {
    /// Operands with equal shapes and distributions have one plan.
    pub spreads: Vec<(Plan, Vec<usize>)>,
    pub combination: Option<Plan>,
}

impl Between {
    pub fn of(plan: &Plan) -> Between {
        let mut spreads: Vec<(Plan, Vec<usize>)> = Vec::new();
        for (operand, spread) in plan.spreads().into_iter().flatten().enumerate() {
            match spreads.iter_mut().find(|(other, _)| other.values == spread.values) {
                Some((_, operands)) => operands.push(operand),
                None => spreads.push((spread, vec![operand])),
            }
        }
        Between { spreads, combination: plan.combination() }
    }

    /// Arenas that a rank keeps beside that of the slices.
    pub fn arena_bytes(&self, rank: usize) -> u64 {
        let bytes = |plan: &Plan| plan.schedule(rank).arena_bytes as u64;
        let spreads = self.spreads.iter().map(|(spread, operands)| bytes(spread) * operands.len() as u64);
        spreads.chain(self.combination.as_ref().map(bytes)).fold(0, u64::saturating_add)
    }
}

pub fn combination(plan: &Plan) -> Plan {
    let last = plan.values.len() - 1;
    let from = plan.distribution_over_groups(last - 1);
    Plan { accumulate: plan.accumulate, ..moved(plan, last, &from, &plan.values[last].distribution) }
}

fn moved(plan: &Plan, id: usize, from: &Distribution, to: &Distribution) -> Plan {
    let moved = Plan::redistribution(&plan.whole_shape(&plan.values[id]), plan.dtype, from, to, plan.ranks());
    Plan { machine: plan.machine.clone(), ..moved }
}

/// The plan for all ranks, from the slice plan of one group.
pub fn composed(group: &Plan, machine: &Machine, groups: usize, result: Distribution, accumulate: bool) -> Plan {
    let operands = group.operands;
    let whole = |value: &Value, source: Source, lasts: ReuseScope| Value {
        shape: group.whole_shape(value),
        source,
        lasts,
        seconds: 0.0,
        considered: Vec::new(),
        ..value.clone()
    };
    let mut values: Vec<Value> = Vec::with_capacity(operands + group.values.len() + 1);
    for (index, &leaf) in group.leaves.iter().enumerate() {
        let is_constant = group.constant.contains(&index);
        let lasts = if is_constant { ReuseScope::Program } else { ReuseScope::Slice };
        values.push(whole(&group.values[leaf], Source::Operand(index), lasts));
    }
    for value in &group.values {
        let mut value = value.clone();
        value.source = match value.source {
            Source::Operand(index) => {
                value.lasts = values[index].lasts.max(ReuseScope::Run);
                Source::Redistribute { input: index }
            }
            source => source.with_inputs(|input| input + operands),
        };
        values.push(value);
    }
    let out = whole(group.output(), Source::Redistribute { input: values.len() - 1 }, ReuseScope::Run);
    values.push(Value { distribution: result, ..out });
    Plan {
        machine: machine.clone(),
        slice_groups: groups,
        leaves: (0..operands).collect(),
        values,
        accumulate,
        operands_in_parts: Vec::new(),
        ..group.clone()
    }
}

pub fn replicated(plan: &Plan, distribution: &Distribution) -> Distribution {
    over_groups(distribution, plan, &Role::Replicate)
}

fn over_groups(distribution: &Distribution, plan: &Plan, role: &Role) -> Distribution {
    with_axis(distribution, (plan.slice_groups, plan.ranks_per_group()), role, true)
}

/// Cuts dimension `dim` of each block among the same ranks of all groups.
pub fn cut_over_groups(distribution: &Distribution, groups: usize, ranks_per_group: usize, dim: usize) -> Distribution {
    with_axis(distribution, (groups, ranks_per_group), &Role::Cut { dim, how: Cut::Even }, false)
}

/// Adds an axis along which ranks are `stride` apart.
fn with_axis(distribution: &Distribution, (groups, stride): (usize, usize), role: &Role, before: bool) -> Distribution {
    let (mut axes, at) = (distribution.axes().to_vec(), if before { 0 } else { distribution.axes().len() });
    axes.insert(at, Axis { ranks: groups, role: role.clone() });
    let extents: Vec<usize> = axes.iter().map(|axis| axis.ranks).collect();
    let strided = distribution.strides().map(|(first, mut strides)| {
        strides.insert(at, stride);
        Owners::strided(first, strides, &extents)
    });
    let owners = strided.filter(|owners| owners.fits(&extents));
    let plain = Distribution::new(axes);
    let rank = |place| {
        let mut coordinates = plain.coordinates(place)?;
        let group = coordinates.remove(at);
        Some(distribution.rank_at(&coordinates) + group * stride)
    };
    let owners = owners.unwrap_or_else(|| Owners::Listed((0..plain.places()).filter_map(rank).collect()));
    plain.owned_by(owners)
}

/// A slice plan's schedule with ranks and nodes of the whole plan. The group begins at rank `first` of `ranks`.
pub fn in_group(mut schedule: Schedule, (first, ranks): (usize, usize), operands: usize) -> Schedule {
    schedule.rank += first;
    schedule.ranks = ranks;
    schedule.buffers.iter_mut().for_each(|buffer| buffer.node += operands);
    for task in &mut schedule.tasks {
        task.node += operands;
        if let Action::Send { peer, .. } | Action::Recv { peer, .. } = &mut task.action {
            *peer += first;
        }
    }
    let user = std::iter::repeat_n(ReuseScope::Slice, operands);
    schedule.lasting = user.chain(schedule.lasting).collect();
    schedule.conjugated.iter_mut().for_each(|node| *node += operands);
    schedule
}
