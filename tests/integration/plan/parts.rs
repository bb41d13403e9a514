//! Tests results that are computed in parts because the operands and the whole result together exceed the memory limit.
//! The elements must be the same as without parts, and the measured memory must equal the planned memory. This is
//! tested for results in memory and for results in files.

use crate::common::Rng;
use einsum_dist::distribution::{Bounds, Distribution};
use einsum_dist::plan::{KernelChoice, ResultResidency, Source};
use einsum_dist::{DistTensor, Dtype, Element, Error, Machine, NpyOutput, Operand, Plan, PlanOptions, Problem, World};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use num_complex::Complex;

/// An expression with shapes and a path.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) expression: String,
    pub(super) shapes: Vec<Vec<usize>>,
    pub(super) path: String,
}

impl Network {
    /// 1 to 4 operands of 1 to 3 labels each; the output has some of these labels.
    pub(super) fn random(rng: &mut Rng) -> Network {
        let extents: Vec<usize> = (0..3 + rng.below(3)).map(|_| 1 + rng.below(12)).collect();
        let mut term = |max_labels: usize| {
            let mut labels: Vec<usize> = (0..extents.len()).collect();
            rng.shuffle(&mut labels);
            labels.truncate(1 + rng.below(max_labels));
            labels
        };
        let operands: Vec<Vec<usize>> = (0..1 + term(4).len() % 4).map(|_| term(3)).collect();
        let mut output = term(extents.len());
        output.retain(|label| operands.iter().any(|labels| labels.contains(label)));
        let name = |labels: &Vec<usize>| -> String { labels.iter().map(|&l| char::from(b'a' + l as u8)).collect() };
        let terms: Vec<String> = operands.iter().map(name).collect();
        Network {
            expression: format!("{}->{}", terms.join(","), name(&output)),
            shapes: operands.iter().map(|labels| labels.iter().map(|&label| extents[label]).collect()).collect(),
            path: "auto".to_owned(),
        }
    }

    /// The trees of the Einsum Trees paper, with extents divided by `divided`.
    pub(super) fn trees(divided: usize) -> Vec<Network> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/data/trees.csv");
        let text = std::fs::read_to_string(file).unwrap();
        let tree = |line: &str| {
            let fields: Vec<&str> = line.split('"').collect();
            let extent = |label: char| -> usize {
                let sizes = fields[2].split([',', ';']);
                let of = sizes.filter_map(|pair| pair.strip_prefix(label)?.strip_prefix('=')).next().unwrap();
                of.parse::<usize>().unwrap().div_ceil(divided)
            };
            let terms = fields[1].split("->").next().unwrap().split(',');
            let shapes = terms.map(|term| term.chars().map(extent).collect()).collect();
            Network { expression: fields[1].to_owned(), shapes, path: fields[3].to_owned() }
        };
        text.lines().skip(1).map(tree).collect()
    }

    pub(super) fn plan(&self, ranks: usize, options: &PlanOptions) -> Result<Plan, Error> {
        // A single rank uses the thread pool of its caller, whereas each of several ranks has its own pool.
        let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
        let options = options.clone().path(self.path.parse().unwrap());
        Problem::parse(&self.expression)?.shapes(&self.shapes)?.plan(&Machine::new(ranks, workers), &options)
    }
}

/// Elements are small integers, so that sums are exact in every order.
pub(super) fn whole_numbers<T: Element>(shape: &[usize], seed: usize) -> ArrayD<T> {
    let number = |place: usize| ((place * 7 + seed * 5 + 3) % 5) as f64 - 2.0;
    let elements = (0..shape.iter().product()).map(|place| T::from_f64(number(place), number(place + 2))).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).unwrap()
}

fn distributed<T: Element>(world: &World, array: &ArrayD<T>, distribution: &Distribution) -> DistTensor<T> {
    let mut tensor = DistTensor::zeros(world, array.shape(), distribution);
    tensor.assign(array.view());
    tensor
}

/// A mutable view of a box in an array.
pub(super) fn within<'a, T>(array: &'a mut ArrayD<T>, bounds: &Bounds) -> ndarray::ArrayViewMutD<'a, T> {
    let mut view = array.view_mut();
    for (axis, range) in bounds.iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::from(range.clone()));
    }
    view
}

