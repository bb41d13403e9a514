//! Proves plans for thousands of ranks by checking one rank of each symmetry class ([`super::classes`],
//! `docs/decisions.md`).
//!
//! Each step is proved as a plan with its inputs as operands. The plan is correct if every step's result matches its
//! specification whenever the inputs do.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::classes::classes;
use super::slice_groups::{self, Between};
use super::structure::{Plan, Source, Value};
use super::up_to_names::up_to_names;
use super::{packing, spec};
use crate::schedule::verify::{self, Fault, VerifyError};
use crate::schedule::{ReuseScope, Schedule};

/// Maximum number of ranks for which every rank is proved.
pub const MAX_FULL_PROOF_RANKS: usize = 256;

/// The size of a proof by classes (ranks of one step whose blocks have equal extents).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Classes {
    /// Different steps, which were proved separately.
    pub steps: usize,
    /// Classes, summed over the steps.
    pub classes: usize,
    /// Maximum schedules that were built for one step.
    pub followed: usize,
}

impl Classes {
    /// Adds two proofs; `followed` is the larger.
    #[must_use]
    pub fn and(self, other: Classes) -> Classes {
        Classes {
            steps: self.steps + other.steps,
            classes: self.classes + other.classes,
            followed: self.followed.max(other.followed),
        }
    }
}

/// A step as a plan of its own.
pub struct Step(pub Plan);

impl Step {
    /// One rank of each class, ascending.
    pub fn representatives(&self) -> Vec<usize> {
        classes(&self.0).representatives()
    }

    /// Proves representative `rank`, the one with this number. Returns the number of ranks whose schedules were built.
    ///
    /// # Errors
    /// Same as for [`Plan::verify`].
    pub fn verify_representative(&self, number: usize, rank: usize) -> Result<usize, VerifyError> {
        let Step(plan) = self;
        let alone = verify::with_peers(&|rank| plan.described(rank), &spec::of_ranks(plan, &[rank]), rank, number);
        match alone {
            Some(proved) => proved,
            None => verify::follow(&|rank| plan.schedule(rank), &plan.spec(), &[rank]),
        }
    }
}

pub fn whole(plan: &Plan) -> Result<(), VerifyError> {
    if slice_groups::has_groups(plan) {
        slices_are_complete(plan)?;
        fits(plan)?;
        return parts(plan).iter().try_for_each(whole);
    }
    let schedules: Vec<Schedule> = (0..plan.ranks()).map(|rank| plan.schedule(rank)).collect();
    verify::whole(&schedules, &plan.spec(), plan.memory_limit)
}

/// The plans of which a plan with groups is composed, with the slices of one group.
fn parts(plan: &Plan) -> Vec<Plan> {
    let Between { spreads, combination } = Between::of(plan);
    let spreads = spreads.into_iter().map(|(spread, _)| spread);
    spreads.chain([slice_groups::of_group(plan)]).chain(combination).collect()
}

/// Proves that each slice is in exactly one group, each group has a slice, and the values are operands, copies with the
/// same distributions, which the first group does not need, steps of a group, and the result.
fn slices_are_complete(plan: &Plan) -> Result<(), VerifyError> {
    let (first, last) = (plan.operands, plan.values.len() - 1);
    let mut copied = vec![0; first];
    for (value, Value { source, distribution, labels, .. }) in plan.values.iter().enumerate() {
        let inputs = source.inputs();
        let fits = match source {
            Source::Operand(index) => value < first && plan.leaves.get(*index) == Some(&value),
            Source::Redistribute { input } if value == last => *input + 1 == last,
            Source::Redistribute { input } if *input < first => {
                copied[*input] += 1;
                value >= first && plan.values[*input].distribution == *distribution
            }
            _ => value != last && inputs.iter().all(|input| (first..value).contains(input)),
        };
        let renames = matches!(source, Source::Redistribute { input } if plan.values[*input].labels != *labels);
        if !fits || renames {
            return Err(VerifyError { rank: 0, task: None, fault: Fault::Groups { value } });
        }
    }
    if let Some(value) = copied.iter().position(|&copies| copies != 1) {
        return Err(VerifyError { rank: 0, task: None, fault: Fault::Groups { value } });
    }
    let mut next = 0;
    for group in 0..plan.slice_groups {
        let slices = plan.slices_of_group(group);
        if slices.start != next || slices.is_empty() {
            let rank = group * plan.ranks_per_group();
            return Err(VerifyError { rank, task: None, fault: Fault::Slices { group } });
        }
        next = slices.end;
    }
    let all = plan.slice_count();
    let fault = Fault::Slices { group: plan.slice_groups - 1 };
    if next == all { Ok(()) } else { Err(VerifyError { rank: plan.ranks() - 1, task: None, fault }) }
}

