//! The communication lower bound of a contraction: the words that the busiest rank must receive if work and tensors are
//! divided evenly.
//!
//! It is the larger of two bounds (COSMA, Theorem 2; Al Daas, Ballard, Grigori, Kumar and Rouse, 2022;
//! `docs/scaling.md`), and never negative.

use std::ops::Range;

use super::structure::{Plan, Source, Value};
use crate::algorithm::Residency;
use crate::dims::Label;

pub fn bytes(plan: &Plan, value: &Value) -> Option<f64> {
    let Source::Contract { kinds, algorithm, group, .. } = &value.source else { return None };
    if algorithm.kind().residency() != Residency::Distributed {
        return None;
    }
    let size = |kind: &[Label]| kind.iter().map(|l| plan.extents[l.0 as usize] as f64).product();
    let element = plan.dtype.size() as f64;
    let memory = plan.memory_limit.map(|limit| limit as f64 / element);
    let (c, m, n, k) = (size(&kinds.c), size(&kinds.m), size(&kinds.n), size(&kinds.k));
    let ranks = group.as_ref().map_or(plan.ranks_per_group(), Range::len);
    Some(words(c, m, n, k, ranks as f64, memory) * element)
}

/// `c`, `m`, `n` and `k` are the products of the extents of each kind ([`crate::dims`]); `memory` is in words per rank.
pub fn words(c: f64, m: f64, n: f64, k: f64, ranks: f64, memory: Option<f64>) -> f64 {
    if ranks <= c || c * m * n * k == 0.0 {
        return 0.0;
    }
    // Ranks per batch; batches are independent products.
    let p = ranks / c;
    let x = m * n * k / p;
    let resident = (m * k + k * n + m * n) / p;
    let side = memory.map_or(f64::INFINITY, f64::sqrt).min(x.cbrt());
    let with_memory = 2.0 * x / side + side * side - resident;
    let mut sides = [m, n, k];
    sides.sort_by(|a, b| b.total_cmp(a));
    let [long, middle, short] = sides;
    let needed = if p <= long / middle {
        (long * middle + long * short) / p + middle * short
    } else if p <= long * middle / (short * short) {
        2.0 * (long * middle * short * short / p).sqrt() + long * middle / p
    } else {
        3.0 * x.powf(2.0 / 3.0)
    };
    with_memory.max(needed - resident).max(0.0)
}

#[cfg(test)]
mod tests;
