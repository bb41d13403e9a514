//! Plans operations on one tensor as a [`Permute`], a [`Sum`] or, for sums of short lines, a [`StagedPlan`] that
//! multiplies by 1.

use super::{CopyKind, Dim, Effort, Layout, Loops, Permute, StagedPlan, Sum, Target, fold};
use crate::dtype::Dtype;

/// Minimum contiguous elements in a line of a [`Sum`].
const MIN_LINE: usize = 16;
/// Nanoseconds to transpose 4 bytes, to move another element, to add each further word of 4 bytes, and to start a line
/// of words.
const TRANSPOSED: f64 = 0.19;
const ALONE: f64 = 1.0;
const ADDED: f64 = 0.05;
const LINE: f64 = 1.1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnaryPlan {
    extents: [Vec<usize>; 2],
    strides: [Vec<isize>; 2],
    body: UnaryBody,
    parts: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a plan holds one, and a box would be an allocation")]
pub enum UnaryBody {
    Permute(Permute),
    Sum(Sum),
    /// Of real numbers: complex ones would be multiplied by an imaginary 0, and an infinite part would become NaN.
    Staged(Box<StagedPlan>),
}

/// Plans `out = input`. Repeated labels of `input` are diagonals, labels missing from `out` are summed, and dimensions
/// are permuted.
///
/// # Panics
/// If a label of `out` is repeated or is not in `input`, or if a label has two different extents.
pub fn plan_unary(input: &Layout, out: &Layout, dtype: Dtype, target: &Target) -> UnaryPlan {
    let mut out_loops: Loops<2> =
        (0..out.labels.len()).map(|axis| Dim { extent: out.extents[axis], strides: [0, out.strides[axis]] }).collect();
    let mut sums: Loops<1> = Loops::new();
    for (i, label) in out.labels.iter().enumerate() {
        assert!(!out.labels[..i].contains(label), "label {label:?} is twice in out");
        assert!(input.labels.contains(label), "label {label:?} of out is not in the input");
    }
    for (axis, &label) in input.labels.iter().enumerate() {
        let (extent, stride) = (input.extents[axis], input.strides[axis]);
        let first = input.labels.iter().position(|&l| l == label).unwrap_or(axis);
        let agreed = out.extent(label).unwrap_or(input.extents[first]);
        assert_eq!(agreed, extent, "label {label:?} has extents {agreed} and {extent}");
        if let Some(at) = out.labels.iter().position(|&l| l == label) {
            out_loops[at].strides[0] += stride;
        } else if first == axis {
            let all = (axis..input.labels.len()).filter(|&i| input.labels[i] == label);
            sums.push(Dim { extent, strides: [all.map(|i| input.strides[i]).sum()] });
        }
    }
    let body = if sums.iter().all(|d| d.extent == 1) {
        UnaryBody::Permute(Permute::new(&out_loops, dtype.size(), target.threads))
    } else {
        let sum = Sum::new(&out_loops, &sums, target.threads);
        let short = sum.line.strides[0] != 1 || sum.line.extent < MIN_LINE;
        match short.then(|| staged(&out_loops, &sums, dtype, target)).flatten() {
            Some(plan) => UnaryBody::Staged(Box::new(plan)),
            None => UnaryBody::Sum(sum),
        }
    };
    let tensors = [input, out];
    UnaryPlan {
        extents: tensors.map(|t| t.extents.to_vec()),
        strides: tensors.map(|t| t.strides.to_vec()),
        body,
        parts: parts(dtype),
    }
}

fn parts(dtype: Dtype) -> usize {
    1 + usize::from(dtype.is_complex())
}

fn staged(out_loops: &[Dim<2>], sums: &[Dim<1>], dtype: Dtype, target: &Target) -> Option<StagedPlan> {
    let parts = parts(dtype);
    let real = if dtype.size() / parts == 4 { Dtype::Float32 } else { Dtype::Float64 };
    let dim = |extent, [from, to]: [isize; 2]| Dim { extent, strides: [from * parts as isize, 0, to * parts as isize] };
    let out = out_loops.iter().map(|out| dim(out.extent, out.strides));
    let out = out.chain([Dim { extent: parts, strides: [1, 0, 1] }]);
    let sum = sums.iter().map(|sum| dim(sum.extent, [sum.strides[0], 0]));
    StagedPlan::if_large(&[Vec::new(), out.collect(), Vec::new(), sum.collect()].map(fold), real, target)
}

impl UnaryPlan {
    pub fn effort(&self, element: usize) -> Effort {
        let word = (element as f64 / 4.0).max(1.0);
        let [from, to] = self.extents.each_ref().map(|extents| extents.iter().product::<usize>() as f64);
        let (nanoseconds, threads) = match &self.body {
            UnaryBody::Staged(plan) => return plan.effort(),
            UnaryBody::Permute(permute) => {
                let each = match permute.kind() {
                    CopyKind::Lines { .. } | CopyKind::Spread => 0.0,
                    CopyKind::Tiles { .. } => TRANSPOSED * word,
                    CopyKind::Elements => ALONE,
                };
                (each * to, permute.shares())
            }
            UnaryBody::Sum(sum) => {
                let lines = (sum.units() * sum.steps()) as f64;
                (LINE * word * lines + ADDED * (word - 1.0) * from, sum.threads)
            }
        };
        Effort { slowdown: 0.0, nanoseconds, bytes: (from + to) * element as f64, hidden: 0.0, threads }
    }

    pub fn workspace_elements(&self) -> usize {
        match &self.body {
            UnaryBody::Staged(plan) => plan.workspace_elements().div_ceil(self.parts),
            UnaryBody::Permute(_) | UnaryBody::Sum(_) => 0,
        }
    }

    /// Read-only, because kernels access its offsets without bounds checks.
    pub fn body(&self) -> &UnaryBody {
        &self.body
    }

    /// Whether a tensor (0 is `input`, 1 is `out`) has the planned layout.
    pub fn fits(&self, tensor: usize, extents: &[usize], strides: &[isize]) -> bool {
        self.extents[tensor] == extents && self.strides[tensor] == strides
    }
}
