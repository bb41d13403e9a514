//! Unit tests of `strategy`.

use std::collections::BTreeSet;

use einsum_dist::{Machine, PlanOptions, Problem};

use super::super::select::runs;
use super::*;

fn strategy(text: &str, shapes: &[Vec<usize>], most: f64) -> Option<Strategy> {
    let shaped = Problem::parse(text).unwrap().shapes(shapes).unwrap();
    let tree = shaped.tree(&Machine::default(), &PlanOptions::default()).unwrap();
    let strategy = Choice { tree: &tree, flops: 2.0, most, threads: 2, seed: 1, directly: true }.strategy()?;
    let bytes = Cost::of(&tree, strategy.evaluation, &strategy.sizes).bytes * strategy.concurrent_pieces as f64;
    assert!(bytes <= most, "{most}: {strategy:?} takes {bytes}");
    Some(strategy)
}

/// Returns the index at position `place` in `indices`.
fn at(indices: &Intervals, place: usize) -> usize {
    runs(indices).find_map(|(first, run)| run.clone().nth(place.checked_sub(first)?)).unwrap()
}

#[test]
fn batches_have_nothing_in_common() {
    for (extents, grid, count) in
        [(vec![10, 7, 13], vec![2, 1, 4], 9), (vec![64, 3], vec![1, 1], 40), (vec![], vec![], 1)]
    {
        let batches = batches(&extents, &grid, count, 3);
        assert_eq!(batches.len(), count);
        let mut seen = BTreeSet::new();
        for batch in &batches {
            let sizes: Vec<usize> = batch.iter().map(Intervals::len).collect();
            assert_eq!(sizes, grid);
            for place in 0..grid.iter().product() {
                let at = index(place, &grid);
                let at: Vec<usize> = at.iter().zip(batch).map(|(&place, dim)| self::at(dim, place)).collect();
                assert!(at.iter().zip(&extents).all(|(at, extent)| at < extent) && seen.insert(at));
            }
        }
    }
}

#[test]
fn the_cheapest_way_is_taken() {
    let square = |extent: usize| vec![extent; 2];
    // All elements are checked if that needs few operations.
    let all = strategy("mk,kn->mn", &[square(100), square(100)], 1e9).unwrap();
    assert_eq!((all.elements, all.evaluation), (ComparedElements::All, Evaluation::Directly));
    // The direct sum of this chain would have 100^4 products.
    let chain = strategy("ab,bc,cd->ad", &vec![square(100); 3], 1e9).unwrap();
    assert_eq!((chain.elements, chain.evaluation), (ComparedElements::All, Evaluation::AlongTree));
    // A sample of a single matrix product is cheap, so its elements need not share work.
    let Some(Strategy { elements: ComparedElements::Batches(batches), .. }) =
        strategy("mk,kn->mn", &[square(5000), square(5000)], 1e9)
    else {
        panic!("a sample is enough");
    };
    assert!(batches.len() * batches[0].iter().map(Intervals::len).product::<usize>() == SAMPLE_ELEMENTS);
    // Elements of this chain share work, because each of them needs all of the middle matrix.
    let shapes = vec![square(2000), square(2000), square(2000)];
    let Some(Strategy { elements: ComparedElements::Batches(batches), .. }) = strategy("ab,bc,cd->ad", &shapes, 1e9)
    else {
        panic!("a sample is enough");
    };
    assert!(batches.len() < SAMPLE_ELEMENTS, "{}", batches.len());
    // Small extents allow only few disjoint grids.
    let shapes = [vec![3, 3, 3, 3, 400_000], vec![400_000, 3, 3, 3]];
    let Some(Strategy { elements: ComparedElements::Batches(batches), .. }) =
        strategy("abcdk,kefg->abcdefg", &shapes, 1e8)
    else {
        panic!("a sample is enough");
    };
    assert!(batches.len() * batches[0].iter().map(Intervals::len).product::<usize>() >= 1000);
}

#[test]
fn little_memory_makes_small_pieces_and_none_is_too_little() {
    let shapes = [vec![100, 64], vec![64, 90]];
    for most in [1e6, 1e4, 1e3] {
        let strategy = strategy("mk,kn->mn", &shapes, most).unwrap();
        assert_eq!(strategy.elements, ComparedElements::All, "{most}");
    }
    assert!(strategy("mk,kn->mn", &shapes, 50.0).is_none());
}
