//! Counts the words that the busiest rank (the one that receives the most) receives, for the shapes of the COSMA paper
//! on 2 to 18,432 ranks.
//!
//! Command: `cargo bench --bench volumes`.
//!
//! Our numbers of words are counted in generated schedules instead of estimated. They are compared with the words for
//! the best grid of an exhaustive search (not rounded to whole words), the words for the grids of four decompositions,
//! and the lower bound. Each of these grids may leave ranks idle, up to the same maximum number ([`rivals`]). A field
//! is empty if no grid of a decomposition fits into memory. The lower bound assumes that all ranks work. If a few ranks
//! are idle, the other ranks may receive fewer words than this bound.
//!
//! With p ranks, a rank has one of three amounts of memory. In "strong", it has its share of a machine's memory. In
//! "limited", it has 1/p of the memory for two copies of the tensors. In "extra", it has cbrt(p) times as much as in
//! "limited", but at most its share of a machine's memory.
//!
//! On up to 12 ranks, the same shapes are also contracted with smaller extents, and the bytes that the transports count
//! are compared with the schedules. [`algorithms`] compares all algorithms, and [`nodes`] counts words between nodes.

mod algorithms;
mod nodes;
mod rivals;

use einsum_dist::algorithm::{Algorithm, Contraction, Grid, GridFit, Tensor};
use einsum_dist::dims::{Kinds, Label};
use einsum_dist::plan::{AlgorithmName, Source, lower_bound_words};
use einsum_dist::schedule::{Builder, Schedule};
use einsum_dist::{DistTensor, Dtype, Machine, Plan, PlanOptions, Problem, World};
use rivals::{Case, Shape};

const M: Label = Label(0);
const N: Label = Label(1);
const K: Label = Label(2);

/// Words of memory per rank, if 36 ranks share 64 GiB and words are f32.
const MACHINE: f64 = (64u64 << 30) as f64 / 36.0 / 4.0;

/// Name and extents of each shape, and the numbers by which the extents are divided if the product is executed.
const SHAPES: [(&str, [usize; 3], [usize; 3]); 4] = [
    ("square", [16_384; 3], [64, 64, 64]),
    ("largeK", [17_408, 17_408, 3_735_552], [128, 128, 128]),
    ("largeM", [3_735_552, 17_408, 17_408], [128, 128, 128]),
    ("flat", [131_072, 131_072, 512], [128, 128, 16]),
];

/// Numbers of ranks: all from 2 to 13, powers of two, three times powers of two, primes, and the numbers in the COSMA
/// paper.
const RANKS: [usize; 50] = [
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 24, 31, 32, 36, 37, 48, 61, 64, 65, 72, 96, 97, 127, 128, 144, 192,
    251, 256, 288, 509, 512, 576, 1021, 1024, 1152, 2039, 2048, 2304, 4093, 4096, 4608, 8191, 8192, 9216, 9217, 18_432,
];

fn kinds() -> Kinds {
    Kinds { c: vec![], m: vec![M], n: vec![N], k: vec![K] }
}

/// Number of words that `rank` receives in its schedule.
fn received(grid: &Grid, extents: &[usize; 3], ranks: usize, rank: usize) -> u64 {
    schedule(grid, extents, ranks, rank).bytes_received()
}

fn schedule(grid: &Grid, extents: &[usize; 3], ranks: usize, rank: usize) -> Schedule {
    let mut builder = Builder::new(rank, ranks, 1);
    let algorithm = Algorithm::Grid(Box::new(grid.clone()));
    let labels = [vec![M, K], vec![K, N], vec![M, N]];
    let Some(distributions) = algorithm.distributions(&labels[0], &labels[1], &labels[2], ranks) else {
        unreachable!("a grid says how tensors lie")
    };
    let tensors = [distributions.left, distributions.right, distributions.out].into_iter().zip(labels).enumerate();
    let tensors = tensors.map(|(node, (distribution, labels))| {
        let shape = labels.iter().map(|label| extents[label.0 as usize]).collect();
        Tensor { node, labels, shape, distribution, buffer: None, window: None }.declared(&mut builder)
    });
    let tensors: Vec<Tensor> = tensors.collect();
    let [left, right, out] = tensors.try_into().unwrap_or_else(|_| unreachable!("there are three"));
    algorithm.generate(&mut builder, &Contraction { left, right, out, onto: false });
    builder.finish()
}

