//! Plans contractions of a long dimension with short ones, such as a tall matrix times a small one (`docs/kernels.md`).
//!
//! Invariants: a share (one thread's work) is consecutive blocks. If the long loop is one of `out`, blocks are disjoint
//! there; otherwise their sums are added pairwise, and those of shares in order. The first operand changes along the
//! lanes.

mod windows;

use std::cmp::Reverse;

use super::loops::{shared, useful_threads};
use super::{CACHE_LINE, Dim, Effort, Isa, Target};
use crate::dtype::Dtype;
pub use windows::{MAX_ODD_SEGMENT, MAX_SEGMENT, PATTERNS, Pick, Windows};

const OUT: usize = 2;

/// Minimum extent of a long loop of `out`, and of the sum, whose order of additions differs from other plans'.
const MIN_LONG: usize = 64;
const MIN_LONG_SUM: usize = 4096;
const MIN_MULTIPLY_ADDS: f64 = 16_384.0;
/// Maximum additions in a chain of the shortest vectors.
const MAX_CHAIN: usize = 192;
/// Vectors computed together, to hide the latency of additions.
pub const TOGETHER: usize = 4;
const CHAINED_BYTES: usize = 16 * TOGETHER;
/// Columns and blocks are multiples of this number of lanes. Columns are as much further apart, to use different cache
/// sets.
const GRAIN: usize = 16;
/// Few enough to load the next block while this one is computed.
const MAX_LANES: usize = 128;
/// Minimum lanes, if they fit into a quarter of the second-level cache.
const MIN_LANES: usize = 64;
pub const MAX_PICKED: usize = 16;
/// Maximum elements of `out`, times terms of their sums, per lane.
const MAX_SHORT: usize = 1024;
/// Maximum multiply-adds per element that a lane moves; beyond, matrix products reuse elements better.
const MAX_REUSE: f64 = 4.0;
const MAX_BATCH_REUSE: f64 = 2.5;
/// Adjacent columns of a real matrix, or a multiple, for which matrix products are faster.
const WHOLE_COLUMNS: usize = 16;
/// Maximum multiply-adds in a batch's product.
const MAX_PRODUCT: usize = 256;
/// Nanoseconds to start a block, to start the sums of a few vectors, to multiply and add a vector, for each step to
/// copy a vector, and to move a byte between memory and the core.
const START: f64 = 13.0;
const SUM_START: f64 = 1.3;
const STEP: f64 = 0.1;
const COPY_STEP: f64 = 0.13;
const MEMORY_BYTE: f64 = 0.08;
/// Traffic of columns relative to windows, because memory waits while a block is computed, and more if columns fill the
/// first-level cache.
const NEAR: f64 = 1.1;
const FAR: f64 = 1.25;
/// Steps to copy a vector in square tiles.
const TILE_STEPS: usize = 9;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedPlan {
    /// Whether the first operand is the contraction's right one.
    pub swapped: bool,
    /// `None` for tensors that are used in place.
    pub columns: [Option<Columns>; 3],
    /// Offsets of the short loops of `out` in all tensors or their columns, and of the sum in both operands.
    pub outs: Vec<[isize; 3]>,
    pub terms: Vec<[isize; 2]>,
    /// Whether the second operand also changes along the lanes.
    pub each: bool,
    /// Whether the long loop is one of the sum.
    pub totals: bool,
    /// For blocks without columns, with empty `outs` and `terms`.
    pub windows: Option<Windows>,
    /// Loops around blocks, outermost first, with strides in both operands and `out`.
    outer: Vec<Dim<3>>,
    long: Dim<3>,
    lanes: usize,
    /// A share's elements in columns, or in all parts of its windows' workspace.
    copied: usize,
    shares: usize,
    price: u64,
    /// Picoseconds on one thread without the traffic, and bytes of traffic.
    work: u64,
    bytes: u64,
}

/// A tensor's block: a column per index of the short loops, with an element per lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Where columns start in a share's workspace, and the elements between them.
    pub at: usize,
    pub lead: usize,
    pub stride: isize,
    /// Adjacent elements of the tensor, ascending.
    pub runs: Vec<Run>,
}

/// `len` elements at an offset in the tensor: the columns from `column` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub offset: isize,
    pub len: usize,
    pub column: usize,
}

