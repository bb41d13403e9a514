//! Declares the entry points of the kernels as non-generic functions, one set for each element type.
//!
//! Rust compiles a generic function in every crate that calls it, and kernels are most of this crate's code, so generic
//! entry points call the non-generic methods of [`Compiled`].

use super::tensor::{Tensor, TensorMut};
use super::workspace::{OutOfMemory, Workspace};
use crate::local_plan::{Isa, LocalContract, UnaryPlan};

/// The kernels for one element type.
pub trait Compiled: Copy {
    /// Implements [`super::contract_strided`].
    fn contract(
        plan: &LocalContract,
        alpha: Self,
        left: Tensor<Self>,
        right: Tensor<Self>,
        beta: Self,
        out: TensorMut<Self>,
        workspace: &mut Workspace,
    ) -> Result<(), OutOfMemory>;

    /// Implements [`super::unary_strided`].
    fn unary(
        plan: &UnaryPlan,
        isa: Isa,
        input: Tensor<Self>,
        out: TensorMut<Self>,
        workspace: &mut Workspace,
    ) -> Result<(), OutOfMemory>;

    /// Computes `out = input + beta out`. If `beta` is 0, `out` is not read.
    ///
    /// # Panics
    /// If the extents of `input` and `out` differ.
    fn combine(input: Tensor<Self>, beta: Self, out: TensorMut<Self>);

    /// Replaces every element of `out` by `value` plus `beta` times the element. If `beta` is 0, `out` is not read.
    fn broadcast(value: Self, beta: Self, out: TensorMut<Self>);
}
