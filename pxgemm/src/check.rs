//! The codes of wrong arguments, in PBLAS's order and with its values.
//!
//! The smallest position counts; positions of descriptors come with an entry, as `100 * position + entry + 1`.

use std::ffi::c_int;

use super::blacs::Grid;
use super::descriptor::{BLOCK_CYCLIC_WITH_FIRST, Descriptor, Entry};

const SCALE: c_int = 100;

/// An argument of a call: its value and its position.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    pub value: c_int,
    pub position: c_int,
}

/// A submatrix: its extents, its first index (from 0) and its descriptor, with the position of the descriptor, which the two
/// numbers of the index precede.
#[derive(Debug, Clone, Copy)]
pub struct Submatrix {
    pub extents: [Argument; 2],
    pub start: [c_int; 2],
    pub of: Descriptor,
    pub position: c_int,
}

/// The faults found so far in a call.
#[derive(Debug)]
pub struct Check {
    context: c_int,
    grid: Grid,
    /// The smallest position, times [`SCALE`].
    least: Option<c_int>,
}

impl Check {
    pub fn new(context: c_int, grid: Grid) -> Check {
        Check { context, grid, least: None }
    }

    pub fn wrong(&mut self, position: c_int) {
        self.add(position * SCALE);
    }

    fn add(&mut self, scaled: c_int) {
        self.least = Some(self.least.map_or(scaled, |least| least.min(scaled)));
    }

    /// 0, or the negative code.
    pub fn code(&self) -> c_int {
        match self.least {
            None => 0,
            Some(least) if least % SCALE == 0 => -least / SCALE,
            Some(least) => -least,
        }
    }

    /// The checks of `PB_Cchkmat`.
    pub fn submatrix(&mut self, matrix: &Submatrix) {
        let Submatrix { extents, start, of, position } = *matrix;
        let entry = |entry: Entry| position * SCALE + 1 + entry as c_int;
        let starts = [position - 2, position - 1];
        for (extent, (start, at)) in extents.into_iter().zip(start.into_iter().zip(starts)) {
            if extent.value < 0 {
                self.wrong(extent.position);
            }
            if start < 0 {
                self.wrong(at);
            }
        }
        if of.kind != BLOCK_CYCLIC_WITH_FIRST {
            return self.add(entry(Entry::Kind));
        }
        if of.context != self.context {
            return self.add(entry(Entry::Context));
        }
        let [rows, columns] = self.grid.shape;
        let empty = extents.iter().any(|extent| extent.value == 0);
        let least = c_int::from(!empty);
        let faults = [
            (of.first[0] < 1, Entry::FirstRows),
            (of.first[1] < 1, Entry::FirstColumns),
            (of.block[0] < 1, Entry::BlockRows),
            (of.block[1] < 1, Entry::BlockColumns),
            (of.source[0] < -1 || of.source[0] >= rows, Entry::SourceRow),
            (of.source[1] < -1 || of.source[1] >= columns, Entry::SourceColumn),
            (of.shape[0] < least, Entry::Rows),
            (of.shape[1] < least, Entry::Columns),
            (empty && of.leading < 1, Entry::Leading),
        ];
        faults.into_iter().filter(|(wrong, _)| *wrong).for_each(|(_, at)| self.add(entry(at)));
        if empty {
            return;
        }
        if of.shape.iter().all(|&extent| extent >= 1) {
            for dim in 0..2 {
                if start[dim].saturating_add(extents[dim].value) > of.shape[dim] {
                    self.wrong(starts[dim]);
                }
            }
        }
        if self.least.is_none() && self.is_too_short(&of) {
            self.add(entry(Entry::Leading));
        }
    }

    /// Whether local columns do not fit into the leading dimension.
    fn is_too_short(&self, of: &Descriptor) -> bool {
        let local = |dim: usize| of.local_count(&self.grid, dim, of.shape[dim] as usize);
        let leading = i64::from(of.leading);
        leading < 1 || (leading < local(0) as i64 && local(1) > 0)
    }
}

#[cfg(test)]
mod tests;
