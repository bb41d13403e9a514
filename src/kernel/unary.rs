//! One tensor in, one out: permute, take diagonals, sum.
//!
//! A diagonal is a dimension whose stride is the sum of those of its repeated label, so it costs nothing by itself.

use ndarray::{ArrayViewD, ArrayViewMutD};
use rayon::prelude::*;

use super::Element;
use super::pointer::{Const, Mut};
use super::strided::{Put, for_each_offset, threads_for, zip};
use crate::dims::Label;
use crate::local::{Dim, fold, partition};

/// out = input, with repeated labels of the input as diagonals, labels that out lacks summed, in the order of out.
///
/// # Panics
/// If a label of out is repeated or not in the input, or one label has different extents.
pub fn unary<T: Element>(input: (&[Label], ArrayViewD<T>), out: (&[Label], ArrayViewMutD<T>)) {
    let (in_labels, input) = input;
    let (out_labels, mut out) = out;
    assert_eq!(in_labels.len(), input.ndim(), "input has {:?} for {} dimensions", in_labels, input.ndim());
    assert_eq!(out_labels.len(), out.ndim(), "out has {:?} for {} dimensions", out_labels, out.ndim());
    let mut kept: Vec<Dim<2>> =
        out.shape().iter().zip(out.strides()).map(|(&extent, &to)| Dim { extent, strides: [0, to] }).collect();
    let mut summed: Vec<(Label, Dim<2>)> = Vec::new();
    for (i, label) in out_labels.iter().enumerate() {
        assert!(!out_labels[..i].contains(label), "label {label:?} is twice in out");
        assert!(in_labels.contains(label), "label {label:?} of out is not in the input");
    }
    for (axis, &label) in in_labels.iter().enumerate() {
        let (extent, stride) = (input.shape()[axis], input.strides()[axis]);
        let dim = if let Some(at) = out_labels.iter().position(|&l| l == label) {
            &mut kept[at]
        } else if let Some(at) = summed.iter().position(|&(l, _)| l == label) {
            &mut summed[at].1
        } else {
            summed.push((label, Dim { extent, strides: [0, 0] }));
            let last = summed.len() - 1;
            &mut summed[last].1
        };
        assert_eq!(dim.extent, extent, "label {label:?} has extents {} and {extent}", dim.extent);
        dim.strides[0] += stride;
    }
    let summed: Vec<Dim<2>> = summed.into_iter().map(|(_, dim)| dim).collect();
    let elements = |dims: &[Dim<2>]| dims.iter().map(|d| d.extent).product::<usize>();
    let (from, to) = (Const(input.as_ptr()), Mut(out.as_mut_ptr()));
    if summed.iter().all(|d| d.extent == 1) {
        let threads = threads_for(elements(&kept));
        // SAFETY: the loops visit the indices of out, which is borrowed mutably, and diagonals and rows of the input.
        return unsafe { zip(kept, from.0, to.0, &Put, threads) };
    }
    super::fill(T::ZERO, out);
    let threads = threads_for(elements(&kept).saturating_mul(elements(&summed)));
    let (kept, summed) = (fold(kept), fold(summed));
    match (0..kept.len()).max_by_key(|&i| kept[i].extent) {
        // SAFETY: the pieces visit disjoint elements of out; offsets stay inside both tensors as above.
        Some(axis) => partition(&kept, axis, threads).into_par_iter().with_max_len(1).for_each(
            |([source, target], kept)| unsafe {
                accumulate(kept, summed.clone(), from.at(source), to.at(target));
            },
        ),
        None => {
            let total = sum_all(summed, from, threads);
            // SAFETY: no loop of out has more than one index, and none is empty, or fold would have kept it.
            unsafe { to.0.write(total) };
        }
    }
}

/// The sum over all indices, in shares whose sums are added in order.
fn sum_all<T: Element>(dims: Vec<Dim<2>>, from: Const<T>, threads: usize) -> T {
    let share = |offset: isize, dims: Vec<Dim<2>>| {
        let mut total = T::ZERO;
        // SAFETY: `total` takes every sum, as there are no loops over out; offsets stay inside the input.
        unsafe { accumulate(Vec::new(), dims, from.at(offset), &mut total) };
        total
    };
    let Some(axis) = (0..dims.len()).max_by_key(|&i| dims[i].extent) else { return share(0, dims) };
    let shares = partition(&dims, axis, threads).into_par_iter().with_max_len(1);
    let totals: Vec<T> = shares.map(|([offset, _], dims)| share(offset, dims)).collect();
    totals.into_iter().fold(T::ZERO, |sum, share| sum + share)
}

/// Adds onto out the sums of the input.
///
/// # Safety
/// From `from`, every offset of both groups of loops may be read; from `to`, every offset of `kept` may be read and
/// written and no other thread touches it.
unsafe fn accumulate<T: Element>(mut kept: Vec<Dim<2>>, mut summed: Vec<Dim<2>>, from: *const T, to: *mut T) {
    for dims in [&mut kept, &mut summed] {
        dims.sort_by_key(|d| std::cmp::Reverse(d.strides[0].unsigned_abs()));
    }
    let step = |dims: &[Dim<2>]| dims.last().map_or(usize::MAX, |d| d.strides[0].unsigned_abs());
    let sum_inside = step(&summed) <= step(&kept);
    let inner = if sum_inside { summed.pop() } else { kept.pop() };
    let inner = inner.unwrap_or(Dim { extent: 1, strides: [0, 0] });
    let [source, target] = inner.strides;
    // SAFETY: each body visits the inner loop from one index of the outer ones: offsets that the caller promised.
    let body = |[outer_source, outer_target]: [isize; 2]| unsafe {
        let (from, to) = (from.wrapping_offset(outer_source), to.wrapping_offset(outer_target));
        match (sum_inside, source, target) {
            (true, ..) => *to += sum_line(inner.extent, source, from),
            (false, 1, 1) => (0..inner.extent).for_each(|i| *to.add(i) += *from.add(i)),
            (false, ..) => (0..inner.extent as isize)
                .for_each(|i| *to.wrapping_offset(i * target) += *from.wrapping_offset(i * source)),
        }
    };
    let outer: Vec<_> = kept.into_iter().chain(summed).collect();
    for_each_offset(&outer, body);
}

/// # Safety
/// `extent` elements, `stride` apart, may be read.
unsafe fn sum_line<T: Element>(extent: usize, stride: isize, from: *const T) -> T {
    const LANES: usize = 16;
    let mut lanes = [T::ZERO; LANES];
    let whole = extent / LANES * LANES;
    // SAFETY: indices below extent.
    unsafe {
        if stride == 1 {
            for i in (0..whole).step_by(LANES) {
                (0..LANES).for_each(|lane| lanes[lane] += *from.add(i + lane));
            }
        } else {
            for i in (0..whole).step_by(LANES) {
                (0..LANES).for_each(|lane| lanes[lane] += *from.wrapping_offset((i + lane) as isize * stride));
            }
        }
        (whole..extent).for_each(|i| lanes[i - whole] += *from.wrapping_offset(i as isize * stride));
    }
    lanes.into_iter().fold(T::ZERO, |sum, lane| sum + lane)
}