impl StagedPlan {
    /// For dimensions of kinds c, m, n and k, fused with `fold`. `None` if none is long with a stride above 1, if the
    /// others are not short, or if a matrix product is faster.
    pub fn new(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Option<StagedPlan> {
        if dims.iter().flatten().any(|dim| dim.extent == 0 || dim.strides.iter().any(|&stride| stride < 0)) {
            return None;
        }
        let (out, sum) = (dims[..3].concat(), &dims[3]);
        let without = |dims: &[Dim<3>], at: usize| [&dims[..at], &dims[at + 1..]].concat();
        let of_out = (0..out.len()).filter(|&at| out[at].extent >= MIN_LONG);
        let of_out = of_out.map(|at| (false, out[at], without(&out, at), sum.clone()));
        let of_sum = (0..sum.len()).filter(|&at| sum[at].extent >= MIN_LONG_SUM);
        let of_sum = of_sum.map(|at| (true, sum[at], out.clone(), without(sum, at)));
        let plans = of_out.chain(of_sum).filter_map(|(totals, long, out, sum)| {
            let short = Short { totals, long, out, sum, outer: Vec::new() };
            short.plan(dtype, target)
        });
        plans.min_by_key(|plan| plan.price)
    }

    /// [`StagedPlan::new`] for enough multiply-adds.
    pub fn if_large(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Option<StagedPlan> {
        let multiply_adds: f64 = dims.iter().flatten().map(|dim| dim.extent as f64).product();
        (multiply_adds >= MIN_MULTIPLY_ADDS).then(|| StagedPlan::new(dims, dtype, target)).flatten()
    }

    /// In nanoseconds, with each share on its own core.
    pub fn cost(&self) -> f64 {
        self.price as f64 / 1000.0
    }

    pub(super) fn effort(&self) -> Effort {
        Effort::of_blocks(self.windows.is_some(), self.work as f64 / 1000.0, self.bytes as f64, self.shares)
    }

    pub fn shares(&self) -> usize {
        self.shares
    }

    pub fn blocks(&self, share: usize) -> Blocks<'_> {
        let [number, end] = [share, share + 1].map(|share| self.count() * share / self.shares);
        Blocks { plan: self, number, end, lane: self.long.extent, start: [0; 3] }
    }

    fn count(&self) -> usize {
        self.outer.iter().map(|dim| dim.extent).product::<usize>() * self.long.extent.div_ceil(self.lanes)
    }

    /// The elements of a share's workspace: for columns or windows, and for the sums of blocks.
    pub fn share_elements(&self) -> [usize; 2] {
        let levels = (self.count() / self.shares + 1).ilog2() as usize + 2;
        let sums = if self.totals { levels * self.outs.len() } else { 0 };
        [self.copied, sums].map(|elements| elements.next_multiple_of(CACHE_LINE))
    }

    pub fn workspace_elements(&self) -> usize {
        self.shares * self.share_elements().iter().sum::<usize>()
    }
}

/// Yields the offsets in both operands and `out`, and the lanes.
pub struct Blocks<'a> {
    plan: &'a StagedPlan,
    number: usize,
    end: usize,
    lane: usize,
    start: [isize; 3],
}

impl Iterator for Blocks<'_> {
    type Item = ([isize; 3], usize);

    #[inline(always)]
    fn next(&mut self) -> Option<([isize; 3], usize)> {
        if self.number == self.end {
            return None;
        }
        let StagedPlan { long, lanes, .. } = *self.plan;
        if self.lane < long.extent {
            (0..3).for_each(|t| self.start[t] += long.strides[t] * lanes as isize);
        } else {
            self.enter();
        }
        let block = (self.start, lanes.min(long.extent - self.lane));
        self.lane += lanes;
        self.number += 1;
        Some(block)
    }
}

impl Blocks<'_> {
    fn enter(&mut self) {
        let StagedPlan { long, lanes, ref outer, .. } = *self.plan;
        let in_long = long.extent.div_ceil(lanes);
        let mut rest = self.number / in_long;
        self.lane = self.number % in_long * lanes;
        self.start = long.strides.map(|stride| stride * self.lane as isize);
        for dim in outer.iter().rev() {
            (0..3).for_each(|t| self.start[t] += dim.strides[t] * (rest % dim.extent) as isize);
            rest /= dim.extent;
        }
    }
}

#[derive(Clone)]
struct Short {
    totals: bool,
    long: Dim<3>,
    out: Vec<Dim<3>>,
    sum: Vec<Dim<3>>,
    outer: Vec<Dim<3>>,
}

impl Short {
    fn plan(mut self, dtype: Dtype, target: &Target) -> Option<StagedPlan> {
        let swapped = self.long.strides[0] == 0;
        if swapped {
            let dims = self.out.iter_mut().chain(&mut self.sum).chain([&mut self.long]);
            dims.for_each(|dim| dim.strides.swap(0, 1));
        }
        if self.long.strides[0] == 0 || self.long.strides.iter().all(|&stride| stride <= 1) {
            return None;
        }
        if self.has_whole_columns(dtype) {
            return None;
        }
        let plans = [self.clone().with_windows(dtype, target), self.with_columns(dtype, target)];
        let plan = plans.into_iter().flatten().min_by_key(|plan| plan.price);
        plan.map(|plan| StagedPlan { swapped, ..plan })
    }

