//! Element-wise operations on tensors with any strides.

use ndarray::{ArrayViewD, ArrayViewMutD};

use super::permute::{Factors, permute};
use super::{Element, Tensor, TensorMut, widest};
use crate::local_plan::{Dim, Loops, Permute, useful_threads};

/// # Panics
/// If the shapes of `input` and `out` differ.
pub fn add<T: Element>(input: ArrayViewD<T>, mut out: ArrayViewMutD<T>) {
    T::combine((&input).into(), T::ONE, (&mut out).into());
}

/// `out` is not read.
pub fn fill<T: Element>(value: T, mut out: ArrayViewMutD<T>) {
    T::broadcast(value, T::ZERO, (&mut out).into());
}

/// Computes `out = factor out`. If `factor` is 0, `out` is not read.
pub fn scale<T: Element>(factor: T, mut out: ArrayViewMutD<T>) {
    scale_strided(factor, (&mut out).into());
}

pub fn conjugate<T: Element>(out: ArrayViewMutD<T>) {
    let threads = useful_threads(rayon::current_num_threads(), out.len());
    conjugate_on(threads, out);
}

fn conjugate_on<T: Element>(threads: usize, mut out: ArrayViewMutD<T>) {
    if threads < 2 || out.len() < 2 {
        return out.mapv_inplace(T::conjugate);
    }
    let axis = out.max_stride_axis();
    let middle = out.len_of(axis) / 2;
    let (first, second) = out.split_at(axis, middle);
    rayon::join(|| conjugate_on(threads / 2, first), || conjugate_on(threads - threads / 2, second));
}

/// The largest absolute value of all real and imaginary parts, or 0 without elements. Any NaN gives NaN.
pub fn largest<T: Element>(input: ArrayViewD<T>) -> f64 {
    largest_on(useful_threads(rayon::current_num_threads(), input.len()), input)
}

fn largest_on<T: Element>(threads: usize, input: ArrayViewD<T>) -> f64 {
    if let (Some(values), true) = (input.as_slice_memory_order(), threads < 2 || input.ndim() == 0) {
        return largest_in_line(values);
    }
    let axis = input.max_stride_axis();
    match input.len_of(axis) {
        0 => 0.0,
        extent if input.ndim() == 1 && (threads < 2 || extent == 1) => input.iter().flat_map(parts).fold(0.0, larger),
        1 => largest_on(threads, input.index_axis_move(axis, 0)),
        extent => {
            let (first, second) = input.split_at(axis, extent / 2);
            if threads < 2 {
                return larger(largest_on(1, first), largest_on(1, second));
            }
            let (first, second) =
                rayon::join(|| largest_on(threads / 2, first), || largest_on(threads - threads / 2, second));
            larger(first, second)
        }
    }
}

/// Unlike [`f64::max`], returns NaN if one number is NaN.
fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

fn parts<T: Element>(value: &T) -> [f64; 2] {
    let value = value.to_c64();
    [value.re.abs(), value.im.abs()]
}

fn largest_in_line<T: Element>(values: &[T]) -> f64 {
    const LANES: usize = 8;
    // `times_zero` becomes NaN at the first infinity or NaN.
    let (mut most, mut times_zero) = ([0.0f64; LANES], [0.0f64; LANES]);
    for chunk in values.chunks(LANES) {
        for ((most, times_zero), value) in most.iter_mut().zip(&mut times_zero).zip(chunk) {
            let [re, im] = parts(value);
            let size = if re > im { re } else { im };
            *most = if size > *most { size } else { *most };
            *times_zero += re * 0.0 + im * 0.0;
        }
    }
    if times_zero.iter().sum::<f64>().is_nan() {
        return values.iter().flat_map(parts).fold(0.0, larger);
    }
    most.iter().copied().fold(0.0, larger)
}

pub(super) fn scale_strided<T: Element>(factor: T, out: TensorMut<T>) {
    if factor == T::ZERO {
        T::broadcast(T::ZERO, T::ZERO, out);
    } else if factor != T::ONE {
        // Adding -0 changes nothing, not even the sign of a zero.
        T::broadcast(-T::ZERO, factor, out);
    }
}

pub(super) fn combine<T: Element>(input: Tensor<T>, beta: T, mut out: TensorMut<T>) {
    assert_eq!(input.extents, out.extents, "tensors of different shapes");
    let strides = input.strides.iter().zip(out.strides);
    let dims = out.extents.iter().zip(strides);
    let dims: Loops<2> = dims.map(|(&extent, (&from, &to))| Dim { extent, strides: [from, to] }).collect();
    let plan = Permute::new(&dims, size_of::<T>(), rayon::current_num_threads());
    let factors = Factors { alpha: T::ONE, beta };
    // SAFETY: the loops visit the indices of both tensors, whose extents are equal; `out` is borrowed mutably.
    unsafe { permute(&plan, widest(), input.as_ptr(), out.as_mut_ptr(), factors) }
}

pub(super) fn broadcast<T: Element>(value: T, beta: T, mut out: TensorMut<T>) {
    let dims = out.extents.iter().zip(out.strides);
    let dims: Loops<2> = dims.map(|(&extent, &to)| Dim { extent, strides: [0, to] }).collect();
    let plan = Permute::new(&dims, size_of::<T>(), rayon::current_num_threads());
    let factors = Factors { alpha: T::ONE, beta };
    // SAFETY: as above; all source strides are 0, so only `value` is read.
    unsafe { permute(&plan, widest(), &value, out.as_mut_ptr(), factors) }
}
