//! Unit tests of `region`.

use super::*;

/// Compares the sweep with all pairs.
#[test]
fn disjoint_regions_are_told_apart() {
    let mut state = 7usize;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut found = [0, 0];
    for _ in 0..2000 {
        let (count, dims) = (below(6), 1 + below(3));
        let mut set = || {
            let start = below(8);
            let gap = start + below(3);
            Intervals::ascending([start..gap, gap + 1..gap + 1 + below(3)])
        };
        let regions: Vec<Region> = (0..count).map(|_| Region((0..dims).map(|_| set()).collect())).collect();
        let pairs = (0..count).flat_map(|b| (0..b).map(move |a| (a, b)));
        let disjoint = pairs.into_iter().all(|(a, b)| !regions[a].meets(&regions[b]));
        assert_eq!(Region::are_disjoint(&regions.iter().collect::<Vec<_>>()), disjoint, "{regions:?}");
        found[usize::from(disjoint)] += 1;
    }
    assert!(found.iter().all(|&found| found > 200), "{found:?}");
}
