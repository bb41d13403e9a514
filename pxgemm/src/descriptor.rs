//! Array descriptors of ScaLAPACK.

use std::ffi::c_int;

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
}

/// How many of the first `count` indices are in process `place` of `parts`.
pub fn local_count(count: usize, [first, block]: [usize; 2], [place, source, parts]: [usize; 3]) -> usize {
    let coordinate = (place + parts - source) % parts;
    let own = if coordinate == 0 { count.min(first) } else { 0 };
    let rest = count.saturating_sub(first + (coordinate + parts - 1) % parts * block);
    own + rest / (parts * block) * block + (rest % (parts * block)).min(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_counts_are_those_of_every_index() {
        for (first, block, parts) in [(1, 1, 1), (2, 2, 3), (5, 2, 3), (1, 4, 2), (3, 3, 1), (7, 1, 4)] {
            for source in 0..parts {
                for count in 0..40 {
                    let owner = |index: usize| match index.checked_sub(first) {
                        None => source,
                        Some(rest) => (source + 1 + rest / block) % parts,
                    };
                    for place in 0..parts {
                        let counted = (0..count).filter(|&index| owner(index) == place).count();
                        assert_eq!(local_count(count, [first, block], [place, source, parts]), counted);
                    }
                }
            }
        }
    }
}