    fn has_whole_columns(&self, dtype: Dtype) -> bool {
        let is_whole = |dim: &Dim<3>| dim.strides == [0, 1, 1] && dim.extent.is_multiple_of(WHOLE_COLUMNS);
        self.long.strides[1] == 0 && !dtype.is_complex() && !self.sum.is_empty() && self.out.iter().any(is_whole)
    }

    fn has_large_products(&self, dtype: Dtype, target: &Target) -> bool {
        let only_in = |t: usize| self.out.iter().any(|dim| dim.strides[1 - t] == 0);
        let most = if target.isa == Isa::Avx2 { target.lanes(dtype) * 8 } else { MAX_PRODUCT };
        !dtype.is_complex() && only_in(0) && only_in(1) && self.long.strides[1] != 0 && self.steps() > most
    }

    fn with_windows(mut self, dtype: Dtype, target: &Target) -> Option<StagedPlan> {
        if self.has_large_products(dtype, target) {
            return None;
        }
        let windows = Windows::new(&mut self, dtype, target)?;
        let (lanes, copied) = (windows.lanes(), windows.parts().iter().sum());
        let nanoseconds = START * 2.0 + lanes as f64 * windows.nanoseconds(dtype, target);
        let plan = StagedPlan { copied, windows: Some(windows), ..self.empty(lanes) };
        Some(self.shared(plan, nanoseconds, dtype, target))
    }

    fn with_columns(mut self, dtype: Dtype, target: &Target) -> Option<StagedPlan> {
        let most = if self.long.strides[1] == 0 { MAX_REUSE } else { MAX_BATCH_REUSE };
        if self.steps() as f64 > self.elements() as f64 * most {
            return None;
        }
        let lanes = self.lanes(dtype, target)?;
        let terms: usize = self.sum.iter().map(|dim| dim.extent).product();
        let vectors = if self.totals { lanes * dtype.size() / CHAINED_BYTES + TOGETHER } else { 1 };
        if terms * vectors > MAX_CHAIN {
            return None;
        }
        self.out.sort_by_key(|dim| Reverse(dim.strides[OUT]));
        let mut plan = self.empty(lanes);
        self.copy(&mut plan);
        let nanoseconds = self.nanoseconds(&plan, dtype, target);
        Some(self.shared(plan, nanoseconds, dtype, target))
    }

    fn empty(&mut self, lanes: usize) -> StagedPlan {
        self.outer.sort_by_key(|dim| Reverse(dim.strides[OUT]));
        StagedPlan {
            swapped: false,
            columns: [None, None, None],
            outs: Vec::new(),
            terms: Vec::new(),
            each: self.long.strides[1] != 0,
            totals: self.totals,
            windows: None,
            outer: self.outer.clone(),
            long: self.long,
            lanes,
            copied: 0,
            shares: 1,
            price: 0,
            work: 0,
            bytes: 0,
        }
    }

    fn shared(&self, mut plan: StagedPlan, block: f64, dtype: Dtype, target: &Target) -> StagedPlan {
        let lanes = self.outer.iter().map(|dim| dim.extent).product::<usize>() * self.long.extent;
        let bytes = self.elements().saturating_mul(plan.lanes).saturating_mul(dtype.size());
        let waits = match bytes <= target.caches.l1 / 3 {
            _ if plan.windows.is_some() || plan.totals => 1.0,
            true => NEAR,
            false => FAR,
        };
        let (work, bytes) = (lanes as f64 / plan.lanes as f64 * block, self.bytes(dtype));
        let traffic = if bytes <= target.caches.l2 as f64 { 0.0 } else { bytes * MEMORY_BYTE };
        let time = work + traffic * waits;
        (plan.work, plan.bytes) = ((work * 1000.0) as u64, bytes as u64);
        plan.shares = useful_threads(time, target.threads).min(plan.count());
        let added = if self.totals { plan.shares * plan.outs.len() } else { 0 };
        plan.price = (shared(time, plan.shares, added) * 1000.0) as u64;
        plan
    }

    /// A block's lanes. Loops of `out` move around the blocks until few elements are left per lane.
    fn lanes(&mut self, dtype: Dtype, target: &Target) -> Option<usize> {
        loop {
            let bytes = self.elements().saturating_mul(dtype.size());
            let near = (target.caches.l1 / 4 * 3 / bytes).max((target.caches.l2 / 4 / bytes).min(MIN_LANES));
            let lanes = near / GRAIN * GRAIN;
            if lanes >= GRAIN && self.steps() <= MAX_SHORT {
                return Some(lanes.min(MAX_LANES).min(self.long.extent.next_multiple_of(GRAIN)));
            }
            if self.totals {
                return None;
            }
            let far = (0..self.out.len()).max_by_key(|&at| self.out[at].strides.iter().copied().max())?;
            self.outer.push(self.out.remove(far));
        }
    }

