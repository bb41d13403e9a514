//! Offsets of a box's register tiles, one per panel of rows, in a list because one call computes many.
//!
//! Invariant: a group's tiles differ only in their offsets.

use super::{Panel, Table};

/// A tile's offsets in real numbers, two per complex element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TileOffsets {
    /// In the rows' operand if read in place, or 0.
    pub left: isize,
    pub right: isize,
    /// In `out` or its box's dense copy.
    pub out: isize,
    /// In `out`, from the tile's first row to each vector's rows.
    pub vectors: [isize; 3],
}

impl TileOffsets {
    pub fn dense(lanes: usize) -> TileOffsets {
        TileOffsets { vectors: [0, 1, 2].map(|vector| vector * lanes as isize), ..TileOffsets::default() }
    }
}

/// The layout of a tile's rows in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowLayout {
    Dense,
    Vectors,
    /// Any other, through memory.
    Scattered,
}

/// Consecutive panels with equal numbers of rows and layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    pub first: usize,
    pub count: usize,
    pub rows: usize,
    pub layout: RowLayout,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTiles {
    pub panels: Vec<Panel>,
    pub tile_offsets: Vec<TileOffsets>,
    pub groups: Vec<Group>,
}

impl RowTiles {
    pub(super) fn new(
        rows: &Table,
        [lanes, vectors]: [usize; 2],
        parts: usize,
        in_place: bool,
        buffered: bool,
    ) -> RowTiles {
        let panels = rows.panels(lanes * vectors);
        let mut tiles = RowTiles { panels, tile_offsets: Vec::new(), groups: Vec::new() };
        for panel in &tiles.panels {
            let (layout, vectors) =
                if buffered { (RowLayout::Dense, dense(lanes)) } else { layout(rows, *panel, lanes) };
            let out = if buffered { panel.first as isize } else { rows.offsets[1][panel.first] };
            let left = if in_place { rows.offsets[0][panel.first] } else { 0 };
            let reals = |offset: isize| offset * parts as isize;
            tiles.tile_offsets.push(TileOffsets {
                left: reals(left),
                right: 0,
                out: reals(out),
                vectors: vectors.map(reals),
            });
            match tiles.groups.last_mut() {
                Some(group) if (group.rows, group.layout) == (panel.len, layout) => group.count += 1,
                _ => tiles.groups.push(Group { first: panel.number, count: 1, rows: panel.len, layout }),
            }
        }
        tiles.tile_offsets.shrink_to_fit();
        tiles.groups.shrink_to_fit();
        tiles
    }
}

fn dense(lanes: usize) -> [isize; 3] {
    TileOffsets::dense(lanes).vectors
}

/// Offsets are in elements.
fn layout(rows: &Table, panel: Panel, lanes: usize) -> (RowLayout, [isize; 3]) {
    if rows.is_dense(1, panel.first, panel.len) {
        return (RowLayout::Dense, dense(lanes));
    }
    let mut vectors = [0; 3];
    if panel.len > vectors.len() * lanes {
        return (RowLayout::Scattered, vectors);
    }
    for (vector, offset) in vectors.iter_mut().enumerate().take(panel.len.div_ceil(lanes)) {
        let first = panel.first + vector * lanes;
        if !rows.is_dense(1, first, lanes.min(panel.len - vector * lanes)) {
            return (RowLayout::Scattered, [0; 3]);
        }
        *offset = rows.offsets[1][first] - rows.offsets[1][panel.first];
    }
    (RowLayout::Vectors, vectors)
}

#[cfg(test)]
mod tests;
