//! Chooses the groups of [`slice_groups`], as `docs/trees.md` describes. Of plans with some sizes of groups and
//! without, the quickest wins.

use super::context::PlanningContext;
use super::error::PlanError;
use super::options::PlanOptions;
use super::packing::busiest;
use super::slice_groups::{self, composed, cut_over_groups, machine_of_group};
use super::structure::{Plan, ResultResidency, Source, Value};
use crate::algorithm::{Cost, Objective, broadcast_rounds};
use crate::distribution::Distribution;

const MAX_TOGETHER: usize = 256;

/// Larger trees take long to plan for several ranks.
const MAX_COMPARED_CONTRACTIONS: usize = 24;

/// Groups of one rank are chosen without comparison if they reach this fraction of a perfect speed-up over one rank
/// without the operations that slices add.
const SUFFICIENT_EFFICIENCY: f64 = 0.7;

/// They are also chosen for large trees if all runs take at most this long above [`MAX_TOGETHER`] ranks, or else if
/// other plans cannot save this long per contraction, which planning takes on 2 to 16 ranks.
const MAX_UNCOMPARED_SECONDS: f64 = 10.0;
const COMPARISON_SECONDS: f64 = 0.02;

const MAX_SIZES: usize = 6;

/// Sizes in a row slower than the best that end the search.
const MAX_SLOWER: usize = 2;

/// Plans for one size, with less and less memory for slices.
const MAX_TRIES: usize = 4;

/// Every rank receives a message from each group.
const MAX_DIVIDED: usize = 64;

/// The groups that are tried first.
pub enum First {
    None,
    /// A plan to compare with others.
    Possible(Box<Plan>),
    /// The groups are prescribed, or no other plan can be much quicker.
    Chosen(Box<Plan>),
}

/// The prescribed groups, or else groups of one rank for a tree that does not fit on one. `plan` plans one group.
///
/// # Errors
/// If no plan with the prescribed number of groups fits into the memory limit.
pub fn first(
    context: &PlanningContext,
    plan: impl Fn(&PlanningContext) -> Result<Plan, PlanError>,
) -> Result<First, PlanError> {
    let PlanningContext { tree, machine, options, .. } = *context;
    let prescribed = prescribed(context);
    if prescribed == Some(1) || !options_allow_groups(context) {
        return Ok(First::None);
    }
    let search = Search { context, plan };
    if let Some(groups) = prescribed {
        return Ok(search.for_groups(groups)?.map_or(First::None, |plan| First::Chosen(Box::new(plan))));
    }
    let contractions = tree.contractions();
    if contractions <= MAX_COMPARED_CONTRACTIONS {
        return Ok(First::None);
    }
    let Ok(Some(plan)) = search.for_groups(machine.ranks) else { return Ok(First::None) };
    let whole = tree.all_products() * options.dtype.flops_per_multiply_add() as f64 / 1e9;
    let one_rank = slice_groups::of_group(&plan);
    let slices: f64 = one_rank.values.iter().map(|value| value.seconds * one_rank.times(value) as f64).sum();
    let ideal = slices * (whole / one_rank.total_gflop()).min(1.0) / machine.ranks as f64;
    let plan = Box::new(plan);
    let (seconds, runs) = (plan.seconds(), options.runs as f64);
    let suffices = seconds * SUFFICIENT_EFFICIENCY <= ideal;
    let is_short = if machine.ranks > MAX_TOGETHER {
        seconds * runs <= MAX_UNCOMPARED_SECONDS
    } else {
        (seconds - ideal) * runs <= COMPARISON_SECONDS * contractions as f64
    };
    let decides = options.objective == Objective::Time && (suffices || is_short);
    Ok(if decides { First::Chosen(plan) } else { First::Possible(plan) })
}

