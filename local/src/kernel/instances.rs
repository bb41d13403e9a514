//! Implements [`Compiled`] for every element type.

use num_complex::Complex;

use super::compiled::Compiled;
use super::tensor::{Tensor, TensorMut};
use super::workspace::{OutOfMemory, Workspace};
use super::{contract, elementwise, unary};
use crate::local_plan::{Isa, LocalContract, UnaryPlan};

macro_rules! compiled {
    ($($element:ty),*) => { $(
        impl Compiled for $element {
            fn contract(
                plan: &LocalContract,
                alpha: Self,
                left: Tensor<Self>,
                right: Tensor<Self>,
                beta: Self,
                out: TensorMut<Self>,
                workspace: &mut Workspace,
            ) -> Result<(), OutOfMemory> {
                contract::run(plan, alpha, left, right, beta, out, workspace)
            }

            fn unary(
                plan: &UnaryPlan,
                isa: Isa,
                input: Tensor<Self>,
                out: TensorMut<Self>,
                workspace: &mut Workspace,
            ) -> Result<(), OutOfMemory> {
                unary::run(plan, isa, input, out, workspace)
            }

            fn combine(input: Tensor<Self>, beta: Self, out: TensorMut<Self>) {
                elementwise::combine(input, beta, out);
            }

            fn broadcast(value: Self, beta: Self, out: TensorMut<Self>) {
                elementwise::broadcast(value, beta, out);
            }
        }
    )* };
}

compiled!(f32, f64, Complex<f32>, Complex<f64>);
