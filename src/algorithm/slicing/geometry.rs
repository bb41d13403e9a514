//! The products that each rank computes, in chunks of one task each, and the ranks that store their operands.
//!
//! Invariant: the chunks of all ranks cover every product once. Every rank determines those of all, so they agree on
//! transfers without communication.

use std::borrow::Cow;

use super::{Chunks, Stationary};
use crate::algorithm::contraction::{Contraction, Tensor, most_pieces};
use crate::algorithm::pieces::Rounds;
use crate::algorithm::reorder::{Effort, Reorder};
use crate::dims::Label;
use crate::distribution::{Bounds, Intervals, Region, tile_bounds};

/// Limits the cells (index sets between the block boundaries of all three tensors) of a dimension.
const MAX_CELLS_PER_RANK: usize = 4;

#[derive(Debug, Clone)]
pub struct WorkShare(Vec<(Label, Intervals)>);

impl WorkShare {
    pub fn of(&self, label: Label) -> &Intervals {
        let mine = self.0.iter().find(|(l, _)| *l == label);
        &mine.unwrap_or_else(|| panic!("a share has all dimensions of the contraction")).1
    }

    fn with(&self, label: Label, indices: Intervals) -> WorkShare {
        let mut share = self.clone();
        for (_, mine) in share.0.iter_mut().filter(|(l, _)| *l == label) {
            mine.clone_from(&indices);
        }
        share
    }

    pub fn products(&self, contraction: &Contraction) -> Region {
        contraction.products(|label, _| self.of(label).clone())
    }

    pub fn region(&self, tensor: &Tensor) -> Region {
        Region::from(tensor.labels.iter().map(|&label| self.of(label).clone()).collect::<Vec<_>>())
    }
}

pub struct Geometry<'a> {
    pub contraction: &'a Contraction,
    pub stationary: Stationary,
    pub ranks: usize,
    /// The chunks of each rank, in the order in which it contracts them.
    pub chunks: Vec<Vec<WorkShare>>,
    blocks: [Vec<Option<Region>>; 3],
}

impl<'a> Geometry<'a> {
    pub fn new(contraction: &'a Contraction, stationary: Stationary, chunks: Chunks, ranks: usize) -> Geometry<'a> {
        let Contraction { left, right, out, .. } = contraction;
        let blocks = [left, right, out].map(|tensor| {
            let final_block = |rank| {
                let summand = tensor.distribution.summand(rank)?;
                tensor.distribution.block(&tensor.shape, rank).filter(|_| summand == 0)
            };
            (0..ranks).map(final_block).collect()
        });
        let mut geometry = Geometry { contraction, stationary, ranks, chunks: Vec::new(), blocks };
        let along = geometry.longest(|label| !geometry.stays().labels.contains(&label));
        let sets = along.map(|label| geometry.cells(label)).unwrap_or_default();
        let ordered = |rank| geometry.reordered(rank, geometry.chunks_of(rank, along, &sets), chunks);
        geometry.chunks = (0..ranks).map(ordered).collect();
        geometry
    }

    pub fn stays(&self) -> &'a Tensor {
        match self.stationary {
            Stationary::Left => &self.contraction.left,
            Stationary::Right => &self.contraction.right,
            Stationary::Out => &self.contraction.out,
        }
    }

