//! Array descriptors of ScaLAPACK.

use std::ffi::c_int;

use einsum_dist::Cut;

use super::blacs::Grid;

/// A descriptor of type 2, which has the length of the first block; those of type 1 are converted, as in PBLAS. Pairs are
/// for rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    pub kind: c_int,
    pub context: c_int,
    pub shape: [c_int; 2],
    pub first: [c_int; 2],
    pub block: [c_int; 2],
    /// -1 if every process row, or column, has a replica.
    pub source: [c_int; 2],
    pub leading: c_int,
}

/// Entries of a descriptor of type 2.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    Kind = 0,
    Context = 1,
    Rows = 2,
    Columns = 3,
    FirstRows = 4,
    FirstColumns = 5,
    BlockRows = 6,
    BlockColumns = 7,
    SourceRow = 8,
    SourceColumn = 9,
    Leading = 10,
}

pub const BLOCK_CYCLIC: c_int = 1;
pub const BLOCK_CYCLIC_WITH_FIRST: c_int = 2;

impl Descriptor {
    /// # Safety
    /// `entries` points to a descriptor: 11 integers if the first is 2, otherwise 9.
    pub unsafe fn read(entries: *const c_int) -> Descriptor {
        // SAFETY: guaranteed by the caller.
        let at = |entry: usize| unsafe { entries.add(entry).read() };
        let (kind, context) = (at(0), at(1));
        let shape = [at(2), at(3)];
        if kind == BLOCK_CYCLIC_WITH_FIRST {
            let (first, block, source) = ([at(4), at(5)], [at(6), at(7)], [at(8), at(9)]);
            return Descriptor { kind, context, shape, first, block, source, leading: at(10) };
        }
        let (block, source) = ([at(4), at(5)], [at(6), at(7)]);
        let kind = if kind == BLOCK_CYCLIC { BLOCK_CYCLIC_WITH_FIRST } else { kind };
        Descriptor { kind, context, shape, first: block, block, source, leading: at(8) }
    }

    /// How many of the first `count` rows (`dim` 0) or columns this process has.
    pub fn local_count(&self, grid: &Grid, dim: usize, count: usize) -> usize {
        let Ok(source) = usize::try_from(self.source[dim]) else { return count };
        let [first, block, place, parts] =
            [self.first[dim], self.block[dim], grid.place[dim], grid.shape[dim]].map(|number| number as usize);
        Cut::Cyclic { block, first }.len(count, parts, (place + parts - source) % parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_counts_are_those_of_every_index() {
        for (first, block, parts) in [(1, 1, 1), (2, 2, 3), (5, 2, 3), (1, 4, 2), (3, 3, 1), (7, 1, 4)] {
            for (source, place) in (0..parts).flat_map(|source| (0..parts).map(move |place| (source, place))) {
                let of = Descriptor {
                    kind: BLOCK_CYCLIC_WITH_FIRST,
                    context: 0,
                    shape: [40; 2],
                    first: [first, 1],
                    block: [block, 1],
                    source: [source, -1],
                    leading: 40,
                };
                let grid = Grid { shape: [parts, 1], place: [place, 0] };
                for count in 0..40 {
                    let owner = |index: c_int| match index - first {
                        rest if rest < 0 => source,
                        rest => (source + 1 + rest / block) % parts,
                    };
                    let counted = (0..count).filter(|&index| owner(index) == place).count();
                    assert_eq!(of.local_count(&grid, 0, count as usize), counted);
                    assert_eq!(of.local_count(&grid, 1, count as usize), count as usize);
                }
            }
        }
    }
}
