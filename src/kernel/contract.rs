//! Contracts two strided tensors as a [`LocalContract`] says.
//!
//! Blocks of out are shared among threads in a fixed way. Each share packs into its own part of the workspace and keeps
//! a packed block for as long as the loops stay on it; within one call only, so new data is never mistaken for old.

use ndarray::{ArrayViewD, ArrayViewMutD};
use rayon::prelude::*;

use super::gemm::{Matrix, gemm};
use super::pointer::{Const, Mut};
use super::strided::{Combine, Plus, Put, ScalePlus, for_each_offset, threads_for, zip};
use super::{Element, OutOfMemory, Workspace, loops, scale, widest};
use crate::dims::Label;
use crate::local::{Access, Body, Cut, Dim, GemmPlan, Layout, LocalContract, plan_contract};

/// out = alpha left right + beta out; with beta 0, out is not read. A sum over nothing is zero.
///
/// # Errors
/// If there is no memory for packing; out is untouched then.
///
/// # Panics
/// If the labels are no binary contraction of tensors with these extents.
pub fn contract<T: Element>(
    alpha: T,
    left: (&[Label], ArrayViewD<T>),
    right: (&[Label], ArrayViewD<T>),
    beta: T,
    out: (&[Label], ArrayViewMutD<T>),
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    let plan = plan((left.0, &left.1), (right.0, &right.1), (out.0, &out.1.view()));
    contract_planned(&plan, alpha, left.1, right.1, beta, out.1, workspace)
}

/// The plan that [`contract`] would follow for these tensors on the current pool.
///
/// # Panics
/// As [`contract`].
pub fn plan<T: Element>(
    left: (&[Label], &ArrayViewD<T>),
    right: (&[Label], &ArrayViewD<T>),
    out: (&[Label], &ArrayViewD<T>),
) -> LocalContract {
    let layout = |(labels, view)| -> Layout {
        let view: &ArrayViewD<T> = view;
        Layout::new(labels, view.shape(), view.strides())
    };
    plan_contract(&layout(left), &layout(right), &layout(out), size_of::<T>(), rayon::current_num_threads())
}

