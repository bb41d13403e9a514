//! Tensors distributed over the ranks of a world.

use std::ops::Range;

use ndarray::{ArrayBase, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, RawData, Slice};
use rayon::prelude::*;

use super::error::Rank;
use super::validate::expect_fit;
use super::{Error, Result, World};
use crate::distribution::{Bounds, Distribution, Region};
use crate::io::random;
use crate::kernel::Element;
use crate::memory::{Array, Lent, OutOfMemory, bytes_of_mut, zero_array};

const ZEROED_CHUNK_BYTES: usize = 1 << 20;

/// A distributed tensor. A rank's part is a dense, row-major block in its process. Workers pinned by [`World::place`]
/// touch the blocks first, so pages are in their NUMA domain.
///
/// ```
/// use einsum_dist::{DistTensor, Distribution, World};
/// let world = World::in_process(2);
/// // Rows 0 and 1 on rank 0, row 2 on rank 1.
/// let rows = DistTensor::from_fn(&world, &[3, 2], &Distribution::cut(0, 2), |at| (10 * at[0] + at[1]) as f64);
/// let shapes: Vec<Vec<usize>> = rows.blocks().map(|(_, block)| block.shape().to_vec()).collect();
/// assert_eq!(shapes, [[2, 2], [1, 2]]);
/// // Each rank receives only the elements that it does not have yet.
/// let columns = rows.redistribute(&world, &Distribution::cut(1, 2))?;
/// assert_eq!(columns.gather(&world)?, ndarray::array![[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]].into_dyn());
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DistTensor<T: Element> {
    shape: Vec<usize>,
    distribution: Distribution,
    blocks: Vec<Block<T>>,
}

#[derive(Debug, Clone)]
struct Block<T: Element> {
    rank: usize,
    region: Region,
    values: Array<T>,
}

impl<T: Element> DistTensor<T> {
    /// A tensor of zeros; `shape` is that of the whole tensor.
    ///
    /// # Panics
    /// If [`DistTensor::try_zeros`] fails.
    pub fn zeros(world: &World, shape: &[usize], distribution: &Distribution) -> DistTensor<T> {
        DistTensor::allocate(world, shape, distribution).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`DistTensor::zeros`], but returns errors, on every process if memory runs out on one. Collective.
    ///
    /// # Errors
    /// If the distribution needs more ranks than the world has or cuts a dimension that does not exist. If memory runs
    /// out on a rank ([`Error::Memory`]).
    pub fn try_zeros(world: &World, shape: &[usize], distribution: &Distribution) -> Result<DistTensor<T>> {
        world.agree(DistTensor::allocate(world, shape, distribution))
    }

    /// Like [`DistTensor::try_zeros`], without informing others of a failure.
    pub(super) fn allocate(world: &World, shape: &[usize], distribution: &Distribution) -> Result<DistTensor<T>> {
        expect_fit(shape, distribution, world.ranks())?;
        let first = world.local_ranks().start;
        let block = |rank| {
            let region = distribution.block(shape, rank)?;
            let values = Array::zeros(region.extents()).map_err(|cause| allocation_error(rank, cause));
            let touched = values.map(|mut values| {
                world.shared().by_workers(rank - first, || values.as_mut_slice().into_iter().for_each(touch));
                Block { rank, region, values }
            });
            Some(touched)
        };
        let blocks = world.local_ranks().filter_map(block).collect::<Result<_>>()?;
        Ok(DistTensor { shape: shape.to_vec(), distribution: distribution.clone(), blocks })
    }

    /// A tensor in memory of the caller. `block` returns each local rank's block, if it has one, of these extents: along a
    /// dimension that is cut into several intervals, their indices follow each other.
    ///
    /// # Errors
    /// Those of [`DistTensor::try_zeros`], but only on this process, and if a block has other extents.
    pub fn lent(
        world: &World,
        shape: &[usize],
        distribution: &Distribution,
        mut block: impl FnMut(usize, &[usize]) -> Lent<T>,
    ) -> Result<DistTensor<T>> {
        expect_fit(shape, distribution, world.ranks())?;
        let lent = |rank| {
            let region = distribution.block(shape, rank)?;
            let extents = region.extents();
            let Lent(values) = block(rank, &extents);
            let found = values.view().shape().to_vec();
            Some(if found == extents {
                Ok(Block { rank, region, values })
            } else {
                Err(Error::Usage(format!("the block of rank {rank} has shape {found:?}, not {extents:?}")))
            })
        };
        let blocks = world.local_ranks().filter_map(lent).collect::<Result<_>>()?;
        Ok(DistTensor { shape: shape.to_vec(), distribution: distribution.clone(), blocks })
    }

    /// A tensor from a function of the index in the whole tensor, called for local elements only.
    ///
    /// # Panics
    /// Those of [`DistTensor::zeros`].
    pub fn from_fn(
        world: &World,
        shape: &[usize],
        distribution: &Distribution,
        value: impl Fn(&[usize]) -> T,
    ) -> DistTensor<T> {
        let mut tensor = DistTensor::zeros(world, shape, distribution);
        for block in &mut tensor.blocks {
            for (bounds, stored) in block.region.stored_boxes() {
                for (index, element) in part(block.values.view_mut(), &stored).indexed_iter_mut() {
                    let index: Vec<usize> =
                        index.slice().iter().zip(&bounds).map(|(i, range)| i + range.start).collect();
                    *element = value(&index);
                }
            }
        }
        tensor
    }

