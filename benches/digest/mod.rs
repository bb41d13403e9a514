//! Computes digests of distributed results. A digest is a few numbers, which are compared between runs of the same
//! contraction with different algorithms, ranks and processes.

use einsum_dist::distribution::Distribution;
use einsum_dist::{DistTensor, World};

/// Number of sampled elements. This number is prime, so that no extent puts all samples into the same rows.
const SAMPLES: usize = 251;

/// Tolerance relative to the root mean square of all elements. It is far above single-precision rounding errors and far
/// below the error that one missing product causes.
const TOLERANCE: f64 = 1e-4;

/// Returns the root mean square of all elements, followed by sampled elements at equal distances. The digest is empty
/// on processes without rank 0. Collective.
pub fn digest(world: &World, tensor: &DistTensor<f32>) -> Vec<f64> {
    let whole = tensor.redistribute(world, &Distribution::single()).expect("room on rank 0");
    let Some((_, values)) = whole.blocks().next() else { return Vec::new() };
    let values = values.as_slice().expect("blocks are dense");
    let squares: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    let mut digest = vec![(squares / values.len().max(1) as f64).sqrt()];
    digest.extend(values.iter().step_by(values.len().div_ceil(SAMPLES).max(1)).map(|&value| f64::from(value)));
    digest
}

/// Returns whether two digests are equal up to rounding errors.
pub fn nearly_equal(one: &[f64], other: &[f64]) -> bool {
    // `<=` is false for NaN, so digests that contain NaN are never equal.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * one[0];
    !one.is_empty() && one.len() == other.len() && one.iter().zip(other).all(near)
}
