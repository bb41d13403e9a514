//! Tensors from and to `.npy` files: every rank reads and writes its own blocks, of a whole array or of a box of it.
//!
//! Invariant: all ranks agree after every step, so that nobody waits for a rank whose disk is full. Deliberately absent:
//! rearranging blocks so that ranks touch fewer, longer stretches of a file.

use std::ops::Range;
use std::path::Path;

use num_complex::Complex;

use super::dist_tensor::{fill_box, part, refused};
use super::output::{Begun, Writers};
use super::{DistTensor, Error, Result, World};
use crate::distribution::{Bounds, Distribution};
use crate::dtype::Dtype;
use crate::io::npy::{self, NpyHeader, PendingFile};
use crate::io::output::shown;
use crate::kernel::Element;
use crate::memory::{bytes_of, bytes_of_mut, copy_of, zeros};

impl<T: Element> DistTensor<T> {
    /// The array of a .npy file, converted where that loses nothing; each rank reads its own block only. Collective.
    ///
    /// # Errors
    /// The file is missing, damaged or of an element type that does not fit into this one, or the distribution cuts a dimension that the
    /// array lacks or needs more ranks than the world has, on any rank.
    pub fn from_npy(world: &World, path: impl AsRef<Path>, distribution: &Distribution) -> Result<DistTensor<T>> {
        let path = path.as_ref();
        let read = || {
            let header = convertible::<T>(path)?;
            let mut tensor = DistTensor::allocate(world, &header.shape, distribution)?;
            let corner = vec![0; header.shape.len()];
            tensor.read(world.local_ranks().start, path, &header, &corner)?;
            Ok(tensor)
        };
        world.agree(read())
    }

    /// Fills the tensor with a box of the array of a .npy file, the one that begins at `corner`; converted as by
    /// [`DistTensor::from_npy`]. Collective.
    ///
    /// # Errors
    /// As [`DistTensor::from_npy`]; also a box that leaves the array.
    pub fn read_npy(&mut self, world: &World, path: impl AsRef<Path>, corner: &[usize]) -> Result<()> {
        let path = path.as_ref();
        let rank = world.local_ranks().start;
        world.agree(convertible::<T>(path).and_then(|header| self.read(rank, path, &header, corner)))
    }

    /// Writes the tensor as a .npy file, each rank its own block: beside the target, then renamed. Collective.
    ///
    /// # Errors
    /// The file cannot be written on some rank; nothing is left behind then.
    pub fn write_npy(&self, world: &World, path: impl AsRef<Path>) -> Result<()> {
        let output = NpyOutput::create(world, path, T::DTYPE, self.shape())?;
        output.write(self, &vec![0; self.shape().len()])?;
        output.commit()
    }

    fn read(&mut self, rank: usize, path: &Path, header: &NpyHeader, corner: &[usize]) -> Result<()> {
        for (region, mut block) in self.blocks_mut() {
            for (bounds, stored) in region.stored_boxes() {
                let bounds = beyond(&bounds, corner);
                fill_box(rank, block.view_mut(), &stored, |values| match header.dtype {
                    same if same == T::DTYPE => Ok(npy::read_block(path, header, &bounds, bytes_of_mut(values))?),
                    Dtype::Float32 => read_as::<f32, T>(rank, path, header, &bounds, values),
                    Dtype::Float64 => read_as::<f64, T>(rank, path, header, &bounds, values),
                    Dtype::Complex64 => read_as::<Complex<f32>, T>(rank, path, header, &bounds, values),
                    Dtype::Complex128 => read_as::<Complex<f64>, T>(rank, path, header, &bounds, values),
                })?;
            }
        }
        Ok(())
    }
}

/// A .npy file that is written part by part, and takes its name when it is complete. Dropped before, it leaves nothing
/// behind.
///
/// ```
/// use einsum_dist::{DistTensor, Dtype, NpyOutput, World, distribution::Distribution};
/// # let path = std::env::temp_dir().join(format!("einsum-dist-doc-{}.npy", std::process::id()));
/// let world = World::single();
/// let output = NpyOutput::create(&world, &path, Dtype::Float32, &[4, 3])?;
/// for row in 0..4 {
///     let part = DistTensor::from_fn(&world, &[1, 3], &Distribution::single(), |i| (10 * row + i[1]) as f32);
///     output.write(&part, &[row, 0])?;
/// }
/// output.commit()?;
/// let whole = DistTensor::<f32>::from_npy(&world, &path, &Distribution::single())?;
/// assert_eq!(whole.blocks().next().map(|(_, block)| block[[2, 1]]), Some(21.0));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), einsum_dist::Error>(())
/// ```
pub struct NpyOutput {
    // Dropped in this order: a file that is gone need not be removed.
    pending: PendingFile,
    begun: Begun,
    world: World,
}

