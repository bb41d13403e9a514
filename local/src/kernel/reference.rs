//! Computes an einsum in an obviously correct way, with one loop over all indices in double precision.

use std::borrow::Cow;

use ndarray::{ArrayViewD, ArrayViewMutD, Dimension};
use num_complex::Complex;

use super::Element;
use crate::dims::Label;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReferenceValue {
    pub value: Complex<f64>,
    /// Sum of the absolute values of the products, to which [`super::error_bound`] is relative.
    pub magnitude: f64,
    pub terms: u64,
}

/// An einsum evaluated one element at a time; repeated labels are diagonals, and labels missing from `out` are summed.
#[derive(Debug)]
pub struct Reference<'a, T: Clone> {
    operands: Vec<Elements<'a, T>>,
    /// Of the labels of `out`, then of the summed labels.
    extents: Vec<usize>,
    out_labels: usize,
}

#[derive(Debug)]
struct Elements<'a, T: Clone> {
    elements: Cow<'a, [T]>,
    /// One for each label, in `elements`.
    strides: Vec<usize>,
}

impl<'a, T: Element> Elements<'a, T> {
    fn new(labels: &[Label], operand: &ArrayViewD<'a, T>, all_labels: &[Label]) -> Self {
        let (elements, strides) = match (operand.to_slice_memory_order(), strides(operand)) {
            (Some(elements), Some(strides)) => (Cow::Borrowed(elements), strides),
            _ => (Cow::Owned(operand.iter().copied().collect()), row_major_strides(operand.shape())),
        };
        // A diagonal advances in all of the label's dimensions.
        let stride = |label: &Label| {
            let dimensions = labels.iter().zip(&strides).filter(|(l, _)| *l == label);
            dimensions.map(|(_, stride)| stride).sum()
        };
        Elements { elements, strides: all_labels.iter().map(stride).collect() }
    }

    fn at(&self, point: &[usize]) -> Complex<f64> {
        self.elements[point.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum::<usize>()].to_c64()
    }
}

/// Ignores strides of extents 0 and 1; `None` if another is negative.
fn strides<T>(array: &ArrayViewD<T>) -> Option<Vec<usize>> {
    let strides = array.strides().iter().zip(array.shape());
    strides.map(|(&stride, &extent)| if extent <= 1 { Some(0) } else { stride.try_into().ok() }).collect()
}

fn row_major_strides(shape: &[usize]) -> Vec<usize> {
    let mut volume = 1;
    let mut strides: Vec<usize> = shape.iter().rev().map(|extent| (volume, volume *= extent).0).collect();
    strides.reverse();
    strides
}

impl<'a, T: Element> Reference<'a, T> {
    /// # Panics
    /// If a label has two different extents, or a label of `out` is repeated or is in no operand.
    pub fn new(operands: &[(&[Label], ArrayViewD<'a, T>)], out: &[Label]) -> Self {
        let mut labels: Vec<Label> = Vec::new();
        for &label in out {
            assert!(!labels.contains(&label), "label {label:?} is twice in out");
            labels.push(label);
        }
        for label in operands.iter().flat_map(|(labels, _)| labels.iter().copied()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let extent = |&label: &Label| extent_of(operands, label).expect("a label of out is in no operand");
        Reference {
            extents: labels.iter().map(extent).collect(),
            operands: operands.iter().map(|(own, operand)| Elements::new(own, operand, &labels)).collect(),
            out_labels: out.len(),
        }
    }

    /// Returns the element of the result at `index`. Cost: O(products in its sum).
    ///
    /// # Panics
    /// If the index is out of bounds.
    pub fn element(&self, index: &[usize]) -> ReferenceValue {
        assert_eq!(self.out_labels, index.len(), "{} labels and {} indices", self.out_labels, index.len());
        assert!(index.iter().zip(&self.extents).all(|(at, extent)| at < extent), "index outside");
        let mut total = ReferenceValue::default();
        if self.extents[index.len()..].contains(&0) {
            return total;
        }
        let mut point = vec![0; self.extents.len()];
        point[..index.len()].copy_from_slice(index);
        loop {
            let product = self.product(&point);
            total.value += product;
            total.magnitude += product.norm();
            total.terms += 1;
            if !next(&mut point[index.len()..], &self.extents[index.len()..]) {
                return total;
            }
        }
    }

    fn product(&self, point: &[usize]) -> Complex<f64> {
        let factors = self.operands.iter().map(|operand| operand.at(point));
        factors.reduce(times::<T>).unwrap_or(Complex::new(1.0, 0.0))
    }
}

/// Row-major; returns false after the last index.
fn next(index: &mut [usize], extents: &[usize]) -> bool {
    for (at, &extent) in index.iter_mut().zip(extents).rev() {
        *at += 1;
        if *at < extent {
            return true;
        }
        *at = 0;
    }
    false
}

/// Computes `out = alpha left right + beta out` with a [`Reference`]. If `beta` is 0, `out` is not read.
///
/// # Panics
/// In the cases of [`Reference::new`], or if `out` has the wrong number of dimensions or too large an extent.
pub fn reference_contract<T: Element>(
    alpha: T,
    left: (&[Label], ArrayViewD<T>),
    right: (&[Label], ArrayViewD<T>),
    beta: T,
    out: (&[Label], ArrayViewMutD<T>),
) {
    let (labels, mut out) = out;
    let reference = Reference::new(&[left, right], labels);
    for (index, element) in out.indexed_iter_mut() {
        let new = reference.element(index.slice()).value.scaled(alpha.to_c64());
        let value = if beta == T::ZERO { new } else { new + element.to_c64().scaled(beta.to_c64()) };
        *element = T::from_f64(value.re, value.im);
    }
}

/// For a real `T`, a complex multiplication would make the imaginary part NaN if a factor is infinite.
fn times<T: Element>(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    if T::DTYPE.is_complex() { a * b } else { Complex::new(a.re * b.re, 0.0) }
}

/// `None` if no operand has the label; panics if extents differ.
fn extent_of<T>(operands: &[(&[Label], ArrayViewD<T>)], label: Label) -> Option<usize> {
    let all = operands.iter().flat_map(|(labels, view)| labels.iter().zip(view.shape()));
    let mut extents = all.filter(|&(&l, _)| l == label).map(|(_, &extent)| extent);
    let first = extents.next()?;
    assert!(extents.all(|extent| extent == first), "label {label:?} has different extents");
    Some(first)
}
