//! The specification of schedules, from a plan's values only.

use std::collections::BTreeMap;

use super::slice_groups;
use super::structure::{Plan, Source};
use crate::algorithm::Contraction;
use crate::distribution::{Intervals, Region};
use crate::schedule::verify::{Order, Origin, Spec, Summand, Value};

pub fn spec(plan: &Plan) -> Spec {
    of_ranks(plan, &(0..plan.ranks()).collect::<Vec<_>>())
}

/// The results of `ranks`, ascending.
pub fn of_ranks(plan: &Plan, ranks: &[usize]) -> Spec {
    if slice_groups::has_groups(plan) {
        return over_groups(plan);
    }
    let Spec { mut values, output, accumulate } = without_order(plan);
    for (id, value) in values.iter_mut().enumerate() {
        value.order = order(plan, id, ranks);
    }
    Spec { values, output, accumulate }
}

/// Like [`spec`], without the order of sums, which takes all ranks to compute.
pub fn without_order(plan: &Plan) -> Spec {
    if slice_groups::has_groups(plan) {
        return over_groups(plan);
    }
    let conjugated = plan.conjugated();
    let values = plan.values.iter().enumerate().map(|(id, value)| Value {
        labels: value.labels.clone(),
        shape: value.shape.clone(),
        distribution: value.distribution.clone(),
        origin: match value.source {
            Source::Operand(index) => Origin::Operand(index),
            Source::Contract { left, right, .. } => Origin::Contract { left, right },
            Source::Unary { input, .. } => Origin::Unary { input },
            Source::Redistribute { input } => Origin::Same { input },
        },
        order: Order::Ascending,
        conjugated: conjugated.binary_search(&id).is_ok(),
    });
    Spec { values: values.collect(), output: plan.values.len() - 1, accumulate: plan.accumulate }
}

/// The slices of a plan with groups, before they are combined, with the nodes of the whole plan and without the order
/// of sums, which [`Plan::verify`] proves for one group.
fn over_groups(plan: &Plan) -> Spec {
    let first = plan.operands;
    let Spec { values, output, accumulate } = without_order(&slice_groups::of_group(plan));
    let user = plan.values[..first].iter().enumerate().map(|(operand, value)| Value {
        labels: value.labels.clone(),
        shape: value.shape.clone(),
        distribution: value.distribution.clone(),
        origin: Origin::Operand(operand),
        order: Order::Ascending,
        conjugated: plan.conjugate.contains(&operand),
    });
    let shifted = values.into_iter().map(|value| {
        let distribution = slice_groups::replicated(plan, &value.distribution);
        let origin = match value.origin {
            Origin::Operand(operand) => Origin::Operand(operand),
            Origin::Contract { left, right } => Origin::Contract { left: left + first, right: right + first },
            Origin::Unary { input } => Origin::Unary { input: input + first },
            Origin::Same { input } => Origin::Same { input: input + first },
        };
        Value { distribution, origin, ..value }
    });
    Spec { values: user.chain(shifted).collect(), output: output + first, accumulate }
}

/// The order in which value `id` adds summands, in a pipeline batch by batch.
fn order(plan: &Plan, id: usize, ranks: &[usize]) -> Order {
    let Source::Contract { left, right, algorithm, group, .. } = &plan.values[id].source else {
        return Order::Ascending;
    };
    let group = group.clone().unwrap_or(0..plan.ranks());
    let members: Vec<usize> =
        ranks.iter().filter(|&rank| group.contains(rank)).map(|rank| rank - group.start).collect();
    let mut listed: BTreeMap<usize, Vec<Summand>> = BTreeMap::new();
    for piece in 0..plan.pieces_of(id) {
        let [left, right, out] = [*left, *right, id].map(|id| plan.tensor(id, piece).relative_to(group.start));
        let window = plan.pieces(id, piece);
        let of_piece = match algorithm.order(&Contraction { left, right, out, onto: false }, &members, group.len()) {
            Order::Listed(of_piece) => of_piece,
            same_for_all => return same_for_all,
        };
        for (member, summands) in of_piece {
            let mut summands = summands.into_list();
            if let Some((dim, range)) = &window {
                summands.iter_mut().for_each(|summand| summand.of = later(&summand.of, *dim, range.start));
            }
            listed.entry(group.start + member).or_default().append(&mut summands);
        }
    }
    Order::Listed(listed.into_iter().map(|(rank, summands)| (rank, summands.into())).collect())
}

fn later(region: &Region, dim: usize, by: usize) -> Region {
    let mut dims = region.dims().to_vec();
    dims[dim] = Intervals::ascending(dims[dim].ranges().iter().map(|range| range.start + by..range.end + by));
    Region::from(dims)
}