    fn steps(&self) -> usize {
        self.out.iter().chain(&self.sum).map(|dim| dim.extent).fold(1, usize::saturating_mul)
    }

    fn elements(&self) -> usize {
        (0..3).filter(|&t| self.long.strides[t] != 0).map(|t| self.elements_of(t)).fold(0, usize::saturating_add)
    }

    fn has_gaps(&self, t: usize) -> bool {
        let mut loops: Vec<_> = self.out.iter().chain(&self.sum).filter(|dim| dim.strides[t] != 0).collect();
        loops.sort_by_key(|dim| dim.strides[t]);
        let mut elements = 1;
        loops.iter().any(|dim| {
            let has_gap = dim.strides[t] != elements as isize;
            elements *= dim.extent;
            has_gap
        })
    }

    fn elements_of(&self, t: usize) -> usize {
        let moving = self.out.iter().chain(&self.sum).filter(|dim| dim.strides[t] != 0);
        moving.map(|dim| dim.extent).fold(1, usize::saturating_mul)
    }

    fn copy(&self, plan: &mut StagedPlan) {
        let mut short = [self.out.as_slice(), &self.sum].concat();
        for t in (0..3).filter(|&t| self.long.strides[t] > 1) {
            let mut loops: Vec<usize> = (0..short.len()).filter(|&at| short[at].strides[t] != 0).collect();
            loops.sort_by_key(|&at| short[at].strides[t]);
            let (lead, stride) = (plan.lanes + GRAIN, self.long.strides[t]);
            let mut offsets = vec![0];
            for at in loops {
                let Dim { extent, strides } = short[at];
                short[at].strides[t] = (offsets.len() * lead) as isize;
                let inner = offsets;
                offsets = (0..extent as isize).flat_map(|i| inner.iter().map(move |o| o + i * strides[t])).collect();
            }
            let elements = offsets.len() * lead;
            plan.columns[t] = Some(Columns { at: plan.copied, lead, stride, runs: runs(&offsets) });
            plan.copied += elements;
        }
        let (out, sum) = short.split_at(self.out.len());
        plan.outs = offsets(out);
        plan.terms = offsets(sum).into_iter().map(|[first, second, _]| [first, second]).collect();
    }

    fn nanoseconds(&self, plan: &StagedPlan, dtype: Dtype, target: &Target) -> f64 {
        let vectors = plan.lanes.div_ceil(target.lanes(dtype)) as f64;
        let step = STEP * if dtype.is_complex() { 2.5 } else { 1.0 };
        let sum = SUM_START * (vectors / 4.0).ceil() + vectors * step * plan.terms.len() as f64;
        let copies = plan.columns.iter().flatten().map(|columns| columns.nanoseconds(plan.lanes, dtype, target));
        START + copies.sum::<f64>() + plan.outs.len() as f64 * sum
    }

    /// Bytes moved to and from memory, again for outer loops in which a tensor does not change.
    fn bytes(&self, dtype: Dtype) -> f64 {
        let bytes = |t: usize| {
            let moving = self.out.iter().chain(&self.sum).chain([&self.long]).filter(|dim| dim.strides[t] != 0);
            let elements: f64 = moving.chain(&self.outer).map(|dim| dim.extent as f64).product();
            elements * dtype.size() as f64
        };
        (0..3).map(bytes).sum()
    }
}

impl Columns {
    fn nanoseconds(&self, lanes: usize, dtype: Dtype, target: &Target) -> f64 {
        let of_run = |run: &Run| {
            let steps = match run.len {
                len if self.stride != len as isize => TILE_STEPS,
                len => steps(len).unwrap_or(TILE_STEPS),
            };
            let vectors = run.len * lanes.div_ceil(target.lanes(dtype));
            (vectors * (steps + 2)) as f64 * COPY_STEP
        };
        self.runs.iter().map(of_run).sum()
    }
}

/// Steps to pick so many columns from vectors; `None` if they are transposed in square tiles.
const fn steps(columns: usize) -> Option<usize> {
    let levels = columns.trailing_zeros() as usize;
    match columns >> levels {
        odd if columns <= MAX_PICKED && odd <= 9 => Some(levels + odd - 1),
        _ => None,
    }
}

fn offsets(loops: &[Dim<3>]) -> Vec<[isize; 3]> {
    loops.iter().fold(vec![[0; 3]], |outer, dim| {
        let all = outer.iter().flat_map(|at| (0..dim.extent as isize).map(move |i| (at, i)));
        all.map(|(at, i)| [0, 1, 2].map(|t| at[t] + i * dim.strides[t])).collect()
    })
}

fn runs(offsets: &[isize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (column, &offset) in offsets.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.offset + run.len as isize == offset => run.len += 1,
            _ => runs.push(Run { offset, len: 1, column }),
        }
    }
    runs
}

#[cfg(test)]
mod tests;
