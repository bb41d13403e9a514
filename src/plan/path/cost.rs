//! The costs of contraction orders.
//!
//! They are log2, because networks of a thousand tensors can have more operations than a float represents.

use std::collections::HashMap;

use einsum_path::log2_sum;

use crate::dims::{Label, distinct};
use crate::tree::{Network, Order};

/// log2 of the multiply-adds. A contraction costs the product of all its extents, after each operand has been summed
/// over labels of its own.
pub fn log2_products(network: &Network, order: &Order) -> f64 {
    let mut terms = Vec::with_capacity(order.len());
    each_contraction(network, order, |_, all, _| terms.push(log2_size(all, network.extents)));
    log2_sum(&terms)
}

/// log2 of the elements read and written, except operands.
pub fn log2_elements(network: &Network, order: &Order) -> f64 {
    let mut terms = Vec::with_capacity(order.len());
    // An intermediate is written once and read once.
    each_contraction(network, order, |_, _, result| terms.push(1.0 + log2_size(result, network.extents)));
    log2_sum(&terms)
}

/// log2 of the maximum live elements of intermediates in one slice, without the final result.
pub fn log2_peak(network: &Network, order: &Order, sliced: &[Label]) -> f64 {
    let size = |labels: &[Label]| {
        let whole = labels.iter().filter(|label| !sliced.contains(label));
        whole.map(|label| network.extents[label.0 as usize] as f64).product::<f64>()
    };
    let (mut live, mut peak) = (0.0f64, 0.0f64);
    // The sizes of all counted tensors that are live.
    let mut sizes = vec![0.0; network.tensors.len() + order.len()];
    each_contraction(network, order, |group, _, result| {
        let size = if group + 1 == order.len() { 0.0 } else { size(result) };
        live += size;
        peak = peak.max(live);
        live -= order[group].iter().map(|&member| std::mem::take(&mut sizes[member])).sum::<f64>();
        sizes[network.tensors.len() + group] = size;
    });
    peak.log2()
}

fn each_contraction(network: &Network, order: &Order, mut visit: impl FnMut(usize, &[Label], &[Label])) {
    let mut tensors: Vec<Vec<Label>> = network.tensors.iter().map(|labels| distinct(labels)).collect();
    let mut needed: HashMap<Label, usize> = HashMap::new();
    for &label in tensors.iter().flatten().chain(network.output) {
        *needed.entry(label).or_default() += 1;
    }
    for (number, group) in order.iter().enumerate() {
        let mut result: Option<Vec<Label>> = None;
        for &member in group {
            let right = std::mem::take(&mut tensors[member]);
            right.iter().filter_map(|label| needed.get_mut(label).map(|count| *count -= 1)).count();
            let is_needed = |label: &Label| needed.get(label).is_some_and(|&count| count > 0);
            result = Some(match result {
                None => right,
                Some(left) => {
                    let mut all: Vec<Label> =
                        left.iter().filter(|l| is_needed(l) || right.contains(l)).copied().collect();
                    all.extend(right.iter().filter(|l| !left.contains(l) && is_needed(l)));
                    let kept = all.iter().copied().filter(is_needed).collect::<Vec<Label>>();
                    visit(number, &all, &kept);
                    kept
                }
            });
        }
        let result = result.unwrap_or_default();
        result.iter().for_each(|&label| *needed.entry(label).or_default() += 1);
        tensors.push(result);
    }
}

pub fn log2_size(labels: &[Label], extents: &[usize]) -> f64 {
    labels.iter().map(|label| (extents[label.0 as usize] as f64).log2()).sum()
}
