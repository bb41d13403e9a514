//! Even tiles of a dimension.

use std::ops::Range;

/// The bounds of tile `index`. The sizes of tiles differ by at most one, larger ones first.
pub fn tile_bounds(extent: usize, parts: usize, index: usize) -> Range<usize> {
    let (size, larger) = (extent / parts, extent % parts);
    let start = index * size + index.min(larger);
    start..start + size + usize::from(index < larger)
}

#[cfg(test)]
mod tests;