/// The quickest plan with groups, or `together`, the plan without. `plan` plans one group.
///
/// # Errors
/// If the options prescribe a number of groups that no plan within the memory limit has.
pub fn in_groups(
    context: &PlanningContext,
    together: Plan,
    plan: impl Fn(&PlanningContext) -> Result<Plan, PlanError>,
) -> Result<Plan, PlanError> {
    let prescribed = prescribed(context);
    let is_sliced = together.slice_count() > 1 && together.result == ResultResidency::Whole;
    let allowed = is_sliced && together.operands_in_parts.is_empty() && options_allow_groups(context);
    if prescribed == Some(1) || !allowed {
        return Ok(together);
    }
    let search = Search { context, plan };
    if let Some(groups) = prescribed {
        return Ok(search.for_groups(groups)?.unwrap_or(together));
    }
    let ungrouped = Some(together.seconds());
    let better = search.best(together.slice_count(), Some(&together));
    Ok(better.map_or(together, |plan| Plan { ungrouped, ..plan }))
}

fn prescribed(context: &PlanningContext) -> Option<usize> {
    context.options.slice_groups.map(|groups| groups.clamp(1, context.machine.ranks))
}

pub fn skips_together(context: &PlanningContext) -> bool {
    let PlanningContext { machine, options, .. } = *context;
    machine.ranks > MAX_TOGETHER && options.slice_groups != Some(1) && options_allow_groups(context)
}

/// Above [`MAX_TOGETHER`] ranks, the quickest plan with groups.
pub fn only_in_groups(
    context: &PlanningContext,
    plan: impl Fn(&PlanningContext) -> Result<Plan, PlanError>,
) -> Option<Plan> {
    if !skips_together(context) {
        return None;
    }
    let search = Search { context, plan };
    match prescribed(context) {
        Some(groups) => search.for_groups(groups).ok().flatten(),
        None => search.best(context.machine.ranks, None),
    }
}

fn options_allow_groups(context: &PlanningContext) -> bool {
    let PlanOptions { fixed, forbid_redistribution, slice_groups, .. } = context.options;
    let is_free = fixed.is_empty() && !forbid_redistribution;
    let allowed = if slice_groups.is_some() { is_free } else { may_group(context.options) };
    context.machine.ranks > 1 && allowed
}

pub fn may_group(options: &PlanOptions) -> bool {
    let PlanOptions { fixed, forbid_redistribution, cut, algorithm, slice_groups, .. } = options;
    // A prescribed algorithm or cut is for all ranks.
    let is_free = cut.is_empty() && algorithm.is_none();
    fixed.is_empty() && !forbid_redistribution && is_free && *slice_groups != Some(1)
}

fn sizes(ranks: usize, slices: usize) -> Vec<usize> {
    let powers = [1, 2].into_iter().chain((1..).map(|power| 4usize.saturating_pow(power)));
    let mut sizes: Vec<usize> = powers.take_while(|&size| size <= ranks / 2).take(MAX_SIZES - 1).collect();
    sizes.push((ranks / slices.min(ranks)).max(1));
    sizes.retain(|&size| size <= ranks / 2);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

struct Search<'a, P> {
    context: &'a PlanningContext<'a>,
    plan: P,
}

