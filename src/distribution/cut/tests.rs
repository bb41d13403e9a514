//! Unit tests of `cut`.

use super::*;

#[test]
fn tiles_of_every_cut_have_every_index_once() {
    for extent in 0..30 {
        for parts in 1..6 {
            let at = (1..parts).map(|i| i * i % 31).collect::<Vec<_>>();
            let from = |first| Cut::Cyclic { block: 4, first };
            let cuts = [Cut::Even, Cut::cyclic(1), Cut::cyclic(3), from(1), from(9)];
            let mut at = at;
            at.sort_unstable();
            for cut in cuts.into_iter().chain([Cut::At(at)]) {
                assert!(cut.fits(parts));
                let mut count = vec![0; extent];
                let tiles: Vec<_> = (0..parts).map(|index| cut.tile(extent, parts, index)).collect();
                tiles.iter().flat_map(|tile| tile.ranges()).for_each(|range| {
                    range.clone().for_each(|index| count[index] += 1);
                });
                assert!(count.iter().all(|&count| count == 1), "{cut:?} of {extent} among {parts}");
                let lengths: Vec<_> = (0..parts).map(|index| cut.len(extent, parts, index)).collect();
                assert_eq!(lengths, tiles.iter().map(Intervals::len).collect::<Vec<_>>(), "{cut:?} of {extent}");
                let pieces = tiles.iter().map(|tile| tile.ranges().len()).max().unwrap().max(1);
                assert_eq!(cut.pieces(extent, parts), pieces, "{cut:?} of {extent} among {parts}");
                assert_eq!(cut.largest(extent, parts), tiles.iter().map(Intervals::len).max().unwrap());
            }
        }
    }
}

#[test]
fn blocks_as_large_as_numbers_get() {
    let huge = Cut::cyclic(usize::MAX);
    assert_eq!([0, 1, 2].map(|index| huge.tile(10, 3, index).len()), [10, 0, 0]);
    let half = Cut::cyclic(usize::MAX / 2);
    assert_eq!([0, 1, 5].map(|index| half.tile(usize::MAX, 6, index).len()), [usize::MAX / 2, usize::MAX / 2, 0]);
    assert_eq!((huge.pieces(10, 3), Cut::cyclic(1).pieces(usize::MAX, 2)), (1, usize::MAX / 2 + 1));
}

#[test]
fn tiles_near_a_span_are_those_that_meet_it() {
    for extent in 1..14 {
        for parts in 1..17 {
            for (start, end) in (0..15).flat_map(|start| (start..16).map(move |end| (start, end))) {
                let set = Intervals::from(1..1 + extent);
                let wanted = Intervals::from(start..end);
                let meets = |&index: &usize| set.select_all(&Cut::Even.tile(extent, parts, index)).meets(&wanted);
                let expected: Vec<usize> = (0..parts).filter(meets).collect();
                assert_eq!(Cut::Even.tiles_near(&set, parts, wanted.span()).collect::<Vec<_>>(), expected);
            }
        }
    }
}
