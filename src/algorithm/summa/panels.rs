//! The panels of `summa`: consecutive ranges of k, each inside one block of `left` and one of `right`.
//!
//! Invariant: panels are ascending and cover k; there is at least one, possibly empty.

use std::ops::Range;

use crate::distribution::tile_bounds;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panel {
    pub range: Range<usize>,
    /// The row of ranks that owns it in `right`.
    pub row: usize,
    /// The column of ranks that owns it in `left`.
    pub column: usize,
}

/// `grid` is the numbers of rows and columns of ranks. Cost: O(panels + rows + columns).
pub fn panels(extent: usize, grid: [usize; 2], width: usize) -> Vec<Panel> {
    let mut panels = Vec::new();
    for Panel { range: Range { start, end }, row, column } in blocks(extent, grid) {
        let pieces = (end - start).div_ceil(width.max(1));
        panels.extend((0..pieces).map(|piece| {
            let tile = tile_bounds(end - start, pieces, piece);
            Panel { range: start + tile.start..start + tile.end, row, column }
        }));
    }
    if panels.is_empty() {
        panels.push(Panel { range: 0..0, row: 0, column: 0 });
    }
    panels
}

/// Cost: O(rows + columns).
pub fn panel_count(extent: usize, grid: [usize; 2], width: usize) -> usize {
    blocks(extent, grid).map(|block| block.range.len().div_ceil(width.max(1))).sum::<usize>().max(1)
}

fn blocks(extent: usize, [rows, columns]: [usize; 2]) -> impl Iterator<Item = Panel> {
    let (mut start, mut row, mut column) = (0, 0, 0);
    std::iter::from_fn(move || {
        if start >= extent {
            return None;
        }
        let [end_of_row, end_of_column] =
            [(rows, &mut row), (columns, &mut column)].map(|(parts, at)| block_end(extent, parts, at, start));
        let range = start..end_of_row.min(end_of_column);
        start = range.end;
        Some(Panel { range, row, column })
    })
}

/// Advances `at` to the block with index `start`, which must be below the extent, and returns the end of that block.
fn block_end(extent: usize, parts: usize, at: &mut usize, start: usize) -> usize {
    while tile_bounds(extent, parts, *at).end <= start {
        *at += 1;
    }
    tile_bounds(extent, parts, *at).end
}

#[cfg(test)]
mod tests;