pub(super) fn corner(bounds: &Bounds) -> Vec<usize> {
    bounds.iter().map(|range| range.start).collect()
}

pub(super) fn peak(plan: &Plan) -> u64 {
    plan.report(None).peak_bytes.planned
}

/// Numbers of bytes of the operands and of the result, on the rank where their sum is largest.
pub(super) fn users(plan: &Plan) -> (u64, u64) {
    let bytes = |distribution: &Distribution, shape: &[usize], rank| {
        (distribution.block_or_empty(shape, rank).volume() * plan.dtype.size()) as u64
    };
    let of = |rank| {
        let operands =
            (0..plan.operands).map(|at| bytes(&plan.operand(at).distribution, &plan.operand_shape(at), rank));
        (operands.sum(), bytes(&plan.output().distribution, &plan.output_shape(), rank))
    };
    (0..plan.ranks()).map(of).max_by_key(|(operands, result)| operands + result).unwrap()
}

/// Runs a plan part by part (forwards, backwards and accumulating) and in one call. Compares the results with the
/// complete result on one rank.
fn check<T: Element>(network: &Network, sliced: &Plan) {
    let what = format!("{network:?}\n{}", sliced.explain());
    let alone = network.plan(1, &PlanOptions::default().dtype(T::DTYPE)).unwrap();
    let operands: Vec<ArrayD<T>> = network.shapes.iter().enumerate().map(|(at, s)| whole_numbers(s, at)).collect();
    let borrowed: Vec<&dyn Operand<T>> = operands.iter().map(|operand| operand as _).collect();
    let prior = whole_numbers::<T>(&alone.output_shape(), 9);
    let world = World::in_process(sliced.ranks());
    let tensor_of = |(at, array)| distributed(&world, array, &sliced.operand(at).distribution);
    let tensors: Vec<DistTensor<T>> = operands.iter().enumerate().map(tensor_of).collect();
    let tensors: Vec<&DistTensor<T>> = tensors.iter().collect();
    let distribution = &sliced.output().distribution;
    sliced.verify().unwrap();
    let mut program = world.compile::<T>(sliced).unwrap();
    let count = sliced.part_count();
    // If the last step is not a contraction that adds onto the output, accumulation needs memory that was not planned.
    let adds = sliced.accumulate || matches!(sliced.output().source, Source::Contract { .. });
    let runs = [(0.0, false), (-1.0, false), (3.0, true)];
    for (beta, backwards) in runs.into_iter().filter(|(beta, _)| adds || *beta == 0.0) {
        let (alpha, beta) = (T::from_f64(2.0, 1.0), T::from_f64(beta, 0.0));
        let mut want = prior.clone();
        World::single().compile::<T>(&alone).unwrap().run_into(alpha, &borrowed, beta, &mut want).unwrap();
        let mut got = ArrayD::from_elem(want.shape(), T::from_f64(f64::NAN, 0.0));
        // If `beta` is 0, the part is not read, so it may contain NaN.
        let nothing = ArrayD::from_elem(sliced.part_shape(), T::from_f64(f64::NAN, f64::NAN));
        let mut part = distributed(&world, &nothing, distribution);
        for number in 0..count {
            let number = if backwards { count - 1 - number } else { number };
            let bounds = sliced.part_bounds(number);
            if beta != T::ZERO {
                part.assign(within(&mut prior.clone(), &bounds).view());
            }
            program.run_part(number, alpha, &tensors, beta, &mut part).unwrap_or_else(|e| panic!("{e}: {what}"));
            within(&mut got, &bounds).assign(&part.gather(&world).unwrap());
        }
        assert_eq!(got, want, "beta {beta:?}: {what}");
        // If the plan overwrites but the run accumulates, the run uses a second plan, which accumulates and has
        // different memory and transfers.
        if beta == T::ZERO || sliced.accumulate {
            let measured = program.measured().unwrap();
            let max_peak = measured.iter().map(|rank| rank.peak_bytes).max().unwrap();
            assert_eq!(max_peak, peak(sliced), "{what}");
            if !backwards {
                for (measured, planned) in measured.iter().zip(sliced.report(None).per_rank) {
                    assert_eq!(measured.received.iter().sum::<u64>(), planned.bytes_received.planned, "{what}");
                }
            }
        }
        // Also computes the complete result in one call, which needs memory for the complete result.
        let mut out = prior.clone();
        program.run_into(alpha, &borrowed, beta, &mut out).unwrap();
        assert_eq!(out, want, "{what}");
        let mut out = distributed(&world, &prior, distribution);
        program.run_dist(alpha, &tensors, beta, &mut out).unwrap();
        assert_eq!(out.gather(&world).unwrap(), want, "{what}");
        if !sliced.accumulate && beta == T::ZERO {
            let max_peak = program.measured().unwrap().iter().map(|rank| rank.peak_bytes).max().unwrap();
            assert!(max_peak > peak(sliced) || count == 1, "{what}");
        }
    }
}

