//! Determines the order in which the bytes of a block are visited. This module only computes offsets.
//!
//! A block is runs of bytes, contiguous in both file and memory, of the same length, repeated along axes with places.
//! Invariants: axes go from the fastest to the slowest in the file, have at least two places, and cannot be merged.

use super::NpyHeader;
use std::ops::Range;

#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub places: usize,
    /// Bytes between places in the file.
    pub file: u64,
    /// Bytes between places in the dense block.
    pub memory: usize,
}

#[derive(Debug)]
pub(super) struct Walk {
    /// Bytes before the first one in the file.
    pub start: u64,
    /// Bytes that are contiguous in both the file and memory.
    pub run: usize,
    pub axes: Vec<Axis>,
}

impl Walk {
    /// Requires nonempty ranges inside the header's shape, and a file whose length fits into 64 bits.
    pub fn new(header: &NpyHeader, ranges: &[Range<usize>]) -> Walk {
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

    /// Bytes in the file, with gaps, of the run repeated along the `inner` fastest axes.
    fn span(&self, inner: usize) -> u64 {
        self.axes[..inner].iter().fold(self.run as u64, |span, axis| span + axis.file * (axis.places as u64 - 1))
    }

    /// Returns the largest part without gaps above `gap` bytes that fits into `most` bytes: the number of complete
    /// inner axes, and of places of the next; `(0, 1)` is a single run.
    pub fn slab(&self, gap: u64, most: u64) -> (usize, usize) {
        for (inner, axis) in self.axes.iter().enumerate() {
            let span = self.span(inner);
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

/// Calls `each(file offset, memory offset)` for all combinations of places, the slowest axis outermost.
pub(super) fn visit<E>(
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
