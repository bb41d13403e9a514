//! Unit tests of `tile`.

use super::tile_bounds;

#[test]
fn tiles_cover_and_differ_by_one() {
    for extent in 0..40 {
        for parts in 1..13 {
            let tiles: Vec<_> = (0..parts).map(|i| tile_bounds(extent, parts, i)).collect();
            assert_eq!((tiles[0].start, tiles[parts - 1].end), (0, extent));
            assert!(tiles.windows(2).all(|w| w[0].end == w[1].start && w[0].len() - w[1].len() <= 1));
        }
    }
}

#[test]
fn larger_tiles_come_first() {
    assert_eq!((0..4).map(|i| tile_bounds(14, 4, i)).collect::<Vec<_>>(), [0..4, 4..8, 8..11, 11..14]);
}
