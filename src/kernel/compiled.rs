//! Kernels as concrete functions, one set for each element type.
//!
//! The compiler compiles a generic function again in every crate that calls it, and kernels are most of the machine
//! code of this one. So the generic entry points call kernels through [`Compiled`], whose methods are concrete
//! functions: the program, the tests and other crates link them.

use super::tensor::{Tensor, TensorMut};
use super::workspace::{OutOfMemory, Workspace};
use crate::local_plan::{Isa, LocalContract, UnaryPlan};

/// The kernels of one element type.
pub trait Compiled: Copy {
    /// [`super::contract_strided`]
    fn contract(
        plan: &LocalContract,
        alpha: Self,
        left: Tensor<Self>,
        right: Tensor<Self>,
        beta: Self,
        out: TensorMut<Self>,
        workspace: &mut Workspace,
    ) -> Result<(), OutOfMemory>;

    /// [`super::unary_strided`]
    fn unary(plan: &UnaryPlan, isa: Isa, input: Tensor<Self>, out: TensorMut<Self>);

    /// out = input + beta out. With beta 0, out is not read.
    ///
    /// # Panics
    /// If the extents differ.
    fn combine(input: Tensor<Self>, beta: Self, out: TensorMut<Self>);

    /// Every element of out becomes value + beta element. With beta 0, out is not read.
    fn broadcast(value: Self, beta: Self, out: TensorMut<Self>);
}
