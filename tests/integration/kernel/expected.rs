//! Implements a reference that is faster than the library's. It copies each operand into one dense list. Two tables of
//! offsets, for the indices of `out` and for the summed indices, give the position of each element.
//!
//! The code sums in double precision and shares nothing with the kernels. A sample of its results is compared with the
//! library's own reference, which is too slow for large index spaces.

use super::case::Case;
use crate::common::Rng;
use einsum_dist::dims::Label;
use einsum_dist::kernel::{Element, Reference, ReferenceValue};
use ndarray::ArrayViewD;
use num_complex::Complex;

/// Number of index points that the library's reference computes again.
const SAMPLED: usize = 300;

/// An operand as a dense list of values. Also stores the absolute values, and tables of offsets for the indices of
/// `out` and for the summed indices.
struct Operand {
    values: Vec<Complex<f64>>,
    norms: Vec<f64>,
    of_out: Vec<usize>,
    of_sum: Vec<usize>,
}

impl Operand {
    fn new<T: Element>(case: &Case, labels: &[Label], view: &ArrayViewD<T>) -> Operand {
        let values: Vec<Complex<f64>> = view.iter().map(|value| value.to_c64()).collect();
        let offsets = |indices: &[Label]| {
            let mut offsets = vec![0];
            for label in indices {
                let after = labels.iter().position(|l| l == label).map(|at| &labels[at + 1..]);
                let stride = after.map_or(0, |after| case.shape(after).iter().product());
                let extent = case.extents[label.0 as usize];
                offsets = offsets.iter().flat_map(|&start| (0..extent).map(move |i| start + i * stride)).collect();
            }
            offsets
        };
        let norms = values.iter().map(|value| value.norm()).collect();
        Operand { norms, of_out: offsets(&case.out), of_sum: offsets(&case.sums()), values }
    }
}

/// All elements of the product of `left` and `right`, in the row-major order of `out`.
pub fn expected<T: Element>(
    rng: &mut Rng,
    case: &Case,
    left: &ArrayViewD<T>,
    right: &ArrayViewD<T>,
) -> Vec<ReferenceValue> {
    let [a, b] = [Operand::new(case, &case.left, left), Operand::new(case, &case.right, right)];
    let elements = a.of_out.iter().zip(&b.of_out).map(|(&row, &column)| {
        let mut sum = ReferenceValue { terms: a.of_sum.len() as u64, ..ReferenceValue::default() };
        for (&i, &j) in a.of_sum.iter().zip(&b.of_sum) {
            sum.value += a.values[row + i] * b.values[column + j];
            sum.magnitude += a.norms[row + i] * b.norms[column + j];
        }
        sum
    });
    let elements: Vec<ReferenceValue> = elements.collect();
    let operands = [(&case.left[..], left.view()), (&case.right[..], right.view())];
    if elements.is_empty() {
        return elements;
    }
    let reference = Reference::new(&operands, &case.out);
    for _ in 0..elements.len().min(SAMPLED / case.terms().max(1)) {
        let number = rng.below(elements.len());
        let (got, want) = (elements[number], reference.element(&index_of(case, number)));
        assert!((got.value - want.value).norm() <= 1e-12 * want.magnitude, "{got:?} instead of {want:?}: {case:?}");
        assert!((got.magnitude - want.magnitude).abs() <= 1e-12 * want.magnitude && got.terms == want.terms);
    }
    elements
}

/// The multi-index of an element of `out`.
pub fn index_of(case: &Case, mut number: usize) -> Vec<usize> {
    let mut index = case.shape(&case.out);
    for at in index.iter_mut().rev() {
        let extent = *at;
        *at = number % extent;
        number /= extent;
    }
    index
}
