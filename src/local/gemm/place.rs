//! Where the vectors of a panel lie in out.

use super::{Panel, Table};

/// A panel whose vectors can be written where they belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Offset of each vector's first row from the panel's; the vector's other rows lie beside it.
    pub vectors: [isize; 3],
    /// Whether all rows of the panel lie side by side.
    pub dense: bool,
}

impl Place {
    /// Vectors of so many lanes, side by side.
    pub fn dense(lanes: usize) -> Place {
        Place { vectors: [0, 1, 2].map(|vector| vector * lanes as isize), dense: true }
    }

    /// None if the rows of a panel are no vectors in out.
    pub(super) fn new(rows: &Table, panel: Panel, lanes: usize) -> Option<Place> {
        if rows.is_dense(1, panel.first, panel.len) {
            return Some(Place::dense(lanes));
        }
        let mut vectors = [0; 3];
        if panel.len > vectors.len() * lanes {
            return None;
        }
        for (vector, offset) in vectors.iter_mut().enumerate().take(panel.len.div_ceil(lanes)) {
            let first = panel.first + vector * lanes;
            if !rows.is_dense(1, first, lanes.min(panel.len - vector * lanes)) {
                return None;
            }
            *offset = rows.offsets[1][first] - rows.offsets[1][panel.first];
        }
        Some(Place { vectors, dense: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Axis, AxisDim};

    #[test]
    fn vectors_may_lie_apart_and_rows_of_one_not() {
        let dim = |extent, out| AxisDim { extent, tile: extent, strides: [1, out] };
        let axis = Axis::new(vec![dim(4, 1), dim(3, 10)], [false; 2]);
        let table = &axis.tables()[0];
        let of = |size, lanes| table.panels(size).into_iter().map(|p| Place::new(table, p, lanes)).collect::<Vec<_>>();
        let apart = Some(Place { vectors: [0, 10, 0], dense: false });
        assert_eq!(of(8, 4), [apart, Some(Place::dense(4))]);
        let places = [[0, 2, 10], [0, 8, 10]].map(|vectors| Some(Place { vectors, dense: false }));
        assert_eq!(of(6, 2), places);
        assert_eq!(of(6, 3), [None, None]);
    }
}
