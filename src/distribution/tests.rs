//! Examples of owners, of moved distributions and of blocks that meet a region.

use super::*;

#[test]
fn owners_have_ranks_and_coordinates() {
    let grid = |ranks: &[usize], owners| {
        let axes = ranks.iter().map(|&ranks| Axis { ranks, role: Role::Replicate });
        Distribution::new(axes.collect()).owned_by(owners)
    };
    assert_eq!(grid(&[2, 3], Owners::From(4)).rank_at(&[1, 0]), 7);
    let listed = grid(&[1, 3], Owners::Listed(vec![2, 0, 7]));
    assert_eq!((listed.rank_at(&[0, 2]), listed.coordinates(7), listed.coordinates(1)), (7, Some(vec![0, 2]), None));
    // The first axis has stride 1 and the second axis has stride 2, so the first axis varies fastest.
    let strided = grid(&[2, 3], Owners::Strided { first: 0, strides: vec![1, 2] });
    assert_eq!((strided.rank_at(&[1, 2]), strided.coordinates(4)), (5, Some(vec![0, 2])));
    assert_eq!((strided.moved(0, 9).rank_at(&[1, 2]), strided.moved(0, 9).coordinates(13)), (14, Some(vec![0, 2])));
    let gaps = grid(&[2, 3], Owners::Strided { first: 0, strides: vec![1, 4] });
    assert_eq!((gaps.coordinates(5), gaps.coordinates(6)), (Some(vec![1, 1]), None));
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
    let cyclic = || Cut::cyclic(2);
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
fn ranks_are_alike_until_a_block_has_other_extents() {
    let grids = [
        (vec![3, 4], Owners::From(2)),
        (vec![3, 4], Owners::Strided { first: 2, strides: vec![1, 3] }),
        (vec![3, 1, 4], Owners::Strided { first: 1, strides: vec![4, 0, 1] }),
        (vec![3, 4], Owners::Strided { first: 0, strides: vec![1, 6] }),
        (vec![4], Owners::Listed(vec![7, 3, 5, 4])),
    ];
    for (axes, owners) in grids {
        let dims = [Role::Cut { dim: 0, how: Cut::Even }, Role::Replicate, Role::Cut { dim: 1, how: Cut::Even }];
        let roles = if axes.len() == 3 { dims.to_vec() } else { vec![dims[0].clone(), dims[2].clone()] };
        let axes = axes.into_iter().zip(roles).map(|(ranks, role)| Axis { ranks, role }).collect();
        let (grid, shape) = (Distribution::new(axes).owned_by(owners), [7, 6]);
        let (alike, mut rank) = (grid.alike(&shape), 0);
        while rank < 30 {
            let next = alike.until(rank).min(30);
            assert!(next > rank);
            for other in rank..next {
                assert_eq!(
                    grid.block_extents(&shape, other),
                    grid.block_extents(&shape, rank),
                    "{grid:?} {rank} {other}"
                );
            }
            rank = next;
        }
    }
}
