//! Unit tests of `panels`.

use super::*;

#[test]
fn panels_are_inside_blocks() {
    let ranges = |extent, grid, width| -> Vec<_> {
        panels(extent, grid, width).into_iter().map(|panel| (panel.range, panel.row, panel.column)).collect()
    };
    assert_eq!(ranges(6, [2, 3], 9), [(0..2, 0, 0), (2..3, 0, 1), (3..4, 1, 1), (4..6, 1, 2)]);
    assert_eq!(ranges(5, [1, 2], 2), [(0..2, 0, 0), (2..3, 0, 0), (3..5, 0, 1)]);
    assert_eq!(ranges(2, [1, 5], 2), [(0..1, 0, 0), (1..2, 0, 1)]);
    assert_eq!(ranges(0, [3, 2], 1), [(0..0, 0, 0)]);
    for extent in 0..40 {
        for (rows, columns, width) in [(1, 1, 7), (3, 4, 2), (7, 1, 3), (5, 5, 1), (2, 11, 100)] {
            let panels = panels(extent, [rows, columns], width);
            assert_eq!(panels.len(), panel_count(extent, [rows, columns], width));
            assert!(panels.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
            assert_eq!((panels[0].range.start, panels[panels.len() - 1].range.end), (0, extent));
            for Panel { range, row, column } in panels {
                for block in [tile_bounds(extent, rows, row), tile_bounds(extent, columns, column)] {
                    assert!(range.len() <= width && block.start <= range.start && range.end <= block.end);
                }
            }
        }
    }
}
