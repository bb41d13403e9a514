//! Examples of internal functions.

#[test]
fn grids_leave_ranks_idle_for_fewer_words() {
    use einsum_dist::algorithm::GridFit;
    use einsum_dist::dims::{Kinds, Label};
    // mk,kn->mn, a cube: one of 65 ranks is idle, as 4 x 4 x 4 move a third less than 13 x 5 x 1.
    let [m, n, k] = [0, 1, 2].map(Label);
    let kinds = Kinds { c: vec![], m: vec![m], n: vec![n], k: vec![k] };
    let fit = GridFit { kinds: &kinds, extents: &[16384; 3], uncut: &[], ranks: 65, memory: None };
    assert_eq!(fit.best(fit.idle()).unwrap().cuts, [(m, 4), (n, 4), (k, 4)]);
    assert_eq!(fit.best(0).unwrap().ranks(), 65);
}

#[test]
fn ranks_of_a_grid_share_tiles() {
    use einsum_dist::algorithm::Grid;
    use einsum_dist::algorithm::Sharing;
    use einsum_dist::dims::Label;
    use einsum_dist::schedule::collective::CollectiveAlgorithm;
    // mk,kn->mn on 2 x 3 x 1 ranks over m, n and k: left and right are shared along k.
    let [m, n, k] = [0, 1, 2].map(Label);
    let [left, right] = [(n, 3), (m, 2)].map(|(cut, ranks)| vec![Sharing { cut, along: k, ranks }]);
    let (cuts, shared) = (vec![(m, 2), (n, 3)], [left, right, vec![]]);
    let algorithm = CollectiveAlgorithm::Direct;
    let grid = Grid { cuts, shared, rounds: 1, slots: 3, pieces: 1, in_place: false, algorithm };
    assert_eq!(grid.ranks(), 6);
    assert_eq!(grid.tile(4, m, 10), 5..10);
    let left = grid.distribution(&[m, k], 0);
    assert_eq!(left.describe(&["m", "k"]), "m/2 k/3");
    // Ranks 3, 4 and 5 need the same rows; rank 4 holds a third of them.
    assert_eq!(grid.sharing(&[m, k], 4), [3, 4, 5]);
    assert_eq!(left.block(&[10, 9], 4).unwrap().dims()[1].ranges()[0], 3..6);
}

#[test]
fn kinds_of_dimensions() {
    use einsum_dist::dims::{Kind, Label, classify};
    let (m, k, n) = (Label(0), Label(1), Label(2));
    let kinds = classify(&[m, k], &[k, n], &[m, n]).unwrap();
    assert_eq!(kinds.of(k), Some(Kind::K));
}

#[test]
fn scalars_leave_ranks_idle() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem};
    let scalar = Problem::parse("->")?.shapes(&[vec![]])?;
    assert_eq!(scalar.plan(&Machine::new(3, 1), &PlanOptions::default())?.idle_ranks(), 2);
    Ok(())
}
