//! Selects the elements to check and how to compute them, with the fewest operations that fit into memory
//! (`docs/check.md`).
//!
//! The same plan, seed, memory and number of threads give the same strategy. No element is in two batches.

use einsum_dist::Plan;
use einsum_dist::dims::Label;
use einsum_dist::distribution::Intervals;
use einsum_dist::io::random;
use einsum_dist::tree::Tree;

use super::cost::{Cost, Evaluation, fit};
use super::limits::{self, Limits};

const MAX_COMPLETE_OPERATIONS: f64 = 1e9;

pub const SAMPLE_ELEMENTS: usize = 1024;

/// Operations above which samples are computed in batches.
const MIN_SHARED_PRODUCTS: f64 = 1e9;

/// Maximum operations of a second pass, relative to [`MIN_SHARED_PRODUCTS`].
const MAX_SECOND_LOOK_FACTOR: f64 = 10.0;

/// Maximum cost of a direct sum relative to that along the tree.
const INDEPENDENCE_FACTOR: f64 = 2.0;

/// Up to this many operations, a direct sum is always preferred.
const MAX_DIRECT_OPERATIONS: f64 = 1e6;

/// Maximum bytes of a piece that stays in caches.
const CACHED_PIECE_BYTES: f64 = (1u64 << 24) as f64;

/// Maximum error bound of a direct sum, relative to a typical sum of random signs; beyond it, that may look like 0.
const MAX_RELATIVE_BOUND: f64 = 0.01;

/// Pieces per thread in a wave (between waits of threads for each other), if results are small.
const PIECES_PER_THREAD: usize = 16;

/// Maximum result elements in a wave of more than one piece per thread.
const MAX_WAVE_ELEMENTS: usize = 1 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparedElements {
    All,
    /// Only these batches, each with indices of every label of the result.
    Batches(Vec<Vec<Intervals>>),
}

#[derive(Debug, Clone)]
pub struct Strategy {
    pub elements: ComparedElements,
    pub evaluation: Evaluation,
    /// A piece's maximum indices of each label.
    pub sizes: Vec<usize>,
    pub concurrent_pieces: usize,
    /// Pieces with results in memory at the same time.
    pub pieces_per_wave: usize,
    pub operations: f64,
    /// A piece's bytes while it is computed.
    pub bytes: f64,
}

#[derive(Clone, Copy)]
pub struct Choice<'a> {
    pub tree: &'a Tree,
    /// Per multiply-add.
    pub flops: f64,
    /// Bytes available to the check.
    pub most: f64,
    pub threads: usize,
    pub seed: u64,
    pub directly: bool,
}

struct Candidate {
    evaluation: Evaluation,
    sizes: Vec<usize>,
    concurrent_pieces: usize,
    cost: Cost,
    /// A batch's indices of each label of the result.
    grid: Vec<usize>,
    batches: usize,
}

