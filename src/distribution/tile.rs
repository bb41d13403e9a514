//! Even tiles of a dimension.

use std::ops::Range;

/// The bounds of tile `index`. The sizes of tiles differ by at most one, larger ones first.
///
/// ```
/// # use einsum_dist::distribution::tile_bounds;
/// assert_eq!((0..4).map(|i| tile_bounds(14, 4, i)).collect::<Vec<_>>(), [0..4, 4..8, 8..11, 11..14]);
/// ```
pub fn tile_bounds(extent: usize, parts: usize, index: usize) -> Range<usize> {
    let (size, larger) = (extent / parts, extent % parts);
    let start = index * size + index.min(larger);
    start..start + size + usize::from(index < larger)
}

#[cfg(test)]
mod tests;
