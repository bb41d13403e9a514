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

#[test]
fn a_checkpoint_of_slices() -> einsum_dist::Result<()> {
    use einsum_dist::{Checkpoint, DistTensor, Dtype, Machine, PlanOptions, Problem, World};
    use std::time::Duration;
    let folder = std::env::temp_dir().join(format!("einsum-dist-checkpoint-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let world = World::single();
    // The intermediate `ac` would need 160,000 bytes.
    let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(120_000);
    let shaped = Problem::parse("[ab,bc->ac],cd->ad")?.shapes(&[vec![10, 2], vec![2, 2000], vec![2000, 2]])?;
    let mut checkpoint = Checkpoint::open(&world, folder.join("state"))?.every(Duration::from_secs(10));
    let plan = checkpoint.plan(&shaped, &Machine::default(), &options)?;
    assert!(plan.slice_count() > 1);
    let mut program = world.compile::<f64>(&plan)?;
    let [a, b, c] = [0, 1, 2]
        .map(|i| DistTensor::random(&world, &plan.operand_shape(i), &plan.operand(i).distribution, 1, i as u32));
    let mut out = DistTensor::zeros(&world, &plan.output_shape(), &plan.output().distribution);
    program.run_dist_with_checkpoint(&checkpoint, 1.0, &[&a, &b, &c], 0.0, &mut out)?;
    out.write_npy(&world, folder.join("result.npy"))?;
    // The result is stored, so the checkpoint is no longer needed.
    checkpoint.remove(&world)?;
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

#[test]
fn paths_given_and_found() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem};
    use einsum_dist::{PathChoice, PathReport};

    let chain = Problem::parse("ij,jk,kl->il")?.shapes(&[vec![10, 1000], vec![1000, 1000], vec![1000, 20]])?;
    let plan = |path| chain.plan(&Machine::default(), &PlanOptions::default().path(path));
    // Two positions in the list of operands; the result is appended.
    let given = plan("(1,2),(0,1)".parse().map_err(einsum_dist::Error::Usage)?)?;
    assert_eq!(given.path, [[1, 2], [0, 1]]);
    let found = plan(PathChoice::Auto)?;
    assert_eq!(found.path, [[0, 1], [1, 0]]);
    assert!(found.total_gflop() < given.total_gflop());
    // As opt_einsum would describe it: most dimensions in one step, all dimensions of the expression.
    assert_eq!(PathReport::of(&found).map(|report| report.scaling), Some([4, 3]));
    Ok(())
}

#[test]
fn additions_of_a_chain() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem};
    let chain = Problem::parse("[ij,jk->ik],kl->il")?.shapes(&[vec![4, 10], vec![10, 7], vec![7, 3]])?;
    assert_eq!(chain.plan(&Machine::default(), &PlanOptions::default())?.roundings(), 10 + 7);
    Ok(())
}
