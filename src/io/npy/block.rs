//! Moves blocks between an `.npy` file and dense C-order memory.
//!
//! Only the block's contiguous runs are accessed, and short gaps (at most a page, which the system reads anyway); only
//! a sole writer writes such gaps back. A walk repeats a run, contiguous in both file and memory, along axes; the
//! positions along an axis are its places. Invariants: axes go from the fastest to the slowest in the file, have at
//! least two places, and cannot be merged.

use super::{NpyError, NpyHeader};
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// For rearranging Fortran order within a core's private cache.
const BUFFER: u64 = 256 << 10;

const MAX_READ_GAP: u64 = 4096;

/// Such runs bypass the buffer.
const MIN_LONG_RUN: usize = 32 << 10;

/// Reads a block into dense C-order memory of exactly the block's size.
pub fn read_block(path: &Path, header: &NpyHeader, ranges: &[Range<usize>], into: &mut [u8]) -> Result<(), NpyError> {
    let Some(walk) = plan(path, header, ranges, into.len())? else { return Ok(()) };
    let file = File::open(path).map_err(NpyError::io(path, "open"))?;
    let read = |bytes: &mut [u8], at: u64| {
        file.read_exact_at(bytes, at).map_err(|cause| match cause.kind() {
            ErrorKind::UnexpectedEof => truncated(path, header, &file),
            _ => NpyError::io(path, "read")(cause),
        })
    };
    let (inner, places) = walk.slab(MAX_READ_GAP, BUFFER);
    if (inner, places) == (0, 1) || walk.run >= MIN_LONG_RUN {
        return visit(&walk.axes, walk.start, 0, &mut |at, memory| read(&mut into[memory..memory + walk.run], at));
    }
    let mut buffer = Vec::new();
    slabs(&walk, inner, places, &mut |at, memory, axes| {
        buffer.resize(walk.span(axes) as usize, 0);
        read(&mut buffer, at)?;
        copy(walk.run, axes, |from, to, run| into[memory + to..][..run].copy_from_slice(&buffer[from..][..run]));
        Ok(())
    })
}

/// Writes a block from dense C-order memory to an existing file that is as long as its header requires.
pub fn write_block(path: &Path, header: &NpyHeader, ranges: &[Range<usize>], from: &[u8]) -> Result<(), NpyError> {
    let file = OpenOptions::new().write(true).open(path).map_err(NpyError::io(path, "open"))?;
    write_to(path, &file, header, ranges, from, Writers::Several)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    Several,
    /// This process may read short gaps and write them back; the file must be open for both.
    One,
}

pub(super) fn write_to(
    path: &Path,
    file: &File,
    header: &NpyHeader,
    ranges: &[Range<usize>],
    from: &[u8],
    writers: Writers,
) -> Result<(), NpyError> {
    let Some(walk) = plan(path, header, ranges, from.len())? else { return Ok(()) };
    let write = |bytes: &[u8], at: u64| file.write_all_at(bytes, at).map_err(NpyError::io(path, "write"));
    let gap = if writers == Writers::One { MAX_READ_GAP } else { 0 };
    let (inner, places) = walk.slab(gap, BUFFER);
    if (inner, places) == (0, 1) || walk.run >= MIN_LONG_RUN {
        return visit(&walk.axes, walk.start, 0, &mut |at, memory| write(&from[memory..memory + walk.run], at));
    }
    let mut buffer = Vec::new();
    slabs(&walk, inner, places, &mut |at, memory, axes| {
        buffer.resize(walk.span(axes) as usize, 0);
        if writers == Writers::One && walk.run * axes.iter().map(|axis| axis.places).product::<usize>() < buffer.len() {
            file.read_exact_at(&mut buffer, at).map_err(NpyError::io(path, "read"))?;
        }
        copy(walk.run, axes, |to, source, run| buffer[to..][..run].copy_from_slice(&from[memory + source..][..run]));
        write(&buffer, at)
    })
}

fn plan(path: &Path, header: &NpyHeader, ranges: &[Range<usize>], bytes: usize) -> Result<Option<Walk>, NpyError> {
    header.file_bytes().ok_or_else(|| header.too_large(path))?;
    let inside = ranges.len() == header.shape.len()
        && ranges.iter().zip(&header.shape).all(|(range, &extent)| range.start <= range.end && range.end <= extent);
    // The product of nonempty ranges is at most that of the extents.
    let empty = ranges.iter().any(Range::is_empty);
    let want =
        if empty || !inside { 0 } else { ranges.iter().map(Range::len).product::<usize>() * header.dtype.size() };
    if !inside || want != bytes {
        return Err(NpyError::Block {
            path: path.to_path_buf(),
            ranges: ranges.to_vec(),
            bytes,
            dtype: header.dtype,
            shape: header.shape.iter().map(|&n| n as u64).collect(),
        });
    }
    Ok((!empty).then(|| Walk::new(header, ranges)))
}

