//! Computes permutations, diagonals and sums of a single tensor.

use super::permute::{Factors, permute};
use super::staged;
use super::sum::sum;
use super::{Element, OutOfMemory, Tensor, TensorMut, Workspace, available};
use crate::dtype::Dtype;
use crate::local_plan::{Isa, StagedPlan, UnaryBody, UnaryPlan};

/// Computes `out = input` as planned, on the given instruction set.
///
/// # Errors
/// If memory for copies cannot be allocated; `out` is then unchanged.
///
/// # Panics
/// If the plan was made for extents, strides or element sizes other than those of the tensors, or the machine lacks the
/// instruction set.
pub fn unary_strided<T: Element>(
    plan: &UnaryPlan,
    isa: Isa,
    input: Tensor<T>,
    out: TensorMut<T>,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    T::unary(plan, isa, input, out, workspace)
}

pub(super) fn run<T: Element>(
    plan: &UnaryPlan,
    isa: Isa,
    input: Tensor<T>,
    mut out: TensorMut<T>,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    let layouts = [(input.extents, input.strides), (out.extents, out.strides)];
    for (tensor, (extents, strides)) in layouts.into_iter().enumerate() {
        assert!(plan.fits(tensor, extents, strides), "a plan for tensors of another layout");
    }
    assert!(available(isa), "no {} on this machine", isa.name());
    // SAFETY: the instruction set is available; the tensors have the plan's layouts, so its loops stay inside them.
    // `out` is borrowed mutably. `permute` checks element sizes.
    unsafe {
        match plan.body() {
            UnaryBody::Permute(plan) => permute(plan, isa, input.as_ptr(), out.as_mut_ptr(), Factors::PUT),
            UnaryBody::Sum(plan) => sum(plan, isa, input.as_ptr(), out.as_mut_ptr()),
            UnaryBody::Staged(plan) => match T::DTYPE {
                Dtype::Float32 | Dtype::Complex64 => {
                    sum_reals::<f32>(plan, isa, input.as_ptr().cast(), out.as_mut_ptr().cast(), workspace)?
                }
                Dtype::Float64 | Dtype::Complex128 => {
                    sum_reals::<f64>(plan, isa, input.as_ptr().cast(), out.as_mut_ptr().cast(), workspace)?
                }
            },
        }
    }
    Ok(())
}

/// # Safety
/// Same as for [`staged::run`], with a second operand that is one number, because all its strides are 0.
unsafe fn sum_reals<R: Element>(
    plan: &StagedPlan,
    isa: Isa,
    from: *const R,
    to: *mut R,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    let copies = workspace.slice(plan.workspace_elements())?;
    // SAFETY: guaranteed by the caller.
    unsafe { staged::run(plan, isa, (R::ONE, R::ZERO), [from, &R::ONE], [false; 2], to, copies) };
    Ok(())
}
