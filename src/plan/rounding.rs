//! Bounds the additions of any term of a result element, with every kernel.

use super::slice_groups;
use super::structure::{Plan, Source, Value};
use crate::dims::{Kinds, Label};
use crate::local_plan::{SumKind, longest_chain, longest_visits};

/// Threads divide only sums of more than this many terms.
const MIN_SHARED_PRODUCTS: u64 = 32;

pub(super) fn roundings(plan: &Plan) -> u64 {
    if slice_groups::has_groups(plan) {
        // Groups add slices onto zeros, and are summands of the combination.
        let combined = (plan.slice_groups - 1) as u64;
        let of_group = roundings(&slice_groups::of_group(plan));
        return of_group.saturating_add(combined).saturating_add(plan.accumulate.into());
    }
    let steps = plan.values.iter().map(|value| step(plan, value));
    let summed = plan.slices.iter().filter(|slice| !plan.output().labels.contains(&slice.label));
    let slices: u64 = summed.map(|slice| (slice.extent / slice.piece) as u64).product();
    let slice_additions = (slices - 1).saturating_mul(visits(plan, plan.output()));
    let partial_sum_additions = partial_sum_additions(plan, slices);
    steps
        .fold(slice_additions.saturating_add(plan.accumulate.into()), u64::saturating_add)
        .saturating_add(partial_sum_additions)
}

fn step(plan: &Plan, value: &Value) -> u64 {
    let Some((terms, of)) = sum(plan, value) else { return 0 };
    let threads = if terms > MIN_SHARED_PRODUCTS { plan.machine.workers.max(1) as u64 - 1 } else { 0 };
    longest_chain(terms, of).saturating_add(threads)
}

fn sum(plan: &Plan, value: &Value) -> Option<(u64, SumKind)> {
    let product = |labels: &mut dyn Iterator<Item = Label>| -> u64 {
        labels.map(|label| plan.extents[label.0 as usize] as u64).fold(1, u64::saturating_mul)
    };
    match &value.source {
        Source::Contract { kinds, .. } => Some((product(&mut kinds.k.iter().copied()), sum_of(kinds, product))),
        Source::Unary { input, .. } => {
            let labels = summed(plan, value, *input);
            (!labels.is_empty()).then(|| (product(&mut labels.into_iter()), SumKind::Number))
        }
        Source::Operand(_) | Source::Redistribute { .. } => None,
    }
}

fn visits(plan: &Plan, value: &Value) -> u64 {
    sum(plan, value).map_or(1, |(terms, of)| longest_visits(terms, of))
}

fn summed(plan: &Plan, value: &Value, input: usize) -> Vec<Label> {
    let mut summed = plan.values[input].labels.clone();
    summed.retain(|label| !value.labels.contains(label));
    summed.sort_unstable();
    summed.dedup();
    summed
}

/// Batches of matrix-vector products are not `SumKind::Loops`, because they may be computed as matrix products. Kernels
/// treat a dimension of kind c with stride 0 in an operand as m or n.
fn sum_of(kinds: &Kinds, product: impl Fn(&mut dyn Iterator<Item = Label>) -> u64) -> SumKind {
    let [c, m, n] = [&kinds.c, &kinds.m, &kinds.n].map(|labels| product(&mut labels.iter().copied()));
    match (c, m, n) {
        (1, 1, 1) => SumKind::Number,
        (1, 1, _) | (1, _, 1) => SumKind::Loops,
        _ if kinds.k.len() == 1 => SumKind::Products,
        _ => SumKind::Crossed,
    }
}

/// In each step, at most one addition per work task of one rank, and one per rank with a partial sum.
fn partial_sum_additions(plan: &Plan, slices: u64) -> u64 {
    if plan.ranks() < 2 {
        return 0;
    }
    let mut max_tasks = vec![0u64; plan.values.len()];
    for rank in 0..plan.ranks() {
        let mut rank_tasks = vec![0u64; plan.values.len()];
        let schedule = plan.schedule(rank);
        schedule.tasks.iter().filter(|task| task.action.work().is_some()).for_each(|task| rank_tasks[task.node] += 1);
        max_tasks
            .iter_mut()
            .zip(rank_tasks)
            .for_each(|(max_tasks, rank_tasks)| *max_tasks = (*max_tasks).max(rank_tasks));
    }
    let root = plan.values.len() - 1;
    let partial_sum_additions = plan.values.iter().zip(max_tasks).enumerate().map(|(id, (value, tasks))| {
        let times = if id == root { slices } else { 1 };
        let ranks = plan.ranks() as u64;
        let more = tasks.saturating_sub(1).saturating_add(ranks - 1);
        let each = visits(plan, value);
        if sum(plan, value).is_some() { times.saturating_mul(more).saturating_mul(each) } else { 0 }
    });
    partial_sum_additions.fold(0, u64::saturating_add)
}
