//! The kernels as functions of arrays, for tests and benchmarks: what a program plans once, these plan in each call.
#![allow(dead_code, reason = "every test binary uses a part")]

use einsum_dist::dims::Label;
use einsum_dist::kernel::{
    Element, OutOfMemory, Reference, ReferenceValue, Workspace, contract_strided, host, unary_strided, widest,
};
use einsum_dist::local_plan::{Isa, Layout, LocalContract, Target, UnaryPlan, plan_contract, plan_unary};
use ndarray::{ArrayViewD, ArrayViewMutD, Dimension};

/// Computes `out = alpha left right + beta out`.
pub fn contract<T: Element>(
    alpha: T,
    left: (&[Label], ArrayViewD<T>),
    right: (&[Label], ArrayViewD<T>),
    beta: T,
    out: (&[Label], ArrayViewMutD<T>),
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    let plan = plan((left.0, &left.1), (right.0, &right.1), (out.0, &out.1.view()), &host());
    contract_planned(&plan, alpha, left.1, right.1, beta, out.1, workspace)
}

/// Plans the contraction of these tensors.
pub fn plan<T: Element>(
    left: (&[Label], &ArrayViewD<T>),
    right: (&[Label], &ArrayViewD<T>),
    out: (&[Label], &ArrayViewD<T>),
    target: &Target,
) -> LocalContract {
    plan_contract(&layout(left), &layout(right), &layout(out), T::DTYPE, target)
}

fn layout<'a, T>((labels, view): (&'a [Label], &'a ArrayViewD<T>)) -> Layout<'a> {
    Layout::new(labels, view.shape(), view.strides())
}

/// Like [`contract`], but with an existing plan for tensors of these layouts.
pub fn contract_planned<T: Element>(
    plan: &LocalContract,
    alpha: T,
    left: ArrayViewD<T>,
    right: ArrayViewD<T>,
    beta: T,
    mut out: ArrayViewMutD<T>,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    contract_strided(plan, alpha, (&left).into(), (&right).into(), beta, (&mut out).into(), workspace)
}

/// Writes `input` to `out`, with the dimensions permuted to the order of `out`. Repeated labels of `input` denote
/// diagonals, and labels missing from `out` are summed over.
pub fn unary<T: Element>(input: (&[Label], ArrayViewD<T>), out: (&[Label], ArrayViewMutD<T>)) {
    let layouts = (layout((input.0, &input.1)), out.1.view());
    let plan = plan_unary(&layouts.0, &layout((out.0, &layouts.1)), T::DTYPE, &host());
    unary_planned(&plan, widest(), input.1.view(), out.1);
}

/// Like [`unary`], but with an existing plan for tensors of these layouts, on the given instruction set.
pub fn unary_planned<T: Element>(plan: &UnaryPlan, isa: Isa, input: ArrayViewD<T>, mut out: ArrayViewMutD<T>) {
    unary_strided(plan, isa, (&input).into(), (&mut out).into(), &mut Workspace::new()).unwrap();
}

/// Computes `out = input` for tensors of equal shape.
pub fn copy<T: Element>(input: ArrayViewD<T>, mut out: ArrayViewMutD<T>) {
    T::combine((&input).into(), T::ZERO, (&mut out).into());
}

/// Computes every element of a [`Reference`], and writes the elements to `out`.
pub fn reference<T: Element>(operands: &[(&[Label], ArrayViewD<T>)], out: (&[Label], ArrayViewMutD<ReferenceValue>)) {
    let (labels, mut out) = out;
    let reference = Reference::new(operands, labels);
    for (index, element) in out.indexed_iter_mut() {
        *element = reference.element(index.slice());
    }
}
