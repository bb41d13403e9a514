//! A rough price of one way to run a contraction, to rank it among others.
//!
//! Unit: about a nanosecond on one present-day core. Only ratios matter: a multiply-add inside a good matrix product is
//! two orders cheaper than touching an element with a cache line of its own.

use super::{Access, Dim};

/// One call of the matrix product on a warm cache.
const CALL: f64 = 120.0;
const MULTIPLY_ADD: f64 = 0.0125;
const SEQUENTIAL: f64 = 0.15;
/// An element that is not beside the one touched before.
const SCATTERED: f64 = 1.5;
/// Copying an element when both sides are read in whole cache lines.
const COPY: f64 = 0.6;
/// Holding an element of workspace: prefers small blocks among otherwise equal choices.
const HOLD: f64 = 0.05;
/// Terms of a sum that GEMM keeps in registers before it touches the destination again.
const DEPTH: usize = 512;

/// What one matrix product of the given sizes costs, beside touching memory.
pub(super) fn product([m, n, k]: [usize; 3]) -> f64 {
    // A product thinner than the register block wastes the rest of the block.
    let waste = |extent: usize, block: f64| 1.0 + block / extent as f64;
    let full = m as f64 * n as f64 * k as f64 * MULTIPLY_ADD;
    CALL + full * waste(m, 6.0) * waste(n, 6.0) * waste(k, 8.0)
}

/// Reading an `elements`-sized matrix once, where it lies.
pub(super) fn read(access: &Access, elements: usize) -> f64 {
    elements as f64 * touch(access)
}

/// Adding a product with `k` terms onto a matrix.
pub(super) fn update(access: &Access, elements: usize, k: usize) -> f64 {
    2.0 * elements as f64 * k.div_ceil(DEPTH) as f64 * touch(access)
}

fn touch(access: &Access) -> f64 {
    if access.row_stride.abs().min(access.col_stride.abs()) <= 1 { SEQUENTIAL } else { SCATTERED }
}

/// Copying one slab to or from its packed buffer; `smallest` is the least stride of the whole tensor.
pub(super) fn copy(access: &Access, slab: &Dim<1>, smallest: usize) -> f64 {
    let Some(dims) = &access.packed else { return 0.0 };
    let has = |stride: isize| stride.unsigned_abs() <= smallest.max(1);
    let whole_lines = dims.iter().any(|d| has(d.strides[0])) || (slab.extent > 4 && has(slab.strides[0]));
    let elements = (access.elements() * slab.extent) as f64;
    elements * if whole_lines { COPY } else { COPY + SCATTERED }
}

pub(super) fn hold(elements: usize) -> f64 {
    elements as f64 * HOLD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_large_product_beats_many_small() {
        assert!(product([512, 512, 512]) < 64.0 * product([128, 128, 128]));
    }
}