fn check_as(dtype: Dtype, network: &Network, plan: &Plan) {
    match dtype {
        Dtype::Float32 => check::<f32>(network, plan),
        Dtype::Float64 => check::<f64>(network, plan),
        Dtype::Complex64 => check::<Complex<f32>>(network, plan),
        Dtype::Complex128 => check::<Complex<f64>>(network, plan),
    }
}

#[test]
fn random_results_leave_in_parts() {
    let mut rng = Rng::new(5);
    // For each number of ranks, the number of plans that compute the result in parts, and the number of these plans
    // that also slice summed dimensions.
    let (mut in_parts, mut added, mut onto) = ([0; 4], [0; 4], 0);
    for case in 0..320 {
        let network = Network::random(&mut rng);
        let at = case % 4;
        let ranks = [1, 2, 3, 5][at];
        let dtype = [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128][case / 4 % 4];
        let options = PlanOptions::default().dtype(dtype).accumulate(rng.one_in(3));
        let whole = network.plan(ranks, &options).unwrap();
        let (operands, result) = users(&whole);
        // The limit allows the operands and a random share of the remaining memory, but it is below the size of
        // operands and result together.
        let between = peak(&whole) - operands - result;
        let limit = operands + (result + between) * (1 + rng.below(3)) as u64 / 4;
        let limited = options.memory_limit(limit.min(operands + result - 1)).in_parts(true);
        let plan = match network.plan(ranks, &limited) {
            Ok(plan) => plan,
            Err(Error::Plan(_)) => continue,
            Err(error) => panic!("{error}: {network:?}"),
        };
        assert!(peak(&plan) <= limit && plan.total_gflop() >= whole.total_gflop() * (1.0 - 1e-9), "{network:?}");
        if plan.result == ResultResidency::Whole {
            // On several ranks, a plan with different distributions may fit into the limit without parts.
            assert!(ranks > 1 && plan.part_count() == 1, "{network:?}: {}", plan.explain());
            continue;
        }
        in_parts[at] += 1;
        added[at] += usize::from(plan.slice_count() > plan.part_count());
        onto += usize::from(plan.accumulate && plan.slice_count() == plan.part_count());
        check_as(dtype, &network, &plan);
    }
    println!("in parts {in_parts:?}, of these {added:?} with sums in slices, {onto} added onto");
    assert!(in_parts.iter().all(|&count| count >= 10) && added.iter().sum::<usize>() >= 1 && onto >= 10);
}

#[test]
fn sums_are_complete_before_a_part_leaves() {
    let cases: [(&str, &[&[usize]]); 3] = [
        ("[ab,cd->abcd],bd->ac", &[&[14, 4], &[13, 3], &[4, 3]]),
        ("[ab,bc->abc],[cd,de->cde]->ae", &[&[12, 3], &[3, 4], &[4, 2], &[2, 18]]),
        ("[[ia,ib->iab],[ic,id->icd]->abcd],ac->bd", &[&[2, 3], &[2, 15], &[2, 2], &[2, 16], &[3, 2]]),
    ];
    let mut both = 0;
    for (expression, shapes) in cases {
        let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
        let network = Network { expression: (*expression).to_owned(), shapes, path: "auto".to_owned() };
        for ranks in [1, 2, 3] {
            let options = PlanOptions::default().dtype(Dtype::Float64).in_parts(true);
            let whole = network.plan(ranks, &options).unwrap();
            let (operands, result) = users(&whole);
            for share in 1..8 {
                let limited = options.clone().memory_limit(operands + result * share / 8);
                let Ok(plan) = network.plan(ranks, &limited) else { continue };
                // Runs only plans with few slices, because starting the ranks for each slice takes longer than
                // contracting it.
                let few = plan.slice_count() * ranks < 150;
                if few && plan.slice_count() > plan.part_count() && plan.part_count() > 1 {
                    both += 1;
                    check::<f64>(&network, &plan);
                }
            }
        }
    }
    assert!(both >= 6, "{both} plans");
}

