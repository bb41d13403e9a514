//! Examples of owners, of moved distributions and of blocks that meet a region.

use super::*;

#[test]
fn owners_have_ranks_and_coordinates() {
    assert_eq!(Owners::From(4).rank(&[2, 3], &[1, 0]), 7);
    let owners = Owners::Listed(vec![2, 0, 7]);
    assert_eq!(owners.rank(&[3], &[2]), 7);
    assert_eq!((owners.coordinates(&[3], 7), owners.coordinates(&[3], 1)), (Some(vec![2]), None));
    // The first axis has stride 1 and the second axis has stride 2, so the first axis varies fastest.
    let owners = Owners::Strided(vec![1, 2]);
    assert_eq!((owners.rank(&[2, 3], &[1, 2]), owners.coordinates(&[2, 3], 4)), (5, Some(vec![0, 2])));
}

#[test]
fn moved_distributions_have_other_ranks() {
    let rows = Distribution::cut(0, 3).moved(0, 4);
    assert_eq!(rows.block(&[6], 5), Some(Region::from(vec![Intervals::from(2..4)])));
    assert_eq!(rows.moved(4, 0), Distribution::cut(0, 3));
}

#[test]
fn blocks_meet_regions() {
    let axis = |dim| Axis { ranks: 3, role: Role::Cut { dim, how: Cut::Even } };
    let grid = Distribution::new(vec![axis(0), axis(1)]);
    assert_eq!(grid.meeting(&[9, 9], &Region::from(vec![2..4, 6..9])), [2, 5]);
}

#[test]
fn grids_of_too_many_ranks_are_errors() {
    let huge = Axis { ranks: 1 << 32, role: Role::Replicate };
    let error = Distribution::try_new(vec![huge.clone(), huge], Owners::default()).unwrap_err();
    assert_eq!(error.to_string(), "it needs 4294967296 x 4294967296 ranks, more than 64 bits count");
}

#[test]
fn blocks_near_are_an_upper_bound() {
    let axis = |ranks, dim, how| Axis { ranks, role: Role::Cut { dim, how } };
    let cyclic = || Cut::Cyclic { block: 2 };
    let grids = [
        (vec![axis(3, 0, Cut::Even), axis(4, 1, Cut::Even)], true),
        (vec![axis(5, 1, Cut::Even), Axis { ranks: 2, role: Role::Partial }], true),
        (vec![axis(2, 0, Cut::Even), axis(3, 0, Cut::Even)], false),
        (vec![axis(3, 0, cyclic()), axis(2, 1, Cut::At(vec![4]))], false),
        (Vec::new(), true),
    ];
    for (axes, exact) in grids {
        let grid = Distribution::new(axes);
        for start in 0..9 {
            for end in start..=9 {
                let region = Region::from(vec![start..end, 9 - end..9]);
                let met = grid.meeting(&[9, 9], &region).len() / grid.summands();
                let near = grid.blocks_near(&[9, 9], &region);
                assert!(met <= near && (!exact || met == near || start == end), "{grid:?} {region:?}: {met}, {near}");
            }
        }
    }
}

#[test]
fn lists_have_the_coordinates_of_their_places() {
    let axes = [2, 1, 3];
    let lists = [vec![5, 7, 9, 6, 8, 10], vec![4, 6, 8, 5, 7, 9], vec![3, 0, 5, 1, 9, 2], vec![1, 2, 3, 9, 5, 6]];
    for ranks in lists {
        let owners = Owners::Listed(ranks.clone());
        for rank in 0..12 {
            let place = ranks.iter().position(|&owner| owner == rank);
            assert_eq!(owners.coordinates(&axes, rank), place.map(|place| vec![place / 3, 0, place % 3]), "{ranks:?}");
        }
    }
}