impl<P: Fn(&PlanningContext) -> Result<Plan, PlanError>> Search<'_, P> {
    fn best(&self, slices: usize, together: Option<&Plan>) -> Option<Plan> {
        let ranks = self.context.machine.ranks;
        let (mut best, mut slower) = (None::<Plan>, 0);
        for size in sizes(ranks, slices) {
            match self.for_groups(ranks / size) {
                Ok(Some(plan)) if best.as_ref().or(together).is_none_or(|other| plan.beats(other)) => {
                    (best, slower) = (Some(plan), 0);
                }
                _ => slower += usize::from(best.is_some() || together.is_some()),
            }
            if slower == MAX_SLOWER {
                break;
            }
        }
        best
    }

    /// `None` if one group needs no slices, or too few for all.
    fn for_groups(&self, groups: usize) -> Result<Option<Plan>, PlanError> {
        let PlanningContext { expression, tree, machine, options, .. } = *self.context;
        // Without a limit, there are only the prescribed slices.
        if options.memory_limit.is_none() && self.context.slices.is_empty() {
            return Ok(None);
        }
        let size = machine.ranks / groups;
        let machine = machine_of_group(machine, size);
        let limit = options.memory_limit.unwrap_or(u64::MAX);
        let mut available = limit;
        let mut needed = limit;
        for _ in 0..MAX_TRIES {
            let of_group = PlanOptions {
                memory_limit: Some(available),
                slice_groups: Some(1),
                in_parts: false,
                operands_in_parts: false,
                accumulate: false,
                ..options.clone()
            };
            let mut context = PlanningContext::new(expression, tree, &machine, &of_group)?;
            context.least_slices = groups;
            let group = match (self.plan)(&context) {
                Err(PlanError::Memory { .. } | PlanError::TooManySlices { .. }) if needed > limit => break,
                group => group?,
            };
            let is_plain = group.pipeline.is_none() && group.branches.is_empty();
            let used = groups.min(group.slice_count());
            if group.slice_count() == 1 || !is_plain || self.context.machine.ranks / used != size {
                return Ok(None);
            }
            let plan = self.composed(&group, used);
            needed = busiest(&plan).0;
            if needed <= limit {
                return Ok(Some(plan));
            }
            // A group that uses less than is available would be the same again.
            available = busiest(&group).0.min(available).saturating_sub(needed - limit);
        }
        let place = format!("in {groups} groups of ranks, each with copies of the operands");
        Err(PlanError::Memory { rank: 0, needed, limit, place })
    }

    fn composed(&self, group: &Plan, groups: usize) -> Plan {
        let PlanningContext { machine, options, .. } = *self.context;
        let extents: Vec<usize> = group.whole_extents().collect();
        let cost = Cost { machine, dtype: options.dtype, extents: &extents };
        let (result, combining) = combination(&cost, group, groups, options.objective);
        let mut plan = composed(group, machine, groups, result, options.accumulate);
        plan.memory_limit = options.memory_limit;
        let whole: Vec<Vec<usize>> = plan.values.iter().map(|value| plan.whole_shape(value)).collect();
        let last = plan.values.len() - 1;
        for (id, value) in plan.values.iter_mut().enumerate() {
            if matches!(value.source, Source::Redistribute { input } if input < group.operands) {
                value.seconds = spreading(&cost, value, &whole[id], groups);
            }
            if id == last {
                value.seconds = combining;
            }
        }
        plan
    }
}

fn spreading(cost: &Cost, value: &Value, shape: &[usize], groups: usize) -> f64 {
    let elements: usize = value.distribution.largest_block(shape).iter().product();
    let (rounds, pieces) = broadcast_rounds(elements, groups);
    rounds as f64 * cost.transfer(elements as f64 / pieces as f64)
}

fn combination(cost: &Cost, group: &Plan, groups: usize, objective: Objective) -> (Distribution, f64) {
    let value = group.output();
    let block = value.distribution.largest_block(&group.whole_shape(value));
    let elements = block.iter().product::<usize>() as f64;
    // An addition reads two blocks and writes one.
    let by_tree =
        f64::from(groups.next_power_of_two().ilog2()) * (cost.transfer(elements) + cost.stream(3.0 * elements));
    let longest = (0..block.len()).max_by_key(|&dim| (block[dim], std::cmp::Reverse(dim)));
    let divided = longest.filter(|&dim| block[dim] >= groups && groups <= MAX_DIVIDED).map(|dim| {
        let part = elements / block[dim] as f64 * block[dim].div_ceil(groups) as f64;
        let seconds = (groups - 1) as f64 * (cost.transfer(part) + cost.stream(3.0 * part));
        (cut_over_groups(&value.distribution, groups, group.ranks(), dim), seconds)
    });
    match divided {
        // Receives less than a tree.
        Some((distribution, seconds)) if objective == Objective::Bytes || seconds < by_tree => (distribution, seconds),
        _ => (value.distribution.clone(), by_tree),
    }
}
