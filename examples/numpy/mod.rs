//! Functions shared by the examples that use data from NumPy. They read operands and expected results, and compute the
//! error of a result relative to NumPy's result.
#![allow(dead_code, reason = "every example uses a part")]

use std::path::PathBuf;

use einsum_dist::Distribution;
use einsum_dist::error_bound;
use einsum_dist::ndarray::{ArrayBase, ArrayD, Data, Dimension, Zip};
use einsum_dist::{DistTensor, Element, Operand, Plan, Result, World};

/// Reads the text of a file in `data/`.
pub fn text(name: &str) -> std::io::Result<String> {
    Ok(std::fs::read_to_string(path(name))?.trim().to_owned())
}

/// Reads an array from `data/`. `T` must have at least the precision of the file.
pub fn array<T: Element>(name: &str) -> Result<ArrayD<T>> {
    let world = World::single();
    DistTensor::from_npy(&world, path(&format!("{name}.npy")), &Distribution::single())?.gather(&world)
}

/// Reads the array names in a list of operands, including repetitions.
pub fn names(list: &str) -> std::io::Result<Vec<String>> {
    let name = |line: &str| line.trim_start_matches("data/").trim_end_matches(".npy").to_owned();
    Ok(text(list)?.lines().map(name).collect())
}

/// Borrows arrays as the operands of a program.
pub fn borrowed<T: Element>(arrays: &[ArrayD<T>]) -> Vec<&dyn Operand<T>> {
    arrays.iter().map(|array| array as &dyn Operand<T>).collect()
}

pub fn shapes<T: Element>(arrays: &[ArrayD<T>]) -> Vec<Vec<usize>> {
    arrays.iter().map(|array| array.shape().to_vec()).collect()
}

/// Returns the absolute values of all elements. A program that runs on these operands computes, for each element of the
/// result, the sum of the absolute products. Errors are relative to this sum.
pub fn absolute<T: Element>(arrays: &[ArrayD<T>]) -> Vec<ArrayD<T>> {
    arrays.iter().map(|array| array.mapv(|x| T::from_f64(x.to_c64().norm(), 0.0))).collect()
}

/// Bound on the rounding error of an element, relative to the element's sum of absolute products.
pub fn bound(plan: &Plan) -> f64 {
    error_bound(plan.dtype, plan.roundings(), plan.operands as u32)
}

/// Returns the maximum of |got - want| / magnitude over all elements.
pub fn error<T: Element, W: Element, M: Element, D: Dimension>(
    got: &ArrayBase<impl Data<Elem = T>, D>,
    want: &ArrayBase<impl Data<Elem = W>, D>,
    magnitude: &ArrayBase<impl Data<Elem = M>, D>,
) -> f64 {
    let error =
        |most: f64, got: &T, want: &W, size: &M| most.max((got.to_c64() - want.to_c64()).norm() / size.to_c64().norm());
    Zip::from(got).and(want).and(magnitude).fold(0.0, error)
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).join(name)
}