fn fits(plan: &Plan) -> Result<(), VerifyError> {
    let Some(budget) = plan.memory_limit else { return Ok(()) };
    let (peak, rank) = packing::busiest(plan);
    let fault = Fault::Memory { peak, budget };
    if peak <= budget { Ok(()) } else { Err(VerifyError { rank, task: None, fault }) }
}

pub fn by_classes(plan: &Plan) -> Result<Classes, VerifyError> {
    whole_schedules(plan, &plan.sampled_schedules())?;
    let mut proved = Classes::default();
    for step in each_step(plan) {
        let chosen = step.representatives();
        let built = chosen.iter().enumerate().map(|(number, &rank)| step.verify_representative(number, rank));
        let followed = built.sum::<Result<usize, VerifyError>>()?;
        proved = proved.and(Classes { steps: 1, classes: chosen.len(), followed });
    }
    Ok(proved)
}

pub fn whole_schedules(plan: &Plan, sampled: &[Schedule]) -> Result<(), VerifyError> {
    if slice_groups::has_groups(plan) {
        slices_are_complete(plan)?;
        fits(plan)?;
        return parts(plan).iter().try_for_each(|part| whole_schedules(part, &part.sampled_schedules()));
    }
    let spec = spec::without_order(plan);
    sampled.iter().try_for_each(|schedule| {
        let (rank, peak) = (schedule.rank, schedule.peak_bytes());
        verify::check_own(schedule, &spec)?;
        match plan.memory_limit.filter(|&budget| peak > budget) {
            Some(budget) => Err(VerifyError { rank, task: None, fault: Fault::Memory { peak, budget } }),
            None => Ok(()),
        }
    })
}

pub fn each_step(plan: &Plan) -> Vec<Step> {
    if slice_groups::has_groups(plan) {
        return parts(plan).iter().flat_map(each_step).collect();
    }
    if plan.pipeline.is_some() {
        return vec![Step(plan.clone())];
    }
    let made = |id: usize| !matches!(plan.values[id].source, Source::Operand(_));
    let mut units: Vec<Vec<usize>> = Vec::new();
    // For each value, the index in `units` of the unit (values that are proved as one step) that ends with the value.
    let mut ends: Vec<Option<usize>> = vec![None; plan.values.len()];
    for (id, value) in plan.values.iter().enumerate().filter(|(id, _)| made(*id)) {
        let joins = match value.source {
            Source::Redistribute { input } if plan.values[input].distribution.summands() > 1 => Some(input),
            _ => None,
        };
        let unit = joins.and_then(|input| ends[input].take()).unwrap_or(units.len());
        ends[id] = Some(unit);
        match units.get_mut(unit) {
            Some(unit) => unit.push(id),
            None => units.push(vec![id]),
        }
    }
    let mut known = HashSet::new();
    let steps = units.iter().map(|unit| unit_plan(plan, unit));
    let values = |step: &Plan| up_to_names(step.values.iter().map(|value| (value, value.source.clone())));
    steps.filter(|step| known.insert((step.accumulate, values(step)))).map(Step).collect()
}

/// A plan for one slice, without names and extents. How long values last is checked in whole schedules. Cost: O(values
/// in `unit`).
fn unit_plan(plan: &Plan, unit: &[usize]) -> Plan {
    let mut values: Vec<Value> = Vec::new();
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for &id in unit {
        for input in plan.values[id].source.inputs() {
            if !unit.contains(&input) && !places.contains_key(&input) {
                places.insert(input, values.len());
                let source = Source::Operand(values.len());
                values.push(Value { source, lasts: ReuseScope::Slice, ..plan.values[input].clone() });
            }
        }
    }
    let operands = values.len();
    for &id in unit {
        places.insert(id, values.len());
        let source = plan.values[id].source.clone().with_inputs(|input| places[&input]);
        values.push(Value { source, lasts: ReuseScope::Slice, ..plan.values[id].clone() });
    }
    let last = unit.last() == Some(&(plan.values.len() - 1));
    Plan {
        pipeline: plan.pipeline.clone(),
        ungrouped: plan.ungrouped,
        accumulate: plan.accumulate && last,
        kernel: plan.kernel,
        target: plan.target,
        ..Plan::of_values(values, operands, plan.dtype, plan.machine.clone())
    }
}