/// Multiplies matrices with the given extents on the given grid. Returns whether every rank received the number of
/// words in its schedule.
fn executed(extents: [usize; 3], ranks: usize, grid: &Grid) -> bool {
    let [m, n, k] = extents;
    let options = PlanOptions::default().dtype(Dtype::Float32).algorithm(AlgorithmName::Grid);
    let problem = Problem::parse("mk,kn->mn").and_then(|problem| problem.shapes(&[vec![m, k], vec![k, n]]));
    let mut plan = problem.and_then(|shaped| shaped.plan(&Machine::new(ranks, 1), &options)).expect("a plan");
    put(&mut plan, Algorithm::Grid(Box::new(grid.clone())));
    let world = World::in_process(ranks);
    let random = |operand: usize| {
        let value = plan.operand(operand);
        DistTensor::<f32>::random(&world, &value.shape, &value.distribution, 1, operand as u32)
    };
    let (left, right) = (random(0), random(1));
    let mut out = DistTensor::<f32>::random(&world, &plan.output().shape, &plan.output().distribution, 1, 2);
    let mut program = world.compile::<f32>(&plan).expect("a program");
    program.run_dist(1.0, &[&left, &right], 0.0, &mut out).expect("a run");
    let measured = program.measured().expect("measured");
    (0..ranks).all(|rank| measured[rank].received.iter().sum::<u64>() == plan.schedule(rank).bytes_received())
}

/// Replaces the algorithm of a plan that consists of one contraction.
fn put(plan: &mut Plan, with: Algorithm) {
    let last = plan.values.len() - 1;
    let Source::Contract { left, right, algorithm, .. } = &mut plan.values[last].source else {
        unreachable!("a product")
    };
    let values = [*left, *right, last];
    *algorithm = with.clone();
    let labels = values.map(|value| plan.values[value].labels.clone());
    let distributions =
        with.distributions(&labels[0], &labels[1], &labels[2], plan.ranks()).expect("a grid says where tensors lie");
    for (value, distribution) in values.into_iter().zip([distributions.left, distributions.right, distributions.out]) {
        plan.values[value].distribution = distribution;
    }
}

fn text(words: Option<impl std::fmt::Display>) -> String {
    words.map_or(String::new(), |words| format!("{words:.0}"))
}

fn main() {
    if std::env::args().any(|argument| argument == "algorithms") {
        return algorithms::table();
    }
    if std::env::args().any(|argument| argument == "nodes") {
        return nodes::table();
    }
    println!("# words (f32) that the busiest rank receives; empty where a grid does not fit into memory");
    println!("shape,memory,ranks,grid,ours,best_grid,2d,2.5d,recursive,cosma,bound,executed");
    let kinds = kinds();
    for (name, extents, divisors) in SHAPES {
        let [m, n, k] = extents.map(|extent| extent as f64);
        let inputs = m * n + m * k + n * k;
        for memory in ["strong", "limited", "extra"] {
            for ranks in RANKS {
                let p = ranks as f64;
                let words = match memory {
                    "strong" => MACHINE,
                    "limited" => 2.0 * inputs / p,
                    _ => (2.0 * inputs / p.powf(2.0 / 3.0)).min(MACHINE),
                };
                let fit = GridFit { kinds: &kinds, extents: &extents, uncut: &[], ranks, memory: Some(words) };
                let case = Case { extents: Shape { m, n, k }, ranks, idle: fit.idle(), memory: words };
                let Some(grid) = fit.best(fit.idle()) else {
                    println!("{name},{memory},{ranks},,,,,,,,,");
                    continue;
                };
                let busiest = fit.corners(&grid).into_iter().map(|rank| received(&grid, &extents, ranks, rank)).max();
                let unlimited = GridFit { memory: None, ..fit };
                let counted = |grid: Option<rivals::Grid>| {
                    let [m, n, k] = grid?;
                    Some(unlimited.received(&unlimited.grid([1, m, n, k])?))
                };
                let parts = [M, N, K].map(|label| {
                    let cut = grid.cuts.iter().find(|(cut, _)| *cut == label);
                    cut.map_or(1, |cut| cut.1).to_string()
                });
                let small = [0, 1, 2].map(|at| extents[at] / divisors[at]);
                let executed = if ranks <= 12 { executed(small, ranks, &grid).to_string() } else { String::new() };
                println!(
                    "{name},{memory},{ranks},{},{},{},{},{},{},{},{:.0},{executed}",
                    parts.join("x"),
                    busiest.unwrap_or(0),
                    text(case.best().and_then(|grid| case.words(grid))),
                    text(counted(case.two_dimensional())),
                    text(counted(case.two_and_a_half())),
                    text(counted(case.recursive())),
                    text(counted(case.cosma())),
                    lower_bound_words(1.0, m, n, k, p, Some(words)),
                );
            }
        }
    }
}