#[test]
fn trees_run_in_half_of_their_memory() {
    for (full, network) in Network::trees(1).iter().zip(Network::trees(5)) {
        let half = |network: &Network| {
            let options = PlanOptions::default().in_parts(true);
            let limit = peak(&network.plan(1, &options).unwrap()) / 2;
            let plan = network.plan(1, &options.memory_limit(limit)).unwrap();
            assert!(peak(&plan) <= limit && plan.slice_count() > 1, "{}", plan.explain());
            plan
        };
        half(full);
        check::<f32>(&network, &half(&network));
    }
}

#[test]
fn a_whole_result_is_preferred_and_its_only_part() {
    let network =
        Network { expression: "ab,bc->ac".to_owned(), shapes: vec![vec![20, 8], vec![8, 30]], path: "auto".to_owned() };
    let options = PlanOptions::default().dtype(Dtype::Float64).in_parts(true);
    let whole = network.plan(2, &options).unwrap();
    let limited = network.plan(2, &options.memory_limit(peak(&whole))).unwrap();
    assert_eq!((limited.result, limited.part_count(), limited.slice_count()), (ResultResidency::Whole, 1, 1));
    assert_eq!((limited.part_shape(), limited.part_bounds(0)), (vec![20, 30], vec![0..20, 0..30]));
    check::<f64>(&network, &whole);
}

#[test]
fn parts_are_what_the_plan_says() {
    let network =
        Network { expression: "ab,bc->ac".to_owned(), shapes: vec![vec![20, 8], vec![8, 30]], path: "auto".to_owned() };
    // The reference kernel needs no packing memory, so the operands (3,200 bytes) and the result (4,800 bytes) are the
    // only memory.
    let kernel = KernelChoice::Reference;
    let options = PlanOptions::default().dtype(Dtype::Float64).in_parts(true).kernel(kernel);
    let limited = |limit| network.plan(1, &options.clone().memory_limit(limit));
    let plan = limited(6000).unwrap();
    assert_eq!((plan.part_count(), plan.part_shape()), (2, vec![10, 30]));
    assert_eq!(plan.part_bounds(1), [10..20, 0..30]);
    let text = plan.explain().to_string();
    assert!(
        text.contains("\nslices    2: a by 10\nresult    computed in 2 parts; ranks store one part at a time\n"),
        "{text}"
    );
    assert_eq!(plan.report(None).output.parts, 2);

    let world = World::single();
    let [left, right] =
        [0, 1].map(|at| distributed(&world, &whole_numbers(&network.shapes[at], at), &Distribution::single()));
    let mut program = world.compile::<f64>(&plan).unwrap();
    let mut part = DistTensor::zeros(&world, &[20, 30], &Distribution::single());
    let error = program.run_part(0, 1.0, &[&left, &right], 0.0, &mut part).unwrap_err().to_string();
    assert_eq!(error, "the part has shape [20, 30], the plan is for [10, 30]");
    let mut part = DistTensor::zeros(&world, &[10, 30], &Distribution::single());
    let error = program.run_part(2, 1.0, &[&left, &right], 0.0, &mut part).unwrap_err().to_string();
    assert_eq!(error, "there is no part 2: the last part of the result is 1");
    let error = program.run_dist(1.0, &[&left, &right], 0.0, &mut part).unwrap_err().to_string();
    assert_eq!(error, "the output has shape [10, 30], the plan is for [20, 30]");
}

