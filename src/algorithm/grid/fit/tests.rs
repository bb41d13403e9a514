//! Unit tests of `fit`.

use super::*;

fn product(ranks: usize, extents: [usize; 3], some_idle: bool) -> Grid {
    let [m, n, k] = [0, 1, 2].map(Label);
    let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
    let fit = GridFit { kinds: &kinds, extents: &extents, uncut: &[], ranks, memory: None };
    fit.best(if some_idle { fit.idle() } else { 0 }).unwrap()
}

#[test]
fn grids_fit_the_extents() {
    let parts = |grid: &Grid| [0, 1, 2].map(|l| grid.cuts.iter().find(|c| c.0 == Label(l)).map_or(1, |c| c.1));
    assert_eq!(parts(&product(64, [4096, 4096, 4096], true)), [4, 4, 4]);
    // Only a much longer dimension is cut.
    assert_eq!(parts(&product(16, [64, 64, 1 << 20], false)), [1, 1, 16]);
    assert_eq!(parts(&product(16, [1 << 20, 64, 64], false)), [16, 1, 1]);
    // One of the 65 ranks is idle.
    assert_eq!(product(65, [4096, 4096, 4096], true).ranks(), 64);
}

#[test]
fn factors_of_numbers() {
    assert_eq!(prime_factors(1), [0; 0]);
    assert_eq!(prime_factors(360), [5, 3, 3, 2, 2, 2]);
    assert_eq!(prime_factors(9217), [709, 13]);
}

/// The volumes that the search compares are those of the tiles that it returns.
#[test]
fn volumes_are_those_of_tiles() {
    let labels: Vec<Label> = (0..3).map(Label).collect();
    let kinds = Kinds { c: vec![], m: labels.clone(), n: vec![], k: vec![] };
    for extents in [[12, 7, 30], [2, 2, 2], [1, 1, 5], [0, 5, 1], [0, 0, 0]] {
        for uncut in [&[][..], &labels[1..2]] {
            let fit = GridFit { kinds: &kinds, extents: &extents, uncut, ranks: 400, memory: None };
            for count in 0..=3 {
                let volumes = fit.volumes(&labels[..count], &primes(400.min(*extents.iter().max().unwrap())));
                let tiles = |parts| fit.tiles(&labels[..count], parts).map(|tiles| (parts, tiles.volume));
                assert_eq!(volumes, (1..=400).filter_map(tiles).collect::<Vec<_>>(), "{extents:?} {count} labels");
            }
        }
    }
}