impl<'a> Choice<'a> {
    pub fn new(plan: &Plan, tree: &'a Tree, limits: &Limits, bytes: u64, threads: usize, seed: u64) -> Choice<'a> {
        // Sums of random signs are about this fraction of their absolute sums.
        let cancelled = limits::products(tree).sqrt().recip();
        let directly = limits::steps(tree) < 2 || limits.relative <= MAX_RELATIVE_BOUND * cancelled;
        let flops = plan.dtype.flops_per_multiply_add() as f64;
        Choice { tree, flops, most: bytes as f64, threads, seed, directly }
    }

    pub fn strategy(&self) -> Option<Strategy> {
        let out = &self.tree.nodes[self.tree.root()].labels;
        let extents = self.tree.shape(out);
        let all = self.cheapest(&extents, 1);
        let volume = extents.iter().map(|&extent| extent as f64).product::<f64>();
        match all {
            Some(all)
                if all.cost.products * self.flops <= MAX_COMPLETE_OPERATIONS || volume <= SAMPLE_ELEMENTS as f64 =>
            {
                Some(self.chosen(all, ComparedElements::All))
            }
            _ => {
                let best = self.sample(out, &extents)?;
                let batches = batches(&extents, &best.grid, best.batches, self.seed);
                Some(self.chosen(best, ComparedElements::Batches(batches)))
            }
        }
    }

    fn sample(&self, out: &[Label], extents: &[usize]) -> Option<Candidate> {
        let volume = extents.iter().fold(1usize, |volume, &extent| volume.saturating_mul(extent));
        let count = volume.min(SAMPLE_ELEMENTS);
        let mut grid = vec![1; out.len()];
        let mut best: Option<Candidate> = None;
        loop {
            let elements: usize = grid.iter().product();
            let batches = count.div_ceil(elements);
            // The result may be too small for `batches` disjoint grids.
            let capacity = cells(extents, &grid).iter().fold(1usize, |capacity, &cells| capacity.saturating_mul(cells));
            if let Some(here) = self.cheapest(&grid, batches).filter(|_| capacity >= batches) {
                if here.cost.operations() <= MIN_SHARED_PRODUCTS {
                    return Some(here);
                }
                if best.as_ref().is_none_or(|best| here.cost.operations() < best.cost.operations()) {
                    best = Some(here);
                }
            }
            if elements >= count && best.is_some() {
                return best;
            }
            let wider = (0..grid.len()).filter(|&dim| grid[dim] < extents[dim]).map(|dim| {
                let mut grid = grid.clone();
                grid[dim] = (2 * grid[dim]).min(extents[dim]);
                grid
            });
            let batches = |grid: &[usize]| count as f64 / grid.iter().product::<usize>() as f64;
            let price = |grid: &Vec<usize>| {
                let costs = [Evaluation::Directly, Evaluation::AlongTree]
                    .map(|evaluation| Cost::of(self.tree, evaluation, &self.with(grid)).operations());
                costs[0].min(costs[1]) * batches(grid)
            };
            match wider.min_by(|one, other| price(one).total_cmp(&price(other))) {
                Some(wider) => grid = wider,
                None => return best,
            }
        }
    }

    fn chosen(&self, candidate: Candidate, elements: ComparedElements) -> Strategy {
        let Candidate { evaluation, sizes, concurrent_pieces, cost, .. } = candidate;
        let out = &self.tree.nodes[self.tree.root()].labels;
        let piece: usize = out.iter().map(|label| sizes[label.0 as usize]).product();
        let pieces_per_wave =
            if concurrent_pieces > 1 && piece * PIECES_PER_THREAD * concurrent_pieces <= MAX_WAVE_ELEMENTS {
                PIECES_PER_THREAD * concurrent_pieces
            } else {
                concurrent_pieces
            };
        Strategy {
            elements,
            evaluation,
            sizes,
            concurrent_pieces,
            pieces_per_wave,
            operations: cost.operations(),
            bytes: cost.bytes,
        }
    }

    fn with(&self, grid: &[usize]) -> Vec<usize> {
        let mut sizes = self.tree.extents.clone();
        let out = &self.tree.nodes[self.tree.root()].labels;
        out.iter().zip(grid).for_each(|(label, &size)| sizes[label.0 as usize] = size);
        sizes
    }

    /// A strategy for the same elements along the tree; `None` if it needs too much time or memory.
    pub fn along_tree(&self, strategy: &Strategy) -> Option<Strategy> {
        let out = &self.tree.nodes[self.tree.root()].labels;
        let (grid, batches) = match &strategy.elements {
            ComparedElements::All => (self.tree.shape(out), 1),
            ComparedElements::Batches(batches) => {
                (batches.first()?.iter().map(Intervals::len).collect(), batches.len())
            }
        };
        let candidate = self.evaluated(Evaluation::AlongTree, &grid, batches, f64::INFINITY)?;
        let is_quick = candidate.cost.operations() <= MAX_SECOND_LOOK_FACTOR * MIN_SHARED_PRODUCTS;
        is_quick.then(|| self.chosen(candidate, strategy.elements.clone()))
    }

    fn cheapest(&self, grid: &[usize], batches: usize) -> Option<Candidate> {
        let along_tree = self.evaluated(Evaluation::AlongTree, grid, batches, f64::INFINITY);
        let most = match &along_tree {
            Some(_) if !self.directly => return along_tree,
            Some(along_tree) => (INDEPENDENCE_FACTOR * along_tree.cost.operations()).max(MAX_DIRECT_OPERATIONS),
            None => f64::INFINITY,
        };
        self.evaluated(Evaluation::Directly, grid, batches, most).or(along_tree)
    }

    /// `None` if it does not fit into memory or exceeds `most` operations.
    fn evaluated(&self, evaluation: Evaluation, grid: &[usize], batches: usize, most: f64) -> Option<Candidate> {
        let whole = self.with(grid);
        let each = most / batches as f64;
        let (mut sizes, mut cost) = fit(self.tree, evaluation, &whole, self.most, each)?;
        if cost.bytes > CACHED_PIECE_BYTES
            && let Some((smaller, cheap)) = fit(self.tree, evaluation, &whole, CACHED_PIECE_BYTES, each)
            && cheap.operations() <= 1.05 * cost.operations()
        {
            (sizes, cost) = (smaller, cheap);
        }
        let mut concurrent_pieces = 1;
        let most_each = (self.most / self.threads as f64).min(CACHED_PIECE_BYTES.max(cost.bytes));
        // Each thread computes one piece at a time, in an equal share of the memory.
        if self.threads > 1
            && (batches > 1 || sizes != whole)
            && let Some((smaller, cheap)) = fit(self.tree, evaluation, &whole, most_each, each)
            && cheap.operations() <= 1.5 * cost.operations()
        {
            (sizes, cost, concurrent_pieces) = (smaller, cheap, self.threads);
        }
        let cost = cost.times(batches as f64);
        Some(Candidate { evaluation, sizes, concurrent_pieces, cost, grid: grid.to_vec(), batches })
    }
}

/// Chooses `count` disjoint grids of `grid[d]` indices in dimension `d`, spread over the result.
fn batches(extents: &[usize], grid: &[usize], count: usize, seed: u64) -> Vec<Vec<Intervals>> {
    // A batch has one index in each of `grid[d]` pieces of a dimension, at an offset of its own.
    let cells = cells(extents, grid);
    let unit = |operand: u32, place: u64| f64::midpoint(random::value(seed, operand, place).0, 1.0);
    let shifts: Vec<usize> = extents
        .iter()
        .enumerate()
        .map(|(dim, &extent)| ((unit(u32::MAX - 1, dim as u64) * extent as f64) as usize).min(extent.saturating_sub(1)))
        .collect();
    let volume = cells.iter().fold(1usize, |volume, &cells| volume.saturating_mul(cells));
    let count = volume.min(count);
    let batch = |number: usize| {
        // Each batch has its own range of combinations of offsets.
        let (start, end) = (bound(volume, count, number), bound(volume, count, number + 1));
        let place = start + ((unit(u32::MAX, number as u64) * (end - start) as f64) as usize).min(end - start - 1);
        let first = index(place, &cells);
        let dims = extents.iter().zip(grid).zip(first).zip(&shifts);
        let indices = dims.map(|(((&extent, &size), first), shift)| {
            let mut all: Vec<usize> =
                (0..size).map(|piece| (first + bound(extent, size, piece) + shift) % extent).collect();
            all.sort_unstable();
            Intervals::ascending(all.into_iter().map(|index| index..index + 1))
        });
        indices.collect()
    };
    (0..count).map(batch).collect()
}

fn cells(extents: &[usize], grid: &[usize]) -> Vec<usize> {
    extents.iter().zip(grid).map(|(&extent, &size)| extent / size.max(1)).collect()
}

fn bound(volume: usize, count: usize, piece: usize) -> usize {
    (volume as u128 * piece as u128 / count as u128) as usize
}

fn index(mut place: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &extent) in index.iter_mut().zip(shape).rev() {
        *at = place % extent;
        place /= extent;
    }
    index
}

#[cfg(test)]
mod tests;