/// Calls `each(file offset, memory offset, axes)` for slabs: runs at all places of the `inner` fastest axes, and at
/// most `places` of the next.
fn slabs(
    walk: &Walk,
    inner: usize,
    places: usize,
    each: &mut impl FnMut(u64, usize, &[Axis]) -> Result<(), NpyError>,
) -> Result<(), NpyError> {
    let Some(&cut) = walk.axes.get(inner) else { return each(walk.start, 0, &walk.axes) };
    visit(&walk.axes[inner + 1..], walk.start, 0, &mut |at, memory| {
        let mut axes = walk.axes[..=inner].to_vec();
        for first in (0..cut.places).step_by(places) {
            axes[inner].places = places.min(cut.places - first);
            each(at + cut.file * first as u64, memory + cut.memory * first, &axes)?;
        }
        Ok(())
    })
}

/// Calls `each(buffer offset, memory offset, bytes)` for every run, in memory order: only the buffer is surely in
/// cache.
fn copy(run: usize, axes: &[Axis], mut each: impl FnMut(usize, usize, usize)) {
    let mut axes = axes.to_vec();
    axes.sort_by_key(|axis| axis.memory);
    let (first, outer) = match axes.split_first() {
        Some((first, outer)) => (*first, outer),
        None => (Axis { places: 1, file: 0, memory: 0 }, &[][..]),
    };
    let done: Result<(), Infallible> = visit(outer, 0, 0, &mut |buffer, memory| {
        for place in 0..first.places {
            let (buffer, memory) = (buffer as usize + first.file as usize * place, memory + first.memory * place);
            // Constant lengths compile to moves.
            match run {
                4 => each(buffer, memory, 4),
                8 => each(buffer, memory, 8),
                16 => each(buffer, memory, 16),
                _ => each(buffer, memory, run),
            }
        }
        Ok(())
    });
    let Ok(()) = done;
}

fn truncated(path: &Path, header: &NpyHeader, file: &File) -> NpyError {
    NpyError::Truncated {
        path: path.to_path_buf(),
        expected: header.file_bytes().unwrap_or(u64::MAX),
        found: file.metadata().map_or(0, |found| found.len()),
    }
}

#[derive(Debug, Clone, Copy)]
struct Axis {
    places: usize,
    /// Bytes between places in the file.
    file: u64,
    /// Bytes between places in the dense block.
    memory: usize,
}

#[derive(Debug)]
struct Walk {
    /// Bytes before the first one in the file.
    start: u64,
    /// Bytes, contiguous in both file and memory.
    run: usize,
    axes: Vec<Axis>,
}

impl Walk {
    /// Requires nonempty ranges inside the shape, and a file length of 64 bits.
    fn new(header: &NpyHeader, ranges: &[Range<usize>]) -> Walk {
        let size = header.dtype.size();
        let rank = ranges.len();
        let mut memory = vec![size; rank];
        for d in (1..rank).rev() {
            memory[d - 1] = memory[d] * ranges[d].len();
        }
        let mut walk = Walk { start: header.data_offset, run: size, axes: Vec::new() };
        let mut file = size as u64;
        for position in 0..rank {
            let d = if header.fortran { position } else { rank - 1 - position };
            walk.start += file * ranges[d].start as u64;
            walk.push(Axis { places: ranges[d].len(), file, memory: memory[d] });
            file *= header.shape[d] as u64;
        }
        walk
    }

    fn push(&mut self, axis: Axis) {
        if axis.places == 1 {
            return;
        }
        if self.axes.is_empty() && axis.file == self.run as u64 && axis.memory == self.run {
            self.run *= axis.places;
            return;
        }
        match self.axes.last_mut() {
            Some(last) if axis.file == last.file * last.places as u64 && axis.memory == last.memory * last.places => {
                last.places *= axis.places;
            }
            _ => self.axes.push(axis),
        }
    }

    /// Bytes in the file, with gaps, of the run repeated along axes.
    fn span(&self, axes: &[Axis]) -> u64 {
        axes.iter().fold(self.run as u64, |span, axis| span + axis.file * (axis.places as u64 - 1))
    }

    /// The largest part of at most `most` bytes without gaps above `gap`: complete inner axes, and places of the next.
    fn slab(&self, gap: u64, most: u64) -> (usize, usize) {
        for (inner, axis) in self.axes.iter().enumerate() {
            let span = self.span(&self.axes[..inner]);
            if span > most || axis.file - span > gap {
                return (inner, 1);
            }
            let fit = 1 + ((most - span) / axis.file).min(axis.places as u64 - 1) as usize;
            if fit < axis.places {
                return (inner, fit);
            }
        }
        (self.axes.len(), 1)
    }
}

/// Calls `each(file offset, memory offset)` for all places, the slowest axis outermost.
fn visit<E>(
    axes: &[Axis],
    file: u64,
    memory: usize,
    each: &mut impl FnMut(u64, usize) -> Result<(), E>,
) -> Result<(), E> {
    let Some((axis, inner)) = axes.split_last() else { return each(file, memory) };
    for place in 0..axis.places {
        visit(inner, file + axis.file * place as u64, memory + axis.memory * place, each)?;
    }
    Ok(())
}
