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
    let [left, right] = [(n, 3), (m, 2)].map(|(cut, ranks)| vec![Sharing { cut: (cut, 0), along: k, ranks }]);
    let (cuts, shared) = (vec![(m, 2), (n, 3)], [left, right, vec![]]);
    let algorithm = CollectiveAlgorithm::Direct;
    let grid = Grid { cuts, node: 1, shared, rounds: 1, slots: 3, pieces: 1, in_place: false, algorithm };
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

#[test]
fn plans_are_proved_and_sliced() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem};

    let shaped = Problem::parse("[ap,pbq->abq],qc->abc")?.shapes(&[vec![30, 8], vec![8, 30, 40], vec![40, 2]])?;
    let plan = shaped.plan(&Machine::new(1, 1), &PlanOptions::default())?;
    // Proves, without any data, that the schedules of all ranks compute the result.
    plan.verify()?;
    assert_eq!(plan.step_text(plan.output()), "abq,qc->abc");
    println!("{}", plan.explain());

    // With half of the memory, the same steps run once for each piece of some dimensions.
    let options = PlanOptions::default().memory_limit(plan.peak_bytes(0) / 2);
    let sliced = shaped.plan(&Machine::new(1, 1), &options)?;
    assert!(sliced.peak_bytes(0) <= plan.peak_bytes(0) / 2 && sliced.slice_count() > 1);
    assert_eq!(sliced.output_shape(), [30, 30, 2]);
    assert_eq!(sliced.report(None).slices, sliced.slice_count());
    assert_ne!(sliced.fingerprint(), plan.fingerprint());
    Ok(())
}

#[test]
fn one_part_after_the_other() -> einsum_dist::Result<()> {
    use einsum_dist::{DistTensor, Dtype, Machine, PlanOptions, Problem, World};
    let world = World::single();
    // The result needs 80,000 bytes, and the operands need 16,000.
    let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(50_000).in_parts(true);
    let plan =
        Problem::parse("mk,kn->mn")?.shapes(&[vec![100, 10], vec![10, 100]])?.plan(&Machine::default(), &options)?;
    let mut program = world.compile::<f64>(&plan)?;
    let [left, right] =
        [0, 1].map(|i| DistTensor::random(&world, &plan.operand_shape(i), &plan.operand(i).distribution, 1, i as u32));
    let mut part = DistTensor::zeros(&world, &plan.part_shape(), &plan.output().distribution);
    let mut squares = 0.0;
    for number in 0..plan.part_count() {
        program.run_part(number, 1.0, &[&left, &right], 0.0, &mut part)?;
        println!("{:?} is finished", plan.part_bounds(number));
        squares += part.blocks().map(|(_, block)| block.iter().map(|x| x * x).sum::<f64>()).sum::<f64>();
    }
    assert!(plan.part_count() > 1 && squares > 0.0);
    Ok(())
}

#[test]
fn timelines_of_simulations() -> einsum_dist::Result<()> {
    use einsum_dist::AlgorithmName;
    use einsum_dist::{Machine, PlanOptions, Problem};
    let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![800, 600], vec![600, 700]])?;
    let options = PlanOptions::default().algorithm(AlgorithmName::RingMn);
    let alone = shaped.plan(&Machine::new(1, 1), &options)?.simulate().unwrap();
    let four = shaped.plan(&Machine::new(4, 1), &options)?.simulate().unwrap();
    assert!(four.seconds < alone.seconds / 2.0 && four.seconds > alone.seconds / 4.0);
    // More than half of the receive time is hidden behind computation.
    assert!(four.hidden_share().unwrap() > 0.5);
    assert!(four.svg("a ring of four").starts_with("<svg"));
    assert!(four.trace().starts_with("{"));
    Ok(())
}

