//! Reads and writes tensors: the array in an `.npy` file, or a box (one range of indices per dimension) of it. Every
//! rank accesses only its own blocks.
//!
//! After every step, the ranks agree on success, so none waits for a failed one. Blocks are not redistributed first, so
//! a rank may access many short sections.

use std::path::Path;

use num_complex::Complex;

use super::dist_tensor::{allocation_error, fill_box, part, shifted_by};
use super::output::{PreparedOutput, Writers};
use super::{DistTensor, Error, Result, World};
use crate::distribution::{Bounds, Distribution};
use crate::dtype::Dtype;
use crate::io::npy::{self, NpyHeader, PendingFile};
use crate::io::output::display_path;
use crate::kernel::Element;
use crate::memory::{bytes_of, bytes_of_mut, copy_of, zeros};

impl<T: Element> DistTensor<T> {
    /// Reads the array in a .npy file, converting elements to `T` if this is lossless. Collective.
    ///
    /// # Errors
    /// Those of [`DistTensor::try_zeros`], and if, on any rank, the file is missing or damaged, or its element type
    /// cannot be converted without loss.
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

    /// Fills the tensor from the box at index `corner` of the array in a .npy file, like [`DistTensor::from_npy`].
    /// Collective.
    ///
    /// # Errors
    /// Those of [`DistTensor::from_npy`], and if the box exceeds the array.
    pub fn read_npy(&mut self, world: &World, path: impl AsRef<Path>, corner: &[usize]) -> Result<()> {
        let path = path.as_ref();
        let rank = world.local_ranks().start;
        world.agree(convertible::<T>(path).and_then(|header| self.read(rank, path, &header, corner)))
    }

    /// Writes the tensor to a .npy file, through a temporary file in the same directory. Collective.
    ///
    /// # Errors
    /// If any rank cannot write the file; the temporary file is then removed.
    pub fn write_npy(&self, world: &World, path: impl AsRef<Path>) -> Result<()> {
        let output = NpyOutput::create(world, path, T::DTYPE, self.shape())?;
        output.write(self, &vec![0; self.shape().len()])?;
        output.commit()
    }

    fn read(&mut self, rank: usize, path: &Path, header: &NpyHeader, corner: &[usize]) -> Result<()> {
        for (region, mut block) in self.blocks_mut() {
            for (bounds, stored) in region.stored_boxes() {
                let bounds = shifted_by(&bounds, corner);
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

/// A .npy file that is written part by part and renamed when complete. Dropping it removes the file.
pub struct NpyOutput {
    // Dropped in this order: the file before its name in `registry`.
    pending: PendingFile,
    prepared: PreparedOutput,
    world: World,
}

impl NpyOutput {
    /// Creates the file with its final length, under a temporary name in the same directory. Collective.
    ///
    /// # Errors
    /// If any rank cannot create or open it; no file then remains.
    pub fn create(world: &World, path: impl AsRef<Path>, dtype: Dtype, shape: &[usize]) -> Result<NpyOutput> {
        let path = path.as_ref();
        let prepared = PreparedOutput::new(world, path, Writers::All)?;
        let failed = |cause| Error::output(world.local_ranks().start, cause);
        let created = match world.is_root() {
            true => PendingFile::create(path, prepared.tag(), dtype, shape).map(Some),
            false => Ok(None),
        };
        let created = world.agree(created.map_err(failed))?;
        let pending = created.map_or_else(|| PendingFile::open(path, prepared.tag()), Ok);
        let pending = world.agree(pending.map_err(failed))?;
        Ok(NpyOutput { pending, prepared, world: world.clone() })
    }

    /// Writes a tensor to the box at index `corner` of the file's array. Collective.
    ///
    /// # Errors
    /// If writing fails on any rank, the box exceeds the array, or the array has another element type.
    pub fn write<T: Element>(&self, tensor: &DistTensor<T>, corner: &[usize]) -> Result<()> {
        let world = &self.world;
        let dtype = self.pending.header().dtype;
        let same = if dtype == T::DTYPE {
            Ok(())
        } else {
            Err(Error::Usage(format!("the file is to hold {dtype}, the tensor has {}", T::DTYPE)))
        };
        world.agree(same)?;
        let single_process = world.is_one_process();
        let mut boxes = tensor.first_replicas().flat_map(|(region, block)| {
            region.stored_boxes().map(move |(bounds, stored)| (bounds, part(block.clone(), &stored)))
        });
        let rank = world.local_ranks().start;
        let written = boxes.try_for_each(|(bounds, values)| {
            let bounds = shifted_by(&bounds, corner);
            let write = |elements: &[T]| {
                let write = if single_process { PendingFile::write_block_alone } else { PendingFile::write_block };
                write(&self.pending, &bounds, bytes_of(elements)).map_err(|cause| Error::output(rank, cause))
            };
            match values.as_slice() {
                Some(dense) => write(dense),
                None => {
                    let copy = copy_of(&values).map_err(|cause| allocation_error(rank, cause))?;
                    write(copy.as_slice().unwrap_or_default())
                }
            }
        });
        world.agree(written)
    }

    /// Flushes the file to disk and renames it. Collective.
    ///
    /// # Errors
    /// If any rank's data cannot be stored, or renaming fails; no file then remains.
    pub fn commit(self) -> Result<()> {
        let NpyOutput { pending, prepared: _prepared, world } = self;
        let failed = |cause| Error::output(world.local_ranks().start, cause);
        world.agree(pending.flush().map_err(failed))?;
        let committed = if world.is_root() { pending.commit() } else { Ok(()) };
        world.agree(committed.map_err(failed))
    }
}

fn convertible<T: Element>(path: &Path) -> Result<NpyHeader> {
    let header = npy::read_header(path)?;
    if header.dtype.promote(T::DTYPE) == T::DTYPE {
        return Ok(header);
    }
    Err(Error::Usage(format!("{} holds {}, {} was asked for", display_path(path), header.dtype, T::DTYPE)))
}

fn read_as<S: Element, T: Element>(
    rank: usize,
    path: &Path,
    header: &NpyHeader,
    bounds: &Bounds,
    into: &mut [T],
) -> Result<()> {
    let mut read = zeros::<S>(into.len()).map_err(|cause| allocation_error(rank, cause))?;
    npy::read_block(path, header, bounds, bytes_of_mut(&mut read))?;
    for (to, from) in into.iter_mut().zip(read) {
        let value = from.to_c64();
        *to = T::from_f64(value.re, value.im);
    }
    Ok(())
}