/// [`contract`] with a plan made before, for tensors of the same layouts.
///
/// # Errors
/// As [`contract`].
///
/// # Panics
/// If the plan is for other extents or strides.
pub fn contract_planned<T: Element>(
    plan: &LocalContract,
    alpha: T,
    left: ArrayViewD<T>,
    right: ArrayViewD<T>,
    beta: T,
    mut out: ArrayViewMutD<T>,
    workspace: &mut Workspace,
) -> Result<(), OutOfMemory> {
    let layouts = [(left.shape(), left.strides()), (right.shape(), right.strides()), (out.shape(), out.strides())];
    for (tensor, (extents, strides)) in layouts.into_iter().enumerate() {
        assert!(plan.fits(tensor, extents, strides), "a plan for tensors of another layout");
    }
    match plan.body() {
        Body::Nothing => {}
        Body::Scale => scale(beta, out),
        Body::Loops(body) => {
            let partials = workspace.slice(plan.workspace_elements())?;
            let operands = [left.as_ptr(), right.as_ptr()];
            // SAFETY: the plan's loops visit the indices of three tensors with the layouts checked above; out is borrowed
            // mutably, so its elements are distinct and nobody else's.
            unsafe { loops::run(body, widest(), alpha, operands, beta, out.as_mut_ptr(), partials) }
        }
        Body::Gemm(body) => {
            let packed = workspace.slice(plan.workspace_elements())?;
            let tensors = (Const(left.as_ptr()), Const(right.as_ptr()), Mut(out.as_mut_ptr()));
            run(body, Scalars { alpha, beta }, tensors, packed);
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Scalars<T> {
    alpha: T,
    beta: T,
}

type Tensors<T> = (Const<T>, Const<T>, Mut<T>);

fn run<T: Element>(plan: &GemmPlan, scalars: Scalars<T>, tensors: Tensors<T>, workspace: &mut [T]) {
    let blocks = plan.blocks();
    match plan.cut {
        Cut::Inside(threads) => Share::new(plan, scalars, tensors, workspace, threads).run(0..blocks),
        Cut::Blocks(shares) => {
            let size = plan.packed_elements().iter().sum::<usize>();
            let mut rest = workspace;
            let mut parts = Vec::with_capacity(shares);
            for _ in 0..shares {
                let (part, tail) = rest.split_at_mut(size);
                parts.push(part);
                rest = tail;
            }
            parts.into_par_iter().enumerate().with_max_len(1).for_each(|(share, part)| {
                let range = blocks * share / shares..blocks * (share + 1) / shares;
                Share::new(plan, scalars, tensors, part, 1).run(range);
            });
        }
    }
}

/// One thread's share of the blocks of out, or all of them.
struct Share<'a, T> {
    plan: &'a GemmPlan,
    scalars: Scalars<T>,
    tensors: Tensors<T>,
    packed: [&'a mut [T]; 3],
    /// The block that the packed left and right hold: offset in the tensor and slab size.
    held: [Option<(isize, usize)>; 2],
    threads: usize,
}

impl<'a, T: Element> Share<'a, T> {
    fn new(
        plan: &'a GemmPlan,
        scalars: Scalars<T>,
        tensors: Tensors<T>,
        workspace: &'a mut [T],
        threads: usize,
    ) -> Self {
        let [left, right, _] = plan.packed_elements();
        let (left, rest) = workspace.split_at_mut(left);
        let (right, out) = rest.split_at_mut(right);
        Share { plan, scalars, tensors, packed: [left, right, out], held: [None; 2], threads }
    }

    fn run(&mut self, blocks: std::ops::Range<usize>) {
        let per_slab = self.plan.blocks() / self.plan.slabs();
        for block in blocks {
            let mut start = [0; 3];
            let mut rest = block % per_slab;
            for dim in self.plan.outer.iter().rev() {
                (0..3).for_each(|t| start[t] += (rest % dim.extent) as isize * dim.strides[t]);
                rest /= dim.extent;
            }
            let first = block / per_slab * self.plan.slab_size;
            (0..3).for_each(|t| start[t] += first as isize * self.plan.slab.strides[t]);
            self.block(start, self.plan.slab_size.min(self.plan.slab.extent - first));
        }
    }

    /// The slab of `count` blocks of out that starts at the given offsets.
    fn block(&mut self, start: [isize; 3], count: usize) {
        let plan = self.plan;
        let packed_out = plan.access[2].packed.is_some();
        let mut beta = if packed_out { T::ZERO } else { self.scalars.beta };
        for_each_offset(&plan.sum, |[l, r, _]| {
            let left = self.operand(0, start[0] + l, count);
            let right = self.operand(1, start[1] + r, count);
            let out = if packed_out { Mut(self.packed[2].as_mut_ptr()) } else { Mut(self.tensors.2.at(start[2])) };
            let [left_access, right_access, out_access] = &plan.access;
            for i in 0..count as isize {
                // SAFETY: the plan's blocks, slabs and sums visit the indices of tensors whose layouts were checked, or
                // of packed buffers that hold `count` matrices; operand() filled theirs. No other share has this block
                // of out, or this workspace. Beta is 0 until the packed out holds values.
                unsafe {
                    gemm(
                        [plan.m, plan.n, plan.k],
                        self.scalars.alpha,
                        matrix(left.at(i * left_access.slab_stride), left_access),
                        matrix(right.at(i * right_access.slab_stride), right_access),
                        beta,
                        matrix(out.at(i * out_access.slab_stride), out_access),
                        self.threads,
                    );
                }
            }
            beta = T::ONE;
        });
        if let Some(dims) = slab_copy(plan, 2, count) {
            let dims = dims.into_iter().map(|d| Dim { strides: [d.strides[1], d.strides[0]], ..d }).collect();
            let out = self.tensors.2.at(start[2]);
            let beta = self.scalars.beta;
            if beta == T::ZERO {
                self.unpack(dims, out, &Put);
            } else if beta == T::ONE {
                self.unpack(dims, out, &Plus);
            } else {
                self.unpack(dims, out, &ScalePlus(beta));
            }
        }
    }

    /// Where the slab of an operand at an offset can be read, packed if the plan says so.
    fn operand(&mut self, which: usize, offset: isize, count: usize) -> Const<T> {
        let tensor = if which == 0 { self.tensors.0 } else { self.tensors.1 };
        let Some(dims) = slab_copy(self.plan, which, count) else { return Const(tensor.at(offset)) };
        let packed = self.packed[which].as_mut_ptr();
        if self.held[which] != Some((offset, count)) {
            let threads = self.threads.min(threads_for(elements(&dims)));
            // SAFETY: the loops visit indices of an operand whose layout was checked, and of the packed buffer, which is
            // dense, holds slab_size >= count matrices and belongs to this share.
            unsafe { zip(dims, tensor.at(offset), packed, &Put, threads) };
            self.held[which] = Some((offset, count));
        }
        Const(packed)
    }

    fn unpack(&self, dims: Vec<Dim<2>>, out: *mut T, combine: &impl Combine<T>) {
        let threads = self.threads.min(threads_for(elements(&dims)));
        // SAFETY: the packed out was written by the products just before; the loops visit elements of this block of out,
        // which no other share has. They hold values wherever `combine` reads, as the caller's beta is not 0 there.
        unsafe { zip(dims, self.packed[2].as_ptr(), out, combine, threads) }
    }
}

/// Loops between a tensor and its packed slab of `count`; `None` if it is used in place.
fn slab_copy(plan: &GemmPlan, tensor: usize, count: usize) -> Option<Vec<Dim<2>>> {
    let access = &plan.access[tensor];
    let mut dims = access.packed.clone()?;
    dims.push(Dim { extent: count, strides: [plan.slab.strides[tensor], access.slab_stride] });
    Some(dims)
}

fn elements(dims: &[Dim<2>]) -> usize {
    dims.iter().map(|d| d.extent).product()
}

fn matrix<P>(start: P, access: &Access) -> Matrix<P> {
    Matrix { start, row_stride: access.row_stride, col_stride: access.col_stride }
}
