//! Bounds the rounding error of a contraction.
//!
//! Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 2002, sections 3.1 and 3.6
//! (`docs/check.md`). The bound holds for any order of additions, with or without fused multiply-adds. Each factor
//! beyond two adds one rounding.

#![warn(missing_docs)]

use crate::dtype::Dtype;

/// Returns an upper bound on |computed - exact| / (sum of |products|), for a sum of `terms` products with `factors`
/// factors each.
///
/// For `alpha left right + beta out`, count `alpha` as a factor and `beta out` as a term. For this crate's kernels,
/// `terms` may be [`longest_chain`](crate::local_plan::longest_chain) of the number of terms.
pub fn error_bound(dtype: Dtype, terms: u64, factors: u32) -> f64 {
    let roundoff = match dtype {
        Dtype::Float32 | Dtype::Complex64 => f64::from(f32::EPSILON) / 2.0,
        Dtype::Float64 | Dtype::Complex128 => f64::EPSILON / 2.0,
    };
    let complex = if dtype.is_complex() { 2.0 * std::f64::consts::SQRT_2 } else { 1.0 };
    let nu = complex * (terms as f64 + f64::from(factors)) * roundoff;
    // There is no bound beyond the pole at nu = 1.
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}
