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
fn trees_double_the_parts() {
    use einsum_dist::schedule::collective::{Collective, CollectiveAlgorithm, Pattern};
    // Recursive doubling: members 0 and 2, and 1 and 3, exchange one part; then neighbours exchange two parts.
    let pattern = Pattern::new(Collective::AllGather, CollectiveAlgorithm::Tree, 4);
    let to = |round| pattern.step(2, round).sent.map(|m| (m.to, m.parts.iter().collect::<Vec<_>>()));
    assert_eq!((to(0), to(2)), (Some((0, vec![2])), Some((3, vec![0, 2]))));
    assert_eq!(pattern.messages().count(), 8);
}

#[test]
fn sums_have_an_order() {
    use einsum_dist::schedule::collective::{Collective, CollectiveAlgorithm, Pattern};
    let own = |algorithm| {
        let sums = Pattern::new(Collective::ReduceScatter, algorithm, 4).sums();
        sums[1].iter().find(|sum| sum.part == 1).map(|sum| sum.members.clone())
    };
    assert_eq!(own(CollectiveAlgorithm::Direct), Some(vec![1, 0, 3, 2]));
    assert_eq!(own(CollectiveAlgorithm::Ring), Some(vec![1, 2, 3, 0]));
    assert_eq!(own(CollectiveAlgorithm::Tree), Some(vec![1, 0, 3, 2]));
}

#[test]
fn chains_are_short() {
    use einsum_dist::local_plan::{SumKind, longest_chain};
    assert_eq!(longest_chain(100, SumKind::Products), 100);
    assert!(longest_chain(1_000_000_000, SumKind::Number) < 260);
}

#[test]
fn visits_of_an_element() {
    use einsum_dist::local_plan::{SumKind, longest_visits};
    assert_eq!(longest_visits(1 << 40, SumKind::Number), 1);
    assert_eq!(longest_visits(100, SumKind::Loops), 1);
    assert_eq!(longest_visits(1_000, SumKind::Products), 4);
}

#[test]
fn neighbours_fold() {
    use einsum_dist::local_plan::{Dim, fold};
    let rows = Dim { extent: 3, strides: [20, 4] };
    let columns = Dim { extent: 4, strides: [5, 1] };
    assert_eq!(fold(vec![columns, rows]), [Dim { extent: 12, strides: [5, 1] }]);
}

#[test]
fn larger_tiles_are_first() {
    use einsum_dist::distribution::tile_bounds;
    assert_eq!((0..4).map(|i| tile_bounds(14, 4, i)).collect::<Vec<_>>(), [0..4, 4..8, 8..11, 11..14]);
}

#[test]
fn owners_of_places() {
    use einsum_dist::distribution::Owners;
    assert_eq!(Owners::From(4).rank(&[2, 3], &[1, 0]), 7);
    let owners = Owners::Listed(vec![2, 0, 7]);
    assert_eq!(owners.rank(&[3], &[2]), 7);
    assert_eq!((owners.coordinates(&[3], 7), owners.coordinates(&[3], 1)), (Some(vec![2]), None));
    // The first axis has stride 1 and the second axis has stride 2, so the first axis varies fastest.
    let owners = Owners::Strided(vec![1, 2]);
    assert_eq!((owners.rank(&[2, 3], &[1, 2]), owners.coordinates(&[2, 3], 4)), (5, Some(vec![0, 2])));
}

#[test]
fn too_many_places() {
    use einsum_dist::distribution::{Axis, Distribution, Owners, Role};
    let huge = Axis { ranks: 1 << 32, role: Role::Replicate };
    let error = Distribution::try_new(vec![huge.clone(), huge], Owners::default()).unwrap_err();
    assert_eq!(error.to_string(), "it needs 4294967296 x 4294967296 ranks, more than 64 bits count");
}

#[test]
fn ranks_within_a_domain() -> Result<(), String> {
    use einsum_dist::machine::Synthetic;
    let grace = "pack:2 numa:1 core:72".parse::<Synthetic>()?.topology();
    assert_eq!((grace.ranks_within(144), grace.ranks_within(1)), (2, 1));
    Ok(())
}

#[test]
fn workers_of_ranks() -> Result<(), String> {
    use einsum_dist::machine::Synthetic;
    let grace = "pack:2 numa:1 core:72".parse::<Synthetic>()?.topology();
    assert_eq!((grace.workers(1, false), grace.workers(2, true), grace.workers(144, true)), (144, 71, 1));
    Ok(())
}

#[test]
fn a_topology_has_the_allowed_processors() -> Result<(), String> {
    use einsum_dist::machine::Synthetic;
    let host = "numa:2 core:4 pu:1".parse::<Synthetic>()?.topology();
    let left = host.restricted(&[1, 6, 7]);
    assert_eq!(left.domains.iter().map(|domain| domain.cores.len()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(host.restricted(&[5]).domains[0].number, 1);
    Ok(())
}

#[test]
fn kinds_of_dimensions() {
    use einsum_dist::dims::{Kind, Label, classify};
    let (m, k, n) = (Label(0), Label(1), Label(2));
    let kinds = classify(&[m, k], &[k, n], &[m, n]).unwrap();
    assert_eq!(kinds.of(k), Some(Kind::K));
}

#[test]
fn machines_have_limits() {
    use einsum_dist::Machine;
    assert_eq!(Machine::new(18_432, 36).check(), Ok(()));
    let error = Machine::new(2_000_000, 36).check().unwrap_err();
    assert_eq!(error, "ranks is 2000000, and must be from 1 to 1048576");
    let error = Machine { flops: f64::NAN, ..Machine::default() }.check().unwrap_err();
    assert_eq!(error, "flops is NaN, and must be from 0.001 to 1e24");
}

#[test]
fn ranks_that_meet_a_region() {
    use einsum_dist::{Axis, Cut, Distribution, Region, Role};
    let axis = |dim| Axis { ranks: 3, role: Role::Cut { dim, how: Cut::Even } };
    let grid = Distribution::new(vec![axis(0), axis(1)]);
    assert_eq!(grid.meeting(&[9, 9], &Region::from(vec![2..4, 6..9])), [2, 5]);
}

#[test]
fn distributions_move_to_other_ranks() {
    use einsum_dist::Distribution;
    let rows = Distribution::cut(0, 3).moved(0, 4);
    assert_eq!(rows.block(&[6], 5).unwrap().dims()[0].ranges()[0], 2..4);
    assert_eq!(rows.moved(4, 0), Distribution::cut(0, 3));
}

#[test]
fn scalars_leave_ranks_idle() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem};
    let scalar = Problem::parse("->")?.shapes(&[vec![]])?;
    assert_eq!(scalar.plan(&Machine::new(3, 1), &PlanOptions::default())?.idle_ranks(), 2);
    Ok(())
}

#[test]
fn infinite_values_scale_without_nan() {
    use einsum_dist::Element;
    use num_complex::Complex;
    let infinite = Complex::new(f64::INFINITY, 2.0);
    assert_eq!(infinite.scaled(Complex::new(-1.0, 0.0)), Complex::new(f64::NEG_INFINITY, -2.0));
    assert!((infinite * Complex::new(-1.0, 0.0)).im.is_nan());
}
