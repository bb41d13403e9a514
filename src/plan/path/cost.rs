//! Computes the number of multiply-adds in a contraction order before any step is planned.
//!
//! Costs are logarithms to base 2, because a network of a thousand tensors can have more operations than a float can
//! represent.

use std::collections::HashMap;

use crate::dims::Label;
use crate::tree::{Network, Order};

/// log2 of the number of multiply-adds over all contractions in an order. A contraction costs the product of the
/// extents of all its labels, after each operand has been summed over labels that neither another tensor nor the output
/// needs.
pub fn log2_products(network: &Network, order: &Order) -> f64 {
    let mut tensors: Vec<Vec<Label>> = network.tensors.iter().map(|labels| distinct(labels)).collect();
    let mut needed: HashMap<Label, usize> = HashMap::new();
    for &label in tensors.iter().flatten().chain(network.output) {
        *needed.entry(label).or_default() += 1;
    }
    let mut terms = Vec::with_capacity(order.len());
    for group in order {
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
                    terms.push(log2_size(&all, network.extents));
                    all.retain(is_needed);
                    all
                }
            });
        }
        let result = result.unwrap_or_default();
        result.iter().for_each(|&label| *needed.entry(label).or_default() += 1);
        tensors.push(result);
    }
    log2_sum(&terms)
}

/// The distinct labels, in the order of their first occurrence.
pub fn distinct(labels: &[Label]) -> Vec<Label> {
    let mut distinct: Vec<Label> = Vec::with_capacity(labels.len());
    for &label in labels {
        if !distinct.contains(&label) {
            distinct.push(label);
        }
    }
    distinct
}

/// log2 of the product of the extents of `labels`.
pub fn log2_size(labels: &[Label], extents: &[usize]) -> f64 {
    labels.iter().map(|label| (extents[label.0 as usize] as f64).log2()).sum()
}

/// log2 of a sum of powers of 2; minus infinity for an empty sum.
pub fn log2_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    largest + terms.iter().map(|term| (term - largest).exp2()).sum::<f64>().log2()
}
