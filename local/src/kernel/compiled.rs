//! The entry points of the kernels as non-generic functions for each element type.
//!
//! Rust compiles a generic function again in every crate that calls it, so generic entry points call the methods of
//! [`Compiled`].

use super::tensor::{Tensor, TensorMut};
use super::workspace::{OutOfMemory, Workspace};
use crate::local_plan::{Isa, LocalContract, UnaryPlan};

pub trait Compiled: Copy {
    fn contract(
        plan: &LocalContract,
        alpha: Self,
        left: Tensor<Self>,
        right: Tensor<Self>,
        beta: Self,
        out: TensorMut<Self>,
        workspace: &mut Workspace,
    ) -> Result<(), OutOfMemory>;

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

    /// Computes `out = value + beta out`. If `beta` is 0, `out` is not read.
    fn broadcast(value: Self, beta: Self, out: TensorMut<Self>);
}