impl NpyOutput {
    /// Makes the file beside its target, at its final length. Collective.
    ///
    /// # Errors
    /// It cannot be made on some rank; nothing is left behind then.
    pub fn create(world: &World, path: impl AsRef<Path>, dtype: Dtype, shape: &[usize]) -> Result<NpyOutput> {
        let path = path.as_ref();
        let begun = Begun::new(world, path, Writers::All)?;
        let failed = |cause| Error::output(world.local_ranks().start, cause);
        // Rank 0 makes the file, then the others open it.
        let created = match world.is_root() {
            true => PendingFile::create(path, begun.tag(), dtype, shape).map(Some),
            false => Ok(None),
        };
        let created = world.agree(created.map_err(failed))?;
        let pending = created.map_or_else(|| PendingFile::open(path, begun.tag()), Ok);
        let pending = world.agree(pending.map_err(failed))?;
        Ok(NpyOutput { pending, begun, world: world.clone() })
    }

    /// Writes a tensor as the box of the array that begins at `corner`; of replicas the first one writes. Collective.
    ///
    /// # Errors
    /// It cannot be written on some rank, the box leaves the array, or the array has another element type.
    pub fn write<T: Element>(&self, tensor: &DistTensor<T>, corner: &[usize]) -> Result<()> {
        let world = &self.world;
        let dtype = self.pending.header().dtype;
        let same = if dtype == T::DTYPE {
            Ok(())
        } else {
            Err(Error::Usage(format!("the file is to hold {dtype}, the tensor has {}", T::DTYPE)))
        };
        world.agree(same)?;
        let alone = world.local_ranks().len() == world.ranks();
        let mut boxes = tensor.first_replicas().flat_map(|(region, block)| {
            region.stored_boxes().map(move |(bounds, stored)| (bounds, part(block.clone(), &stored)))
        });
        let rank = world.local_ranks().start;
        let written = boxes.try_for_each(|(bounds, values)| {
            let bounds = beyond(&bounds, corner);
            let write = |elements: &[T]| {
                let write = if alone { PendingFile::write_block_alone } else { PendingFile::write_block };
                write(&self.pending, &bounds, bytes_of(elements)).map_err(|cause| Error::output(rank, cause))
            };
            match values.as_slice() {
                Some(dense) => write(dense),
                None => {
                    let copy = copy_of(&values).map_err(|cause| refused(rank, cause))?;
                    // A copy is dense and row-major.
                    write(copy.as_slice().unwrap_or_default())
                }
            }
        });
        world.agree(written)
    }

    /// Gives the file its name. Collective.
    ///
    /// # Errors
    /// What was written does not reach the disk of some rank; nothing is left behind then.
    pub fn commit(self) -> Result<()> {
        let NpyOutput { pending, begun: _begun, world } = self;
        let failed = |cause| Error::output(world.local_ranks().start, cause);
        world.agree(pending.flush().map_err(failed))?;
        let committed = if world.is_root() { pending.commit() } else { Ok(()) };
        world.agree(committed.map_err(failed))
    }
}

/// The header of a file whose elements fit into this type.
fn convertible<T: Element>(path: &Path) -> Result<NpyHeader> {
    let header = npy::read_header(path)?;
    if header.dtype.promote(T::DTYPE) == T::DTYPE {
        return Ok(header);
    }
    Err(Error::Usage(format!("{} holds {}, {} was asked for", shown(path), header.dtype, T::DTYPE)))
}

/// Where a box of a tensor lies in an array of which the tensor is a box; beyond any array where numbers end.
fn beyond(bounds: &Bounds, corner: &[usize]) -> Bounds {
    let moved =
        |(range, &start): (&Range<usize>, &usize)| start.saturating_add(range.start)..start.saturating_add(range.end);
    bounds.iter().zip(corner).map(moved).collect()
}

/// Reads a block of elements of type `S` as elements of type `T`.
fn read_as<S: Element, T: Element>(
    rank: usize,
    path: &Path,
    header: &NpyHeader,
    bounds: &Bounds,
    into: &mut [T],
) -> Result<()> {
    let mut read = zeros::<S>(into.len()).map_err(|cause| refused(rank, cause))?;
    npy::read_block(path, header, bounds, bytes_of_mut(&mut read))?;
    for (to, from) in into.iter_mut().zip(read) {
        let value = from.to_c64();
        *to = T::from_f64(value.re, value.im);
    }
    Ok(())
}
