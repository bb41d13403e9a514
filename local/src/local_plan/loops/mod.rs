//! Plans contractions other than matrix products (`docs/kernels.md`).
//!
//! Invariants: shares visit each index once; partial results of a split sum are added in a fixed order, and blocks of a
//! long sum ([`SumBlocks`]) pairwise. Strides in a nest are in the operand order of [`LoopPlan::swapped`]. No loop of a
//! nest is empty. Nothing depends on the instruction set.

mod blocks;
mod choice;
mod choose;
mod cut;
mod price;

use super::{Dim, Effort, fold::fold};
use crate::dtype::Dtype;
pub use blocks::SumBlocks;
use choice::Loop;
pub(super) use price::{shared, useful_threads};

const OUT: usize = 2;
const NO_LOOP: Dim<3> = Dim { extent: 1, strides: [0; 3] };
/// So that threads share no cache line of partial results.
const ALIGN: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopPlan {
    /// Whether the nests' first operand is the contraction's right one.
    pub swapped: bool,
    pub shares: Vec<ThreadShare>,
    /// The partial results, if the shares split the sum.
    pub partials: Option<Partials>,
    price: u64,
    /// Picoseconds on one thread without the traffic.
    work: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadShare {
    /// Where the share's loops start in both operands, and in `out` or its partial result.
    pub start: [isize; 3],
    pub nest: Nest,
    pub blocks: Option<SumBlocks>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partials {
    /// Loops over `out`, with strides in a dense partial result and in `out`.
    pub out_loops: Vec<Dim<2>>,
    pub start: isize,
    pub step: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nest {
    Line(Line),
    Dots(Dots),
    Strided(StridedNest),
}

/// The innermost loop is one of `out`, with stride 1 in the first operand and `out`, and 0 or 1 in the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Loops of `out` around blocks of `row_block` rows and `chunk` lanes.
    pub outer: Vec<Dim<3>>,
    /// Loops of the sum around `terms`, its innermost, all inside a block.
    pub sum: Vec<Dim<3>>,
    pub terms: Dim<3>,
    /// A loop of `out`; with stride 0 in the first operand, several rows share its elements and are computed together.
    pub rows: Dim<3>,
    pub lanes: Dim<3>,
    pub row_block: usize,
    pub chunk: usize,
    /// Whether stores bypass the caches, because `out` is too large for any and written once.
    pub streams: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dots {
    /// Loops of `out` around chunks (ranges) of `lanes`, each around tiles of rows and columns.
    pub outer: Vec<Dim<3>>,
    /// Loops of the sum in a tile, around the lanes.
    pub sum: Vec<Dim<3>>,
    pub rows: Dim<3>,
    /// A loop of `out` with a nonzero stride in the second operand only, of extent 1 if `rows` has one there too.
    pub cols: Dim<3>,
    pub lanes: Dim<3>,
    pub chunk: usize,
}

/// Loops with any strides. The fourth stride is 1 for loops of the sum, so a fourth offset of 0 marks the first visit
/// to an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StridedNest {
    /// Loops of `out`, around `sum`, around blocks.
    pub outer: Vec<Dim<4>>,
    pub sum: Vec<Dim<4>>,
    /// Each tensor's loop with the smallest stride, in blocks of `sizes`; the last is innermost.
    pub blocked: [Dim<4>; 3],
    pub sizes: [usize; 3],
}

/// Dimensions of kinds c (batch), m (rows), n (columns) and k (sum), fused with `fold`, with no extent of 0.
pub fn plan_loops(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, threads: usize) -> LoopPlan {
    let (mut start, mut loops) = choose::oriented(dims);
    let (choice, [work, traffic]) = choose::best(&loops, dtype);
    let price = work + traffic;
    let swapped = choice.swapped();
    if swapped {
        start.swap(0, 1);
        loops.iter_mut().for_each(|l| l.dim.strides.swap(0, 1));
    }
    let cut = cut::cut(&loops, &choice, price::useful_threads(price, threads));
    let parts = cut.as_ref().map_or(1, |cut| cut.parts);
    let splits_sum = cut.as_ref().is_some_and(|cut| loops[cut.axis].sum);
    let partials = splits_sum.then(|| dense(&mut loops, start[OUT]));
    let mut workspace = partials.as_ref().map_or(0, |partials| parts * partials.step);
    if partials.is_some() {
        start[OUT] = 0;
    }
    let shares = (0..parts).map(|part| {
        let mut loops = loops.clone();
        let mut start = start;
        if let Some(cut) = &cut {
            let dim = &mut loops[cut.axis].dim;
            let (from, to) = (cut.bound(part, dim.extent), cut.bound(part + 1, dim.extent));
            (0..3).for_each(|t| start[t] += dim.strides[t] * from as isize);
            dim.extent = to - from;
        }
        if let Some(partials) = &partials {
            start[OUT] = (part * partials.step) as isize;
        }
        let blocks = SumBlocks::new(&mut loops, &choice, dtype, workspace);
        workspace += blocks.as_ref().map_or(0, SumBlocks::workspace_elements);
        ThreadShare { start, nest: choice.nest(&loops, dtype.size()), blocks }
    });
    let shares: Vec<ThreadShare> = shares.collect();
    let added = partials.as_ref().map_or(0, |partials| parts * partials.step);
    let price = price::shared(price, parts, added);
    let [price, work] = [price, work].map(|nanoseconds| (nanoseconds * 1000.0) as u64);
    LoopPlan { swapped, shares, partials, price, work }
}

fn dense(loops: &mut [Loop], start: isize) -> Partials {
    let mut elements = 1;
    let mut out_loops = Vec::new();
    for l in loops.iter_mut().rev().filter(|l| !l.sum) {
        out_loops.push(blocks::make_dense(&mut l.dim, elements));
        elements *= l.dim.extent;
    }
    out_loops.reverse();
    Partials { out_loops: fold(out_loops), start, step: blocks::step(elements) }
}

impl LoopPlan {
    pub fn workspace_elements(&self) -> usize {
        let partials = self.partials.as_ref().map_or(0, |partials| partials.step * self.shares.len());
        let blocks = self.shares.iter().filter_map(|share| share.blocks.as_ref());
        partials + blocks.map(SumBlocks::workspace_elements).sum::<usize>()
    }

    /// In nanoseconds, with each share on its own core.
    pub fn cost(&self) -> f64 {
        self.price as f64 / 1000.0
    }

    /// For tensors of `bytes` bytes.
    pub(super) fn effort(&self, bytes: f64) -> Effort {
        Effort::of_loops(self.work as f64 / 1000.0, bytes, self.shares.len())
    }
}

#[cfg(test)]
mod tests;
