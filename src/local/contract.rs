//! The plan of one local contraction.
//!
//! Invariants: every index of the index space is visited exactly once; blocks of a [`GemmPlan`] write disjoint elements
//! of out, so any assignment of blocks to threads gives the same bits; the plan depends on layouts and thread count only.

use super::gemm::plan_gemm;
use super::{Dim, GemmPlan, Isa, Layout, Target, cost, fold, partition};
use crate::dims::{Kind, Label, classify};
use crate::dtype::Dtype;

/// Tensors in the order of every array of strides.
const LEFT: usize = 0;
const OUT: usize = 2;

/// Below this many multiply-adds, planning a matrix product costs more than it gains.
const TINY: f64 = 512.0;
/// Below this many multiply-adds, waking a second thread costs more than it gains.
const WORTH_THREADS: f64 = 65_536.0;

/// How to contract two tensors of given layouts on a given number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalContract {
    extents: [Vec<usize>; 3],
    strides: [Vec<isize>; 3],
    dtype: Dtype,
    isa: Isa,
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
}

/// Plain loops over every index: products too small or too thin for matrices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopPlan {
    /// One entry per thread: where its share starts, and the loops over it (outermost first) that step through out.
    pub parts: Vec<([isize; 3], Vec<Dim<3>>)>,
    /// The loops of the sum, outermost first.
    pub sum: Vec<Dim<3>>,
    /// Whether the innermost loop is the last of the sum instead of the last of a part.
    pub sum_inside: bool,
}

/// Plans `left, right -> out`.
///
/// # Panics
/// If the labels are no binary contraction, or a label has different extents.
pub fn plan_contract(left: &Layout, right: &Layout, out: &Layout, dtype: Dtype, target: &Target) -> LocalContract {
    let tensors = [left, right, out];
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
    let empty = |kinds: &[Kind]| kinds.iter().any(|&kind| dims[kind as usize].iter().any(|d| d.extent == 0));
    let body = if empty(&[Kind::C, Kind::M, Kind::N]) {
        Body::Nothing
    } else if empty(&[Kind::K]) {
        Body::Scale
    } else {
        plan_body(dims.map(fold), dtype, target)
    };
    LocalContract {
        extents: tensors.map(|t| t.extents.to_vec()),
        strides: tensors.map(|t| t.strides.to_vec()),
        dtype,
        isa: target.isa,
        body,
    }
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

    /// The element type and the instruction set that it was planned for.
    pub fn kernel(&self) -> (Dtype, Isa) {
        (self.dtype, self.isa)
    }

    /// Elements of workspace that running it takes.
    pub fn workspace_elements(&self) -> usize {
        match &self.body {
            Body::Gemm(plan) => plan.workspace_elements(),
            _ => 0,
        }
    }

    /// Whether a tensor (0 left, 1 right, 2 out) is laid out as this was planned for.
    pub fn fits(&self, tensor: usize, extents: &[usize], strides: &[isize]) -> bool {
        self.extents[tensor] == extents && self.strides[tensor] == strides
    }
}

/// Dimensions are folded and none is empty.
fn plan_body(dims: [Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Body {
    let multiply_adds: f64 = dims.iter().flatten().map(|d| d.extent as f64).product();
    let threads = if multiply_adds < WORTH_THREADS { 1 } else { target.threads.max(1) };
    let loops = plan_loops(&dims, threads);
    if multiply_adds <= TINY {
        return Body::Loops(loops);
    }
    let innermost = loops.innermost();
    let dense = innermost.is_none_or(|d| d.strides.iter().all(|s| s.abs() <= 1));
    let loops_cost = cost::loops(multiply_adds, innermost.map_or(1, |d| d.extent), dense);
    match plan_gemm(&dims, dtype, target) {
        (gemm_cost, gemm) if gemm_cost < loops_cost => Body::Gemm(Box::new(gemm)),
        _ => Body::Loops(loops),
    }
}

fn plan_loops(dims: &[Vec<Dim<3>>; 4], threads: usize) -> LoopPlan {
    let [c, m, n, k] = dims;
    let mut kept: Vec<Dim<3>> = [c, m, n].into_iter().flatten().copied().collect();
    let mut sum = k.clone();
    // Innermost comes the loop with most steps of at most 1, and of those the longest.
    let quality = |d: &Dim<3>| (d.strides.iter().filter(|s| s.abs() <= 1).count(), d.extent);
    let best = |dims: &[Dim<3>]| dims.iter().map(quality).max();
    let sum_inside = best(&sum) > best(&kept);
    for (dims, tensor) in [(&mut kept, OUT), (&mut sum, LEFT)] {
        dims.sort_by_key(|d| std::cmp::Reverse(d.strides[tensor].unsigned_abs()));
        let inner = (0..dims.len()).max_by_key(|&i| quality(&dims[i]));
        if let Some(inner) = inner {
            let dim = dims.remove(inner);
            dims.push(dim);
        }
    }
    let axis = (0..kept.len()).max_by_key(|&i| kept[i].extent);
    let parts = axis.map_or_else(|| vec![([0; 3], Vec::new())], |axis| partition(&kept, axis, threads));
    LoopPlan { parts, sum, sum_inside }
}

impl LoopPlan {
    fn innermost(&self) -> Option<Dim<3>> {
        let kept = self.parts.first().and_then(|(_, dims)| dims.last());
        if self.sum_inside { self.sum.last() } else { kept }.copied()
    }
}
