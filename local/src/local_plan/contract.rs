//! Plans the contraction of two tensors in one process.
//!
//! Invariants: every index is visited once. Shares (each one thread's work) write disjoint elements of `out` or of
//! partial sums, so results are bitwise identical whichever threads run them. A plan depends only on layouts, element
//! type and target.

use super::gemm::{plan_gemm, price_gemm};
use super::{
    Dim, Effort, GemmPlan, KernelFamily, Layout, LoopPlan, Price, SmallBatchPlan, StagedPlan, Target, fold, plan_loops,
};
use crate::dims::{Kind, Label, classify};
use crate::dtype::Dtype;

/// Up to this many multiply-adds, planning a matrix product costs more than it saves.
const MIN_GEMM_MULTIPLY_ADDS: f64 = 512.0;
/// Fewer multiply-adds do not pay for waking a second thread in loops.
const MIN_PARALLEL_LOOP_MULTIPLY_ADDS: f64 = 65_536.0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalContract {
    extents: [Vec<usize>; 3],
    strides: [Vec<isize>; 3],
    dtype: Dtype,
    target: Target,
    body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// `out` has no elements.
    Nothing,
    /// The sum has no terms: `out` is only scaled.
    Scale,
    Loops(LoopPlan),
    Staged(Box<StagedPlan>),
    Gemm(Box<GemmPlan>),
    /// Batches of small products for LIBXSMM, which the executing build must include.
    Products(SmallBatchPlan),
}

/// Plans `left, right -> out`.
///
/// # Panics
/// If the labels do not describe a binary contraction, or a label has two different extents.
pub fn plan_contract(left: &Layout, right: &Layout, out: &Layout, dtype: Dtype, target: &Target) -> LocalContract {
    // LIBXSMM lacks complex types.
    let family = if dtype.is_complex() { KernelFamily::Own } else { target.family };
    let mut target = Target { family, ..*target };
    let tensors = [left, right, out];
    let dims = dims_of(tensors);
    let body = match trivial_body(&dims) {
        Some(body) => body,
        None => plan_body(dims.map(fold), dtype, &target),
    };
    if target.family == KernelFamily::Mixed {
        target.family = if matches!(body, Body::Products(_)) { KernelFamily::Xsmm } else { KernelFamily::Own };
    }
    LocalContract {
        extents: tensors.map(|t| t.extents.to_vec()),
        strides: tensors.map(|t| t.strides.to_vec()),
        dtype,
        target,
        body,
    }
}

/// In a fraction of [`plan_contract`]'s time, with the same panics.
pub fn price_contract(left: &Layout, right: &Layout, out: &Layout, dtype: Dtype, target: &Target) -> Price {
    let dims = dims_of([left, right, out]);
    if trivial_body(&dims).is_some() {
        // At most, `out` is filled.
        let effort = Effort { bytes: bytes(&dims, dtype), threads: target.threads, ..Effort::default() };
        return Price { nanoseconds: 0.0, reliable: true, effort };
    }
    let dims = dims.map(fold);
    let (multiply_adds, threads) = size(&dims, target);
    let loops = plan_loops(&dims, dtype, threads);
    let (nanoseconds, effort) = match StagedPlan::if_large(&dims, dtype, target) {
        Some(staged) if staged.cost() < loops.cost() => (staged.cost(), staged.effort()),
        _ => (loops.cost(), loops.effort(bytes(&dims, dtype))),
    };
    let loops = Price { nanoseconds, reliable: true, effort };
    if only_loops_apply(&dims, multiply_adds) {
        return loops;
    }
    let gemm = price_gemm(&dims, dtype, target);
    if gemm.nanoseconds < loops.nanoseconds { gemm } else { loops }
}

fn dims_of(tensors: [&Layout; 3]) -> [Vec<Dim<3>>; 4] {
    let [left, right, out] = tensors;
    let kinds = match classify(left.labels, right.labels, out.labels) {
        Ok(kinds) => kinds,
        Err(error) => panic!("no contraction {:?}, {:?} -> {:?}: {error}", left.labels, right.labels, out.labels),
    };
    let mut dims: [Vec<Dim<3>>; 4] = Default::default();
    for (label, kind) in kinds.iter() {
        let dim = Dim { extent: agreed_extent(label, tensors), strides: tensors.map(|t| t.stride(label)) };
        // With stride 0 in one operand, it is a row or column dimension of the other.
        let kind = match (kind, dim.strides) {
            (Kind::C, [l, 0, _]) if l != 0 => Kind::M,
            (Kind::C, [0, r, _]) if r != 0 => Kind::N,
            (kind, _) => kind,
        };
        dims[kind as usize].push(dim);
    }
    dims
}