    pub fn moving(&self) -> Vec<&'a Tensor> {
        let Contraction { left, right, .. } = self.contraction;
        match self.stationary {
            Stationary::Left => vec![right],
            Stationary::Right => vec![left],
            Stationary::Out => vec![left, right],
        }
    }

    pub fn rounds(&self) -> usize {
        self.chunks.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn tensors(&self) -> [&'a Tensor; 3] {
        [&self.contraction.left, &self.contraction.right, &self.contraction.out]
    }

    fn longest(&self, which: impl Fn(Label) -> bool) -> Option<Label> {
        let all = self.tensors().into_iter().flat_map(|tensor| tensor.labels.iter().zip(&tensor.shape));
        let some = all.filter(|(label, _)| which(**label));
        some.min_by_key(|(_, extent)| std::cmp::Reverse(**extent)).map(|(label, _)| *label)
    }

    /// The products of a rank's block of the stationary tensor. Ranks with replicas of the block divide `along`.
    fn share(&self, rank: usize, along: Option<Label>) -> Option<WorkShare> {
        let stays = self.stays();
        let block =
            stays.distribution.block(&stays.shape, rank).filter(|_| stays.distribution.summand(rank) == Some(0))?;
        let mut share: Vec<(Label, Intervals)> = Vec::new();
        for tensor in self.tensors() {
            for (&label, &extent) in tensor.labels.iter().zip(&tensor.shape) {
                if share.iter().all(|(l, _)| *l != label) {
                    let held = stays.labels.iter().position(|&l| l == label).map(|dim| block.dims()[dim].clone());
                    share.push((label, held.unwrap_or_else(|| Intervals::from(0..extent))));
                }
            }
        }
        let share = WorkShare(share);
        let (replicas, number) = (stays.distribution.replicas(), stays.distribution.replica(rank)?);
        // Or the longest, if the stationary tensor has all dimensions.
        let Some(label) = along.or_else(|| self.longest(|_| true)) else { return (number == 0).then_some(share) };
        let part = tile_bounds(share.of(label).len(), replicas, number);
        Some(share.with(label, share.of(label).select(&part)))
    }

    fn cells(&self, label: Label) -> Vec<Intervals> {
        let mut cells: Vec<Intervals> = Vec::new();
        for tensor in self.tensors().into_iter().filter(|tensor| tensor.labels.contains(&label)) {
            let tiles = self.tiles(tensor, label);
            if cells.is_empty() {
                cells = tiles;
                continue;
            }
            let finer = cells.iter().flat_map(|cell| tiles.iter().map(|tile| cell.intersect(tile)));
            let finer: Vec<Intervals> = finer.filter(|cell| !cell.is_empty()).collect();
            if finer.len() <= MAX_CELLS_PER_RANK * self.ranks {
                cells = finer;
            }
        }
        cells.sort_by_key(|cell| cell.ranges()[0].start);
        cells
    }

    fn tiles(&self, tensor: &Tensor, label: Label) -> Vec<Intervals> {
        let dim = tensor.dim(label);
        let mut tiles: Vec<Intervals> = Vec::new();
        for block in (0..self.ranks).filter_map(|rank| self.block(tensor, rank)) {
            let tile = &block.dims()[dim];
            if !tile.is_empty() && !tiles.contains(tile) {
                tiles.push(tile.clone());
            }
        }
        tiles
    }

    fn chunks_of(&self, rank: usize, along: Option<Label>, cells: &[Intervals]) -> Vec<WorkShare> {
        let Some(share) = self.share(rank, along) else { return Vec::new() };
        let Some(along) = along else { return vec![share] };
        let elements =
            |chunk: &WorkShare| self.moving().iter().map(|tensor| chunk.region(tensor).volume()).sum::<usize>();
        let mut chunks: Vec<WorkShare> = Vec::new();
        for cell in cells.iter().map(|cell| cell.intersect(share.of(along))).filter(|cell| !cell.is_empty()) {
            // Small chunks expose less transfer time.
            let chunk = share.with(along, cell.clone());
            let pieces = if self.ranks == 1 { 1 } else { most_pieces(elements(&chunk) as f64).min(cell.len()) };
            let tiles = (0..pieces).map(|piece| cell.select(&tile_bounds(cell.len(), pieces, piece)));
            chunks.extend(tiles.map(|tile| share.with(along, tile)));
        }
        let held = chunks.iter().map(|chunk| self.held(rank, chunk)).enumerate();
        let most = held.max_by_key(|&(at, held)| (held, std::cmp::Reverse(at)));
        chunks.rotate_left(most.map_or(0, |(at, _)| at));
        chunks
    }

    fn held(&self, rank: usize, chunk: &WorkShare) -> usize {
        let own_elements = |tensor: &&Tensor| {
            self.block(tensor, rank).map_or(0, |block| block.intersect(&chunk.region(tensor)).volume())
        };
        self.tensors().iter().map(own_elements).sum()
    }

    fn reordered(&self, rank: usize, list: Vec<WorkShare>, chunks: Chunks) -> Vec<WorkShare> {
        if chunks.order == Reorder::Direct {
            return list;
        }
        let effort = |chunk: &WorkShare| {
            let all: usize = self.tensors().iter().map(|tensor| chunk.region(tensor).volume()).sum();
            let products: u64 = chunk.0.iter().map(|(_, indices)| indices.len() as u64).product();
            Effort { receive: (all - self.held(rank, chunk)) as u64 * chunks.balance.max(1), compute: products }
        };
        let efforts: Vec<Effort> = list.iter().map(effort).collect();
        chunks.order.order(&efforts).into_iter().map(|at| list[at].clone()).collect()
    }
}

impl Rounds for Geometry<'_> {
    fn rounds_of(&self, rank: usize) -> usize {
        self.chunks[rank].len()
    }

    fn piece(&self, tensor: &Tensor, rank: usize, round: usize) -> Option<Region> {
        Some(self.chunks[rank].get(round)?.region(tensor))
    }

    /// If `out` has partial sums, all products are added to the first summand, and only that has a block here.
    fn block(&self, tensor: &Tensor, rank: usize) -> Option<Cow<'_, Region>> {
        let Contraction { left, right, .. } = self.contraction;
        let at = if tensor.node == left.node && tensor.labels == left.labels {
            0
        } else if tensor.node == right.node && tensor.labels == right.labels {
            1
        } else {
            2
        };
        self.blocks[at][rank].as_ref().map(Cow::Borrowed)
    }

    /// Only the replica of `Distribution::replica_for` is a source. For `out`, `target` sends the boxes to `source`.
    fn overlap(&self, tensor: &Tensor, piece: &Region, source: usize, target: usize) -> Vec<Bounds> {
        let distribution = &tensor.distribution;
        let Some(block) = self.block(tensor, source).filter(|block| block.meets(piece)) else { return Vec::new() };
        if distribution.replicas() > 1 && distribution.replica_for(source, target) != Some(source) {
            return Vec::new();
        }
        block.intersect(piece).boxes()
    }
}
