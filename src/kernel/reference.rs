//! The obviously correct einsum: one loop over the whole index space, in double precision.
//!
//! Deliberately slow: nothing here is folded, blocked or parallel, so that this file shares no mistake with the code
//! that it checks.

use ndarray::{ArrayViewD, ArrayViewMutD, Dimension, IxDyn};
use num_complex::Complex;

use super::Element;
use crate::dims::Label;

/// One element of the result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReferenceValue {
    pub value: Complex<f64>,
    /// Sum of the absolute values of the products; [`super::error_bound`] is relative to it.
    pub magnitude: f64,
    /// The number of products in the sum.
    pub terms: u64,
}

/// Contracts any number of operands. Repeated labels denote diagonals; labels missing from out are summed over.
///
/// # Panics
/// If a label has different extents, or a label of out is repeated or is in no operand.
pub fn reference<T: Element>(operands: &[(&[Label], ArrayViewD<T>)], out: (&[Label], ArrayViewMutD<ReferenceValue>)) {
    let (labels, mut out) = out;
    for (index, element) in out.indexed_iter_mut() {
        *element = reference_element(operands, labels, index.slice());
    }
}

/// One element of [`reference()`], for checking samples of a result too large to compute twice.
///
/// # Panics
/// As [`reference()`], or if the index is out of bounds.
pub fn reference_element<T: Element>(
    operands: &[(&[Label], ArrayViewD<T>)],
    out: &[Label],
    index: &[usize],
) -> ReferenceValue {
    assert_eq!(out.len(), index.len(), "{} labels and {} indices", out.len(), index.len());
    let mut fixed: Vec<(Label, usize)> = Vec::new();
    for (&label, &at) in out.iter().zip(index) {
        assert!(fixed.iter().all(|&(l, _)| l != label), "label {label:?} is twice in out");
        assert!(at < extent_of(operands, label).expect("a label of out is in no operand"), "index outside");
        fixed.push((label, at));
    }
    let mut summed: Vec<(Label, usize)> = Vec::new();
    for label in operands.iter().flat_map(|(labels, _)| labels.iter().copied()) {
        let extent = extent_of(operands, label).unwrap_or(1);
        if !out.contains(&label) && summed.iter().all(|&(l, _)| l != label) {
            summed.push((label, extent));
        }
    }
    let mut total = ReferenceValue::default();
    let extents: Vec<usize> = summed.iter().map(|&(_, extent)| extent).collect();
    for point in ndarray::indices(IxDyn(&extents)) {
        let sums = summed.iter().zip(point.slice()).map(|(&(label, _), &at)| (label, at));
        let values: Vec<(Label, usize)> = fixed.iter().copied().chain(sums).collect();
        let factors = operands.iter().map(|(labels, operand)| {
            let at: Vec<usize> = labels.iter().map(|&label| value_of(&values, label)).collect();
            operand[IxDyn(&at)].to_c64()
        });
        let product = factors.reduce(times::<T>).unwrap_or(Complex::new(1.0, 0.0));
        total.value += product;
        total.magnitude += product.norm();
        total.terms += 1;
    }
    total
}

/// out = alpha left right + beta out, each element by [`reference_element`]; with beta 0, out is not read.
///
/// # Panics
/// As [`reference()`].
pub fn reference_contract<T: Element>(
    alpha: T,
    left: (&[Label], ArrayViewD<T>),
    right: (&[Label], ArrayViewD<T>),
    beta: T,
    out: (&[Label], ArrayViewMutD<T>),
) {
    let (labels, mut out) = out;
    let operands = [left, right];
    for (index, element) in out.indexed_iter_mut() {
        let new = reference_element(&operands, labels, index.slice()).value.scaled(alpha.to_c64());
        let value = if beta == T::ZERO { new } else { new + element.to_c64().scaled(beta.to_c64()) };
        *element = T::from_f64(value.re, value.im);
    }
}

/// The product of two elements of type T. For a real T, the imaginary part is set to 0: a complex product would make it
/// NaN if a factor is infinite.
fn times<T: Element>(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    if T::DTYPE.is_complex() { a * b } else { Complex::new(a.re * b.re, 0.0) }
}

fn value_of(values: &[(Label, usize)], label: Label) -> usize {
    let found = values.iter().find(|&&(l, _)| l == label);
    found.expect("every label of an operand is fixed or summed").1
}

/// The extent of a label, or `None` if no operand has the label. Panics if the label has different extents.
fn extent_of<T>(operands: &[(&[Label], ArrayViewD<T>)], label: Label) -> Option<usize> {
    let all = operands.iter().flat_map(|(labels, view)| labels.iter().zip(view.shape()));
    let mut extents = all.filter(|&(&l, _)| l == label).map(|(_, &extent)| extent);
    let first = extents.next()?;
    assert!(extents.all(|extent| extent == first), "label {label:?} has different extents");
    Some(first)
}
