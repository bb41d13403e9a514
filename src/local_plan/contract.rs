//! The plan of one local contraction.
//!
//! Invariants: every index of the index space is visited exactly once; shares of a plan write disjoint elements of out or
//! of partial sums, so it does not matter for the bits which thread does which share; a plan depends on layouts, element
//! type and target only.

use super::gemm::{plan_gemm, price_gemm};
use super::{Dim, Family, GemmPlan, Layout, LoopPlan, ProductsPlan, Target, fold, plan_loops};
use crate::dims::{Kind, Label, classify};
use crate::dtype::Dtype;

/// Below this many multiply-adds, planning a matrix product costs more than it gains.
const TINY: f64 = 512.0;
/// Below this many multiply-adds, waking a second thread for loops costs more than it gains.
const LOOPS_WORTH_THREADS: f64 = 65_536.0;

/// How to contract two tensors of given layouts on a given number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalContract {
    extents: [Vec<usize>; 3],
    strides: [Vec<isize>; 3],
    dtype: Dtype,
    target: Target,
    body: Body,
}

/// What is left to do after looking at the extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Out has no elements.
    Nothing,
    /// A sum over nothing: out is only scaled.
    Scale,
    Loops(LoopPlan),
    Gemm(Box<GemmPlan>),
    /// For LIBXSMM only: whoever carries it out has to have that.
    Products(ProductsPlan),
}

/// Plans `left, right -> out`.
///
/// # Panics
/// If the labels are no binary contraction, or a label has different extents.
pub fn plan_contract(left: &Layout, right: &Layout, out: &Layout, dtype: Dtype, target: &Target) -> LocalContract {
    // LIBXSMM has no complex types.
    let family = if dtype.is_complex() { Family::Own } else { target.family };
    let mut target = Target { family, ..*target };
    let tensors = [left, right, out];
    let dims = dims_of(tensors);
    let body = match idle(&dims) {
        Some(body) => body,
        None => plan_body(dims.map(fold), dtype, &target),
    };
    if target.family == Family::Mixed {
        target.family = if matches!(body, Body::Products(_)) { Family::Xsmm } else { Family::Own };
    }
    LocalContract {
        extents: tensors.map(|t| t.extents.to_vec()),
        strides: tensors.map(|t| t.strides.to_vec()),
        dtype,
        target,
        body,
    }
}

/// What a contraction costs: it ranks contractions of one size, and promises nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub nanoseconds: f64,
    /// What is packed lies in runs and out is written where it belongs. Other ways have been off by half.
    pub sure: bool,
}

/// The price of `left, right -> out`. Takes a part of the time that a plan takes.
///
/// # Panics
/// As [`plan_contract`].
pub fn price_contract(left: &Layout, right: &Layout, out: &Layout, dtype: Dtype, target: &Target) -> Price {
    let dims = dims_of([left, right, out]);
    if idle(&dims).is_some() {
        return Price { nanoseconds: 0.0, sure: true };
    }
    let dims = dims.map(fold);
    let (multiply_adds, threads) = size(&dims, target);
    let loops = Price { nanoseconds: plan_loops(&dims, dtype, threads).cost(), sure: true };
    if is_for_loops(&dims, multiply_adds) {
        return loops;
    }
    let gemm = price_gemm(&dims, dtype, target);
    if gemm.nanoseconds < loops.nanoseconds { gemm } else { loops }
}

/// The dimensions of kinds c, m, n and k with their strides.
fn dims_of(tensors: [&Layout; 3]) -> [Vec<Dim<3>>; 4] {
    let [left, right, out] = tensors;
    let kinds = match classify(left.labels, right.labels, out.labels) {
        Ok(kinds) => kinds,
        Err(error) => panic!("no contraction {:?}, {:?} -> {:?}: {error}", left.labels, right.labels, out.labels),
    };
    let mut dims: [Vec<Dim<3>>; 4] = Default::default();
    for (label, kind) in kinds.iter() {
        let dim = Dim { extent: agreed_extent(label, tensors), strides: tensors.map(|t| t.stride(label)) };
        // A dimension that an operand only repeats belongs to the other operand alone.
        let kind = match (kind, dim.strides) {
            (Kind::C, [l, 0, _]) if l != 0 => Kind::M,
            (Kind::C, [0, r, _]) if r != 0 => Kind::N,
            (kind, _) => kind,
        };
        dims[kind as usize].push(dim);
    }
    dims
}

/// What there is to do where there is nothing to multiply.
fn idle(dims: &[Vec<Dim<3>>; 4]) -> Option<Body> {
    let empty = |kinds: &[Kind]| kinds.iter().any(|&kind| dims[kind as usize].iter().any(|d| d.extent == 0));
    if empty(&[Kind::C, Kind::M, Kind::N]) {
        return Some(Body::Nothing);
    }
    empty(&[Kind::K]).then_some(Body::Scale)
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
    /// Read-only, as kernels trust it to stay inside the tensors it was planned for.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The element type and the machine's part that it was planned for; the family is [`Family::Own`] or [`Family::Xsmm`],
    /// whichever multiplies.
    pub fn kernel(&self) -> (Dtype, Target) {
        (self.dtype, self.target)
    }

    /// Elements of workspace that running it takes.
    pub fn workspace_elements(&self) -> usize {
        match &self.body {
            Body::Gemm(plan) => plan.workspace_elements(),
            Body::Loops(plan) => plan.workspace_elements(),
            Body::Products(plan) => plan.workspace_elements(),
            Body::Nothing | Body::Scale => 0,
        }
    }

    /// Holds the lists of offsets that another plan has too where that one does.
    pub fn share(&mut self, other: &LocalContract) {
        if let (Body::Gemm(plan), Body::Gemm(other)) = (&mut self.body, &other.body) {
            plan.share(other);
        }
    }

    /// Whether a tensor (0 left, 1 right, 2 out) is laid out as this was planned for.
    pub fn fits(&self, tensor: usize, extents: &[usize], strides: &[isize]) -> bool {
        // Not by slices: comparing the memory of empty ones, which is nowhere, can take hundreds of nanoseconds.
        self.extents[tensor].iter().eq(extents) && self.strides[tensor].iter().eq(strides)
    }
}

/// Multiply-adds, and how many threads loops are worth.
fn size(dims: &[Vec<Dim<3>>; 4], target: &Target) -> (f64, usize) {
    let multiply_adds: f64 = dims.iter().flatten().map(|d| d.extent as f64).product();
    (multiply_adds, if multiply_adds < LOOPS_WORTH_THREADS { 1 } else { target.threads.max(1) })
}

/// Without rows, columns or a sum there is nothing that a matrix product would use twice.
fn is_for_loops(dims: &[Vec<Dim<3>>; 4], multiply_adds: f64) -> bool {
    multiply_adds <= TINY || dims[1..].iter().any(Vec::is_empty)
}

/// Dimensions are folded and none is empty.
fn plan_body(dims: [Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Body {
    let (multiply_adds, threads) = size(&dims, target);
    if target.family != Family::Own
        && let Some(products) = ProductsPlan::new(&dims, threads)
    {
        return Body::Products(products);
    }
    let loops = plan_loops(&dims, dtype, threads);
    if is_for_loops(&dims, multiply_adds) {
        return Body::Loops(loops);
    }
    let loops_cost = loops.cost();
    match plan_gemm(&dims, dtype, target) {
        (gemm_cost, gemm) if gemm_cost < loops_cost => Body::Gemm(Box::new(gemm)),
        _ => Body::Loops(loops),
    }
}
