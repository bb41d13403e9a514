//! Warns of results that left the range of their element type.
//!
//! As in the program, a result overflowed if it has infinite or NaN elements although all operands are finite. It
//! underflowed if all of its elements are 0 or subnormal, no operand is zero, and products of the smallest elements of
//! the operands are too small for the type. Operands are read only if the result is suspicious.

use std::ffi::CString;

use einsum_dist::ndarray::{ArrayViewD, ArrayViewMutD};
use einsum_dist::{Dtype, Element, Plan};
use num_complex::Complex;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

/// Results with more elements are examined only if that takes a few percent of the time: with this many operations per
/// element.
const MAX_EXAMINED: usize = 4096;
const MIN_OPERATIONS: f64 = 1024.0;

/// What is wrong with `alpha` times the contraction of the operands, if anything.
pub fn examine<T: Element>(
    plan: &Plan,
    alpha: T,
    operands: &[ArrayViewD<T>],
    out: &ArrayViewMutD<T>,
) -> Option<&'static str> {
    let elements = out.len();
    if elements == 0 || elements > MAX_EXAMINED && plan.total_gflop() * 1e9 < MIN_OPERATIONS * elements as f64 {
        return None;
    }
    let least = match T::DTYPE {
        Dtype::Float32 | Dtype::Complex64 => f64::from(f32::MIN_POSITIVE),
        Dtype::Float64 | Dtype::Complex128 => f64::MIN_POSITIVE,
    };
    let largest = largest(&out.view());
    if largest >= least && largest.is_finite() {
        return None;
    }
    // The largest and smallest absolute values, without zeros.
    let factor = alpha.to_c64().norm();
    let mut extremes = vec![[factor, factor]];
    extremes.extend(operands.iter().map(|operand| {
        let sizes = operand.iter().map(|element| element.to_c64().norm()).filter(|&size| size != 0.0);
        sizes.fold([0.0, f64::INFINITY], |[most, least], size| {
            [if size.is_nan() { f64::INFINITY } else { f64::max(most, size) }, f64::min(least, size)]
        })
    }));
    if !extremes.iter().all(|&[most, _]| most > 0.0 && most.is_finite()) {
        return None;
    }
    let smallest: f64 = extremes.iter().map(|[_, least]| least.log2()).sum();
    if !largest.is_finite() {
        Some("overflowed, and has infinite or NaN elements")
    } else if largest > 0.0 {
        Some("underflowed, and its elements have lost digits")
    } else {
        Some("underflowed, and its elements are 0").filter(|_| smallest < least.log2())
    }
}

/// The largest absolute value of all real and imaginary parts; infinite if any is infinite or NaN.
fn largest<T: Element>(values: &ArrayViewD<T>) -> f64 {
    const LANES: usize = 8;
    let size = |value: &T| {
        let Complex { re, im } = value.to_c64();
        // NaN if a part is NaN or infinite.
        f64::max(re.abs(), im.abs()) + re * 0.0 + im * 0.0
    };
    let Some(values) = values.as_slice_memory_order() else {
        return values
            .iter()
            .map(size)
            .fold(0.0, |most, size| if size.is_nan() { f64::INFINITY } else { most.max(size) });
    };
    // Independent lanes become vectors.
    let (mut most, mut defects) = ([0.0f64; LANES], [0.0f64; LANES]);
    for chunk in values.chunks(LANES) {
        for ((most, defects), value) in most.iter_mut().zip(&mut defects).zip(chunk) {
            let size = size(value);
            *most = if size > *most { size } else { *most };
            *defects += size * 0.0;
        }
    }
    if defects.iter().any(|defect| defect.is_nan()) { f64::INFINITY } else { most.iter().copied().fold(0.0, f64::max) }
}

/// Warns of what [`examine`] has found.
pub fn warn(py: Python<'_>, dtype: Dtype, found: Option<&'static str>) -> PyResult<()> {
    let Some(found) = found else { return Ok(()) };
    let wider = match dtype {
        Dtype::Float32 => ", or convert the operands to float64",
        Dtype::Complex64 => ", or convert the operands to complex128",
        Dtype::Float64 | Dtype::Complex128 => "",
    };
    let text = format!("the result of type {dtype} {found}; use contract(..., strip_exponent=True){wider}");
    let text = CString::new(text).map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}
