//! Executes a [`LocalContract`] (`docs/kernels.md`).

use super::elementwise::scale_strided;
use super::pointer::{Const, Mut};
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
use super::products;
use super::{Element, OutOfMemory, Tensor, TensorMut, Workspace, available, gemm, has_xsmm, loops, staged};
use crate::local_plan::{Body, KernelFamily, LocalContract, Target};

/// Computes `out = alpha left right + beta out` as planned. If `beta` is 0, `out` is not read. An empty sum is zero.
///
/// # Errors
/// If memory for packing cannot be allocated; `out` is then unchanged.
///
/// # Panics
/// If the plan was made for extents, strides or an element type other than those of the tensors. If the plan requires
/// an instruction set or a library that is not available.
pub fn contract_strided<T: Element>(
    plan: &LocalContract,
    alpha: T,
    left: Tensor<T>,
    right: Tensor<T>,
    beta: T,
    out: TensorMut<T>,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    T::contract(plan, alpha, left, right, beta, out, workspace)
}

pub(super) fn run<T: Element>(
    plan: &LocalContract,
    alpha: T,
    left: Tensor<T>,
    right: Tensor<T>,
    beta: T,
    mut out: TensorMut<T>,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    let (dtype, Target { isa, family, .. }) = plan.kernel();
    assert!(dtype == T::DTYPE && available(isa), "a plan for {} on {}", dtype.name(), isa.name());
    assert!(family == KernelFamily::Own || has_xsmm(), "a plan for LIBXSMM in a build without it");
    let layouts = [(left.extents, left.strides), (right.extents, right.strides), (out.extents, out.strides)];
    for (tensor, (extents, strides)) in layouts.into_iter().enumerate() {
        assert!(plan.fits(tensor, extents, strides), "a plan for tensors of another layout");
    }
    let conjugated = [left.conjugated, right.conjugated];
    match plan.body() {
        Body::Nothing => {}
        Body::Scale => scale_strided(beta, out),
        Body::Loops(body) => {
            let partials = workspace.slice(plan.workspace_elements())?;
            let operands = [left.as_ptr(), right.as_ptr()];
            // SAFETY: `isa` and the layouts are checked above, and the loops visit only indices of the tensors. The
            // elements of a `TensorMut` are distinct, and no other code accesses them.
            unsafe { loops::run(body, isa, (alpha, beta), operands, conjugated, out.as_mut_ptr(), partials) }
        }
        Body::Staged(body) => {
            let copies = workspace.slice(plan.workspace_elements())?;
            let operands = [left.as_ptr(), right.as_ptr()];
            // SAFETY: as above.
            unsafe { staged::run(body, isa, (alpha, beta), operands, conjugated, out.as_mut_ptr(), copies) }
        }
        Body::Gemm(body) => {
            let packed = workspace.slice(plan.workspace_elements())?;
            let operands = ordered([Const(left.as_ptr()), Const(right.as_ptr())], body.swapped);
            let conjugated = ordered(conjugated, body.swapped);
            let arguments = gemm::Arguments { operands, conjugated, out: Mut(out.as_mut_ptr()), alpha, beta };
            // SAFETY: as above; the element type is checked too, and the workspace is as large as the plan requires.
            unsafe { gemm::run(body, isa, family, arguments, packed) }
        }
        #[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
        Body::Products(body) => {
            let buffers = workspace.slice(plan.workspace_elements())?;
            let operands = ordered([Const(left.as_ptr()), Const(right.as_ptr())], body.swapped);
            let conjugated = ordered(conjugated, body.swapped);
            let arguments = gemm::Arguments { operands, conjugated, out: Mut(out.as_mut_ptr()), alpha, beta };
            // SAFETY: as above; plans with this body exist for real types only.
            unsafe { products::run(body, arguments, buffers) }
        }
        #[cfg(not(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        Body::Products(_) => unreachable!("a plan for LIBXSMM, which the assertion above refuses"),
    }
    Ok(())
}

fn ordered<V>([left, right]: [V; 2], swapped: bool) -> [V; 2] {
    if swapped { [right, left] } else { [left, right] }
}
