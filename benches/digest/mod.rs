//! A few numbers of a distributed result, by which runs of the same contraction by other algorithms, on other ranks and in other
//! processes are compared.

use einsum_dist::distribution::Distribution;
use einsum_dist::{DistTensor, World};

/// A prime, so that no extent puts all of them into the same rows.
const SAMPLES: usize = 251;

/// In parts of the root mean square of all elements: far above what single precision rounds, far below what one product
/// that is missing makes.
const TOLERANCE: f64 = 1e-4;

/// The root mean square of all elements, then elements at even distances; empty where rank 0 does not live. Collective.
pub fn digest(world: &World, tensor: &DistTensor<f32>) -> Vec<f64> {
    let whole = tensor.redistribute(world, &Distribution::single()).expect("room on rank 0");
    let Some((_, values)) = whole.blocks().next() else { return Vec::new() };
    let values = values.as_slice().expect("blocks are dense");
    let squares: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    let mut digest = vec![(squares / values.len().max(1) as f64).sqrt()];
    digest.extend(values.iter().step_by(values.len().div_ceil(SAMPLES).max(1)).map(|&value| f64::from(value)));
    digest
}

/// Whether two results are the same except for rounding.
pub fn alike(one: &[f64], other: &[f64]) -> bool {
    // Turned around, this would take NaN for a number like any other.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * one[0];
    !one.is_empty() && one.len() == other.len() && one.iter().zip(other).all(near)
}