    /// A tensor of random values, uniform in [-1, 1), which depend only on the seed, the operand's number and the index
    /// in the whole tensor.
    ///
    /// # Panics
    /// Those of [`DistTensor::zeros`].
    pub fn random(
        world: &World,
        shape: &[usize],
        distribution: &Distribution,
        seed: u64,
        operand: u32,
    ) -> DistTensor<T> {
        let mut tensor = DistTensor::zeros(world, shape, distribution);
        let filled = tensor.fill_random(shape, &vec![0; shape.len()], seed, operand);
        filled.unwrap_or_else(|error| panic!("{error}"));
        tensor
    }

    /// Like [`DistTensor::random`], but returns errors, as [`DistTensor::try_zeros`] does. Collective.
    ///
    /// # Errors
    /// Those of [`DistTensor::try_zeros`].
    pub fn try_random(
        world: &World,
        shape: &[usize],
        distribution: &Distribution,
        seed: u64,
        operand: u32,
    ) -> Result<DistTensor<T>> {
        let filled = DistTensor::allocate(world, shape, distribution).and_then(|mut tensor| {
            tensor.fill_random(shape, &vec![0; shape.len()], seed, operand)?;
            Ok(tensor)
        });
        world.agree(filled)
    }

    /// Fills the tensor from the box at index `corner` of a random tensor ([`DistTensor::random`]) of shape `whole`.
    ///
    /// # Errors
    /// If memory runs out on a local rank whose block is several boxes.
    pub fn fill_random(&mut self, whole: &[usize], corner: &[usize], seed: u64, operand: u32) -> Result<()> {
        for block in &mut self.blocks {
            for (bounds, stored) in block.region.stored_boxes() {
                let bounds = shifted_by(&bounds, corner);
                fill_box(block.rank, block.values.view_mut(), &stored, |values| {
                    random::fill_block(T::DTYPE, seed, operand, whole, &bounds, bytes_of_mut(values));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// The shape of the whole tensor.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The distribution over ranks.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The local blocks, ordered by rank, with their regions. A rank may have none.
    pub fn blocks(&self) -> impl Iterator<Item = (&Region, ArrayViewD<'_, T>)> {
        self.blocks.iter().map(|block| (&block.region, block.values.view()))
    }

    /// Like [`DistTensor::blocks`], but with mutable values.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = (Region, ArrayViewMutD<'_, T>)> {
        self.blocks.iter_mut().map(|block| (block.region.clone(), block.values.view_mut()))
    }

    /// The local first replicas (on the lowest rank with a block); all ranks' have every element once.
    pub fn first_replicas(&self) -> impl Iterator<Item = (&Region, ArrayViewD<'_, T>)> {
        let first = |block: &&Block<T>| self.distribution.is_first_replica(block.rank);
        self.blocks.iter().filter(first).map(|block| (&block.region, block.values.view()))
    }

    /// Copies the local blocks from `whole`, of the tensor's shape.
    ///
    /// # Panics
    /// If the array is smaller than the tensor.
    pub fn assign(&mut self, whole: ArrayViewD<'_, T>) {
        for block in &mut self.blocks {
            for (bounds, stored) in block.region.stored_boxes() {
                part(block.values.view_mut(), &stored).assign(&part(whole.view(), &bounds));
            }
        }
    }

    pub(super) fn copy_to(&self, whole: &mut ArrayViewMutD<'_, T>) {
        for block in self.blocks.iter().filter(|block| self.distribution.summand(block.rank) == Some(0)) {
            for (bounds, stored) in block.region.stored_boxes() {
                part(whole.view_mut(), &bounds).assign(&part(block.values.view(), &stored));
            }
        }
    }

    pub(super) fn block(&self, rank: usize) -> Option<ArrayViewD<'_, T>> {
        self.blocks.iter().find(|block| block.rank == rank).map(|block| block.values.view())
    }

    pub(super) fn block_mut(&mut self, rank: usize) -> Option<ArrayViewMutD<'_, T>> {
        self.blocks.iter_mut().find(|block| block.rank == rank).map(|block| block.values.view_mut())
    }
}

pub(super) fn allocation_error(rank: usize, cause: OutOfMemory) -> Error {
    Error::Memory { rank: Rank::here(rank), cause }
}

/// Writes zeros with the current pool's workers, if there is one.
fn touch<T: Element>(values: &mut [T]) {
    if rayon::current_thread_index().is_some() {
        values.par_chunks_mut(ZEROED_CHUNK_BYTES / size_of::<T>()).for_each(|part| part.fill(T::ZERO));
    }
}

pub(super) fn part<S: RawData>(mut view: ArrayBase<S, IxDyn>, bounds: &[Range<usize>]) -> ArrayBase<S, IxDyn> {
    for (axis, bounds) in bounds.iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::from(bounds.clone()));
    }
    view
}

/// On overflow, indices saturate, and so exceed every array's bounds.
pub(super) fn shifted_by(bounds: &Bounds, corner: &[usize]) -> Bounds {
    let moved =
        |(range, &start): (&Range<usize>, &usize)| start.saturating_add(range.start)..start.saturating_add(range.end);
    bounds.iter().zip(corner).map(moved).collect()
}

pub(super) fn fill_box<T: Element>(
    rank: usize,
    block: ArrayViewMutD<'_, T>,
    stored: &[Range<usize>],
    fill: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    let mut part = part(block, stored);
    if let Some(dense) = part.as_slice_mut() {
        return fill(dense);
    }
    let mut values = zero_array(part.shape()).map_err(|cause| allocation_error(rank, cause))?;
    fill(values.as_slice_mut().unwrap_or_default())?;
    part.assign(&values);
    Ok(())
}