#[test]
fn distributions_as_text() -> Result<(), Box<dyn std::error::Error>> {
    use einsum_dist::FixedDistributions;
    let (left, right, out) = (["m", "k"], ["k", "n"], ["m", "n"]);
    let fixed = FixedDistributions::parse("m:2,k:3; k:cyclic(64,2) n:3 @1; *", &[&left, &right, &out])?;
    let placed: Vec<String> = fixed.operands.iter().flatten().map(|d| d.describe(&["0", "1"])).collect();
    assert_eq!(placed, ["0/2 1/3", "0/2 cyclic(64) 1/3 from 1"]);
    assert_eq!(fixed.output, None);
    let error = FixedDistributions::parse("m:2 q:3", &[&left, &right, &out]).unwrap_err().to_string();
    assert_eq!(error, "distribution of operand 0: there is no dimension `q` (it has `m`, `k`)");
    Ok(())
}

#[test]
fn pools_of_the_user() -> einsum_dist::Result<()> {
    use einsum_dist::{PlanOptions, Problem, World, ndarray::Array2, rayon::ThreadPoolBuilder};
    use std::sync::Arc;

    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    let world = World::single_in(pool);
    let (a, b) = (Array2::<f64>::ones((300, 200)), Array2::ones((200, 100)));
    let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![300, 200], vec![200, 100]])?;
    let mut program = world.prepare(&shaped, 2, &PlanOptions::default())?;
    assert!(program.run(&[&a, &b])?.iter().all(|&x| x == 200.0));
    Ok(())
}

#[test]
fn timelines_of_runs() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem, World};
    use ndarray::Array2;
    let plan = Problem::parse("mk,kn->mn")?
        .shapes(&[vec![60, 50], vec![50, 40]])?
        .plan(&Machine::new(3, 1), &PlanOptions::default())?;
    let mut program = World::in_process(3).compile::<f32>(&plan)?;
    program.run(&[&Array2::ones((60, 50)), &Array2::ones((50, 40))])?;
    if let Some(timeline) = program.timeline()? {
        println!("workers computed for {:.0} % of the time", 100.0 * timeline.working_share());
        assert_eq!(timeline.spans.iter().filter(|span| span.bytes > 0).count() % 2, 0);
    }
    Ok(())
}

#[test]
fn results_outside_the_range() -> einsum_dist::Result<()> {
    use einsum_dist::{DistTensor, Distribution, PlanOptions, Problem, World};
    let world = World::single();
    let shaped = Problem::parse("ab,bc,cd->ad")?.shapes(&vec![vec![2, 2]; 3])?;
    let mut program = world.prepare::<f32>(&shaped, 1, &PlanOptions::default())?;
    let whole = Distribution::single();
    // Every element of the result is 4e90.
    let huge = DistTensor::from_fn(&world, &[2, 2], &whole, |_| 1e30);
    let mut out = DistTensor::zeros(&world, &[2, 2], &whole);
    let exponent = program.run_dist_with_exponent(&[&huge, &huge, &huge], &mut out)?;
    let element = f64::from(out.gather(&world)?[[0, 0]]) * 2f64.powi(exponent as i32);
    assert!((element / 4e90 - 1.0).abs() < 1e-6);
    Ok(())
}

#[test]
fn topologies_as_text() -> Result<(), String> {
    use einsum_dist::machine::Synthetic;
    let grace: Synthetic = "pack:2 numa:1(memory=240GB) core:72".parse()?;
    let topology = grace.topology();
    assert_eq!((topology.domains.len(), topology.cores()), (2, 144));
    assert_eq!((topology.domains[1].socket, &topology.domains[1].cores[0]), (1, &vec![72]));
    assert_eq!(grace.to_string().parse(), Ok(grace));
    let wrong = "pack:2 cores:72".parse::<Synthetic>();
    assert_eq!(
        wrong.unwrap_err(),
        "`cores` is no level of a topology (known: pack, die, group, numa, l1 to l5, core, pu)"
    );
    Ok(())
}

#[test]
fn results_written_row_by_row() -> einsum_dist::Result<()> {
    use einsum_dist::{DistTensor, Dtype, NpyOutput, World, distribution::Distribution};
    let path = std::env::temp_dir().join(format!("einsum-dist-doc-{}.npy", std::process::id()));
    let world = World::single();
    let output = NpyOutput::create(&world, &path, Dtype::Float32, &[4, 3])?;
    for row in 0..4 {
        let part = DistTensor::from_fn(&world, &[1, 3], &Distribution::single(), |i| (10 * row + i[1]) as f32);
        output.write(&part, &[row, 0])?;
    }
    output.commit()?;
    let whole = DistTensor::<f32>::from_npy(&world, &path, &Distribution::single())?;
    assert_eq!(whole.blocks().next().map(|(_, block)| block[[2, 1]]), Some(21.0));
    std::fs::remove_file(&path).unwrap();
    Ok(())
}