fn trivial_body(dims: &[Vec<Dim<3>>; 4]) -> Option<Body> {
    let empty = |kinds: &[Kind]| kinds.iter().any(|&kind| dims[kind as usize].iter().any(|d| d.extent == 0));
    if empty(&[Kind::C, Kind::M, Kind::N]) {
        return Some(Body::Nothing);
    }
    empty(&[Kind::K]).then_some(Body::Scale)
}

fn bytes(dims: &[Vec<Dim<3>>; 4], dtype: Dtype) -> f64 {
    let elements = |t: usize| {
        let moving = dims.iter().flatten().filter(|dim| dim.strides[t] != 0);
        moving.map(|dim| dim.extent as f64).product::<f64>()
    };
    (0..3).map(elements).sum::<f64>() * dtype.size() as f64
}

fn agreed_extent(label: Label, tensors: [&Layout; 3]) -> usize {
    let mut extents = tensors.iter().filter_map(|t| t.extent(label));
    let first = extents.next().unwrap_or(1);
    for other in extents {
        assert_eq!(first, other, "label {label:?} has extents {first} and {other}");
    }
    first
}

impl LocalContract {
    /// Read-only, because kernels access its offsets without bounds checks.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The element type and the target, whose family is [`KernelFamily::Own`] or [`KernelFamily::Xsmm`].
    pub fn kernel(&self) -> (Dtype, Target) {
        (self.dtype, self.target)
    }

    pub fn workspace_elements(&self) -> usize {
        match &self.body {
            Body::Gemm(plan) => plan.workspace_elements(),
            Body::Loops(plan) => plan.workspace_elements(),
            Body::Staged(plan) => plan.workspace_elements(),
            Body::Products(plan) => plan.workspace_elements(),
            Body::Nothing | Body::Scale => 0,
        }
    }

    pub fn shares(&self) -> usize {
        match &self.body {
            Body::Gemm(plan) => plan.grid.shares(),
            Body::Loops(plan) => plan.shares.len(),
            Body::Staged(plan) => plan.shares(),
            Body::Products(plan) => plan.shares,
            Body::Nothing | Body::Scale => 1,
        }
    }

    /// Stores lists that equal another plan's only once.
    pub fn share(&mut self, other: &LocalContract) {
        if let (Body::Gemm(plan), Body::Gemm(other)) = (&mut self.body, &other.body) {
            plan.share(other);
        }
    }

    /// `tensor` is 0 for `left`, 1 for `right` and 2 for `out`.
    pub fn fits(&self, tensor: usize, extents: &[usize], strides: &[isize]) -> bool {
        // Comparing empty (dangling) slices can take hundreds of nanoseconds.
        self.extents[tensor].iter().eq(extents) && self.strides[tensor].iter().eq(strides)
    }
}

fn size(dims: &[Vec<Dim<3>>; 4], target: &Target) -> (f64, usize) {
    let multiply_adds: f64 = dims.iter().flatten().map(|d| d.extent as f64).product();
    (multiply_adds, if multiply_adds < MIN_PARALLEL_LOOP_MULTIPLY_ADDS { 1 } else { target.threads.max(1) })
}

/// Tiny contractions, and those where a matrix product could not reuse elements.
fn only_loops_apply(dims: &[Vec<Dim<3>>; 4], multiply_adds: f64) -> bool {
    multiply_adds <= MIN_GEMM_MULTIPLY_ADDS || dims[1..].iter().any(Vec::is_empty)
}

/// Dimensions are fused with `fold`, and no extent is 0.
fn plan_body(dims: [Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Body {
    let (multiply_adds, threads) = size(&dims, target);
    if target.family != KernelFamily::Own
        && let Some(products) = SmallBatchPlan::new(&dims, threads)
    {
        return Body::Products(products);
    }
    let loops = plan_loops(&dims, dtype, threads);
    let (cost, body) = match StagedPlan::if_large(&dims, dtype, target) {
        Some(staged) if staged.cost() < loops.cost() => (staged.cost(), Body::Staged(Box::new(staged))),
        _ => (loops.cost(), Body::Loops(loops)),
    };
    if only_loops_apply(&dims, multiply_adds) {
        return body;
    }
    match plan_gemm(&dims, dtype, target) {
        (gemm_cost, gemm) if gemm_cost < cost => Body::Gemm(Box::new(gemm)),
        _ => body,
    }
}