#[test]
fn what_does_not_fit_in_parts_says_how_much_is_missing() {
    let network =
        Network { expression: "ab,bc->ac".to_owned(), shapes: vec![vec![20, 8], vec![8, 30]], path: "auto".to_owned() };
    let message = |limit, in_parts| {
        let (kernel, dtype) = (KernelChoice::Reference, Dtype::Float64);
        let options = PlanOptions::default().dtype(dtype).in_parts(in_parts).kernel(kernel).memory_limit(limit);
        network.plan(1, &options).unwrap_err().to_string()
    };
    assert_eq!(
        message(3207, true),
        "rank 0 needs 3208 bytes, 1 more than the memory limit of 3207, sliced along `a`, `c` as it is, and nothing else \
         of `ab,bc->ac` can be sliced"
    );
    assert_eq!(
        message(3199, true),
        "rank 0 needs 3200 bytes, 1 more than the memory limit of 3199, for operands alone"
    );
    assert_eq!(
        message(7999, false),
        "rank 0 needs 8000 bytes, 1 more than the memory limit of 7999, for operands and result alone"
    );
}

#[test]
fn files_are_written_and_read_in_parts() {
    let folder = std::env::temp_dir().join(format!("einsum-dist-parts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut rng = Rng::new(6);
    for case in 0..60 {
        let shape: Vec<usize> = (0..1 + rng.below(4)).map(|_| 1 + rng.below(9)).collect();
        let whole = whole_numbers::<f32>(&shape, case);
        let pieces: Vec<usize> = shape.iter().map(|&extent| 1 + rng.below(extent)).collect();
        let ranks = 1 + case % 3;
        let world = World::in_process(ranks);
        let distribution = match case % 4 {
            0 => Distribution::replicated(ranks),
            _ => Distribution::cut(rng.below(shape.len()), ranks),
        };
        let path = folder.join("whole.npy");
        let output = NpyOutput::create(&world, &path, Dtype::Float32, &shape).unwrap();
        let mut parts: Vec<Bounds> = vec![Vec::new()];
        for (&extent, &piece) in shape.iter().zip(&pieces) {
            let ranges = || (0..extent).step_by(piece).map(|start| start..(start + piece).min(extent));
            parts = parts.iter().flat_map(|part| ranges().map(|r| [&part[..], &[r]].concat())).collect();
        }
        rng.shuffle(&mut parts);
        for bounds in &parts {
            let part = within(&mut whole.clone(), bounds).to_owned();
            output.write(&distributed(&world, &part, &distribution), &corner(bounds)).unwrap();
        }
        output.commit().unwrap();
        let read = DistTensor::<f64>::from_npy(&world, &path, &distribution).unwrap();
        assert_eq!(read.gather(&world).unwrap(), whole.mapv(f64::from), "{shape:?} by {pieces:?}");
        for bounds in &parts {
            let part = within(&mut whole.clone(), bounds).to_owned();
            let mut read = DistTensor::<Complex<f32>>::zeros(&world, part.shape(), &distribution);
            read.read_npy(&world, &path, &corner(bounds)).unwrap();
            assert_eq!(read.gather(&world).unwrap(), part.mapv(|x| Complex::new(x, 0.0)), "{shape:?} by {pieces:?}");
        }
    }
    let world = World::in_process(2);
    let path = folder.join("whole.npy");
    let part = DistTensor::<f32>::zeros(&world, &[2, 3], &Distribution::cut(0, 2));
    let output = NpyOutput::create(&world, &path, Dtype::Float32, &[4, 4]).unwrap();
    assert!(output.write(&part, &[2, 2]).unwrap_err().to_string().contains("2..3, 2..5"));
    drop(output);
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["whole.npy"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Name of the environment variable that contains the folder in which a child process creates an output file and
/// aborts.
const ABORTS_IN: &str = "EINSUM_DIST_TEST_ABORTS_IN";

#[test]
fn an_aborted_run_leaves_no_part_of_a_file() {
    if let Some(folder) = std::env::var_os(ABORTS_IN) {
        let (world, path) = (World::in_process(2), std::path::Path::new(&folder).join("out.npy"));
        let output = NpyOutput::create(&world, path, Dtype::Float32, &[4]).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        output.write(&DistTensor::<f32>::zeros(&world, &[2], &Distribution::cut(0, 2)), &[0]).unwrap();
        world.abort("the end");
    }
    let folder = std::env::temp_dir().join(format!("einsum-dist-aborted-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "plan::parts::an_aborted_run_leaves_no_part_of_a_file", "--nocapture"])
        .env(ABORTS_IN, &folder);
    let ended = again.output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("einsum-dist: the end"), "{ended:?}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir_all(&folder).unwrap();
}