#[test]
fn programs_of_earlier_calls() -> einsum_dist::Result<()> {
    use einsum_dist::{PlanOptions, ProgramCache, ndarray::Array2};

    let mut cache = ProgramCache::new();
    let (a, b, mut c) = (Array2::<f64>::ones((2, 3)), Array2::<f64>::ones((3, 4)), Array2::<f64>::zeros((2, 4)));
    for _ in 0..10 {
        // Only the first call plans and compiles.
        cache.run::<f64, _>("mk,kn->mn", &[a.shape(), b.shape()], &PlanOptions::default(), |program| {
            program.run_into(2.0, &[&a, &b], 1.0, &mut c)
        })?;
    }
    assert!(c.iter().all(|&x| x == 60.0));
    Ok(())
}

#[test]
fn paths_in_other_forms() -> einsum_dist::Result<()> {
    use einsum_dist::{GivenPath, Machine, PlanOptions, Problem};

    let shaped = Problem::parse("ij,jk,kl->il")?.shapes(&[vec![2, 3], vec![3, 4], vec![4, 5]])?;
    let given = r#"{"ssa_path": [[1, 2], [0, 3]], "sliced_inds": ["k"], "slice_sizes": {"k": 2}}"#;
    let GivenPath { order, sliced } = given.parse().map_err(einsum_dist::Error::Usage)?;
    let plan = shaped.plan(&Machine::default(), &PlanOptions::default().path(order).sliced(sliced))?;
    assert_eq!((plan.ssa_path(), plan.slice_count()), (vec![[1, 2], [0, 3]], 2));
    Ok(())
}

#[test]
fn plans_without_data() -> einsum_dist::Result<()> {
    use einsum_dist::{Machine, PlanOptions, Problem};
    let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![64, 32], vec![32, 48]])?;
    assert_eq!(shaped.output_shape(), [64, 48]);
    // A plan is made without data, for any number of ranks.
    let plan = shaped.plan(&Machine::new(1000, 36), &PlanOptions::default())?;
    assert_eq!(plan.ranks(), 1000);
    Ok(())
}

#[test]
fn options_of_a_plan() -> einsum_dist::Result<()> {
    use einsum_dist::AlgorithmName;
    use einsum_dist::{Dtype, Machine, PlanOptions, Problem};

    let options = PlanOptions::default().dtype(Dtype::Float64).algorithm(AlgorithmName::RingMn);
    let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![60, 40], vec![40, 50]])?;
    let plan = shaped.plan(&Machine::new(2, 1), &options)?;
    assert_eq!([0, 1].map(|operand| plan.placement(plan.operand(operand))), ["m/2", "n/2"]);
    // Each rank receives the half of right that it does not have.
    assert_eq!(plan.schedule(0).bytes_received(), 40 * 50 / 2 * 8);
    Ok(())
}

#[test]
fn distributed_operands() -> einsum_dist::Result<()> {
    use einsum_dist::{DistTensor, PlanOptions, Problem, World};
    use ndarray::s;
    let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![4, 6], vec![6, 5]])?;
    let world = World::in_process(2);
    let mut program = world.prepare::<f64>(&shaped, 1, &PlanOptions::default())?;
    // With distributed tensors, each rank has its own blocks, in the distributions of the plan.
    let plan = program.plan().clone();
    let left = DistTensor::from_fn(&world, &[4, 6], &plan.operand(0).distribution, |at| at[0] as f64);
    let right = DistTensor::from_fn(&world, &[6, 5], &plan.operand(1).distribution, |_| 1.0);
    let mut out = DistTensor::zeros(&world, &[4, 5], &plan.output().distribution);
    program.run_dist(1.0, &[&left, &right], 0.0, &mut out)?;
    assert_eq!(out.gather(&world)?.slice(s![.., 0]).to_vec(), [0.0, 6.0, 12.0, 18.0]);
    Ok(())
}
