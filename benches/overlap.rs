//! Measures how much of the transfer time of the ring algorithms is hidden by computing.
//!
//! Command: `cargo bench --bench overlap -- [extent] [rounds]`.
//!
//! Each rank multiplies matrices of f32 with one worker. The throttled transport delays each transfer without using a
//! processor. The link's rate is chosen so that a rank's transfers take as long as its computing.
//!
//! The computing time is the wall time of the same schedule on unlimited links. If there are fewer cores than ranks,
//! the ranks share the cores in both measurements. In a ring of p ranks, each rank computes p products of blocks and
//! receives p - 1 blocks. The longer of computing and transfers determines the run time. If blocks were transferred in
//! one piece, the computing time of one product could not overlap with any transfer. In ring-mn, this would be the
//! product with the block that arrives last. In ring-k, it would be half a product before the first transfer and half a
//! product after the last transfer.
//!
//! ```text
//! bound           1.1 max(compute, transfer) + compute / p
//! most            (compute + transfer) / max(compute, transfer): the maximum slowdown
//! ```
//!
//! With undivided blocks, the slowdown without overlap could be at most 2 p / (p + 1), which is 1.33 on two ranks and
//! 1.6 on four. If blocks are transferred in pieces, only one piece remains exposed.
//!
//! If `EINSUM_DIST_MPIRUN` is set (and the feature `mpi` is enabled), two MPI ranks with one worker each are compared
//! with one rank with one worker and one rank with two workers, for a product of 4096^3 multiply-adds.

mod product;

use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, Plan, PlanOptions, World};

use product::{Product, Seconds, median, planned, received, run_options};

/// A run must take at least `SLOWDOWN` times as long without overlap as with overlap. With overlap, it must take at
/// most `MAX_SLOWDOWN` times the longer of computing and transfers, plus the computing time of one product of blocks.
const SLOWDOWN: f64 = 1.6;
const MAX_SLOWDOWN: f64 = 1.1;

const LARGE_EXTENT: usize = 4096;

/// First argument of the processes that this program starts as MPI ranks.
const MPI_RANK: &str = "mpi-rank";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<usize>().ok());
    let (extent, rounds) = (numbers.next().unwrap_or(2048), numbers.next().unwrap_or(9));
    #[cfg(feature = "mpi")]
    if arguments.first().is_some_and(|argument| argument == MPI_RANK) {
        return mpi_rank();
    }
    println!("f32, {extent}^3, one worker per rank, median of {rounds} alternating rounds; milliseconds");
    println!(
        "{:8} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}",
        "ring", "ranks", "compute", "transfer", "wall", "bound", "in turns", "slowdown", "most"
    );
    for ranks in [2, 4] {
        for algorithm in [AlgorithmName::RingMn, AlgorithmName::RingK] {
            overlap(extent, rounds, ranks, algorithm);
        }
    }
    large(rounds.min(5));
}

fn plan_of(machine: &Machine, extent: usize, algorithm: AlgorithmName) -> Plan {
    planned(machine, [extent; 3], &PlanOptions::default().algorithm(algorithm))
}

/// The machine that the planner assumes. On this machine, transfers take as long as computing and do not slow down
/// computing.
fn balanced(ranks: usize, extent: usize, algorithm: AlgorithmName) -> Machine {
    let machine = Machine::new(ranks, 1);
    let seconds = 2.0 * (extent as f64).powi(3) / (ranks as f64 * machine.flops);
    let link_bandwidth = received(&plan_of(&machine, extent, algorithm)) / seconds;
    Machine { link_bandwidth, interference: 0.0, ..machine }
}

fn overlap(extent: usize, rounds: usize, ranks: usize, algorithm: AlgorithmName) {
    let [_, transfers, both, sequential] = run_options();
    let plan = plan_of(&balanced(ranks, extent, algorithm), extent, algorithm);
    let free = World::in_process(ranks);
    let mut product = Product::<f32>::new(&free, &plan);
    let rate = received(&plan) / median((0..rounds).map(|_| product.run()).collect());
    let [transfers, both, sequential] =
        [transfers, both, sequential].map(|options| World::throttled(ranks, rate).with(options));
    let seconds = Seconds::of::<f32>([&free, &transfers, &both, &sequential], &plan, rounds);
    let Seconds { compute, transfer, wall, sequential } = seconds;
    let (bound, slowdown) = (MAX_SLOWDOWN * seconds.longer() + compute / ranks as f64, seconds.slowdown());
    let verdict = |met: bool| if met { "PASS" } else { "FAIL" };
    let ms = |seconds: f64| seconds * 1e3;
    println!(
        "{:8} {ranks:5} {:8.1} {:8.1} {:8.1} {:8.1} {:8.1} {slowdown:8.2} {:6.2}  {} wall, {} slowdown",
        algorithm.name(),
        ms(compute),
        ms(transfer),
        ms(wall),
        ms(bound),
        ms(sequential),
        seconds.max_slowdown(),
        verdict(wall <= bound),
        verdict(slowdown >= SLOWDOWN),
    );
}

/// Compares one rank with one worker, one rank with two workers, and two MPI ranks with one worker each.
fn large(rounds: usize) {
    let gflop = 2.0 * (LARGE_EXTENT as f64).powi(3) / 1e9;
    let mut seconds: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        for (workers, seconds) in [1, 2].into_iter().zip(&mut seconds) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("a pool");
            seconds.push(pool.install(|| second_run(&World::single(), workers, AlgorithmName::Local)));
        }
        seconds[2].extend(mpi_ranks());
    }
    println!("f32, {LARGE_EXTENT}^3, median of {rounds} alternating rounds");
    for (name, seconds) in ["1 rank, 1 worker", "1 rank, 2 workers", "2 MPI ranks, 1 worker each"].iter().zip(seconds) {
        if seconds.is_empty() {
            println!("{name:28} not run: set EINSUM_DIST_MPIRUN and build with --features mpi");
            continue;
        }
        let seconds = median(seconds);
        println!("{name:28} {seconds:.3} s, {:.1} GFLOP/s", gflop / seconds);
    }
}

fn second_run(world: &World, workers: usize, algorithm: AlgorithmName) -> f64 {
    let plan = plan_of(&Machine::new(world.ranks(), workers), LARGE_EXTENT, algorithm);
    Product::<f32>::new(world, &plan).run()
}

/// Starts this program on two MPI ranks, and returns the seconds of a run. Returns `None` if `EINSUM_DIST_MPIRUN` is
/// not set.
fn mpi_ranks() -> Option<f64> {
    let mpirun = std::env::var("EINSUM_DIST_MPIRUN").ok().filter(|_| cfg!(feature = "mpi"))?;
    let mut words = mpirun.split_whitespace();
    let mut command = std::process::Command::new(words.next()?);
    let program = std::env::current_exe().expect("this program has a path");
    let output = command.args(words).args(["-n", "2"]).arg(program).arg(MPI_RANK).output().expect("mpirun starts");
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))))
}

/// Runs on each MPI rank. Rank 0 prints the seconds of a run.
#[cfg(feature = "mpi")]
fn mpi_rank() {
    let world = World::mpi().expect("started by mpirun");
    world.place(1).expect("ranks that are told of each other");
    let seconds = second_run(&world, 1, AlgorithmName::RingMn);
    if world.is_root() {
        println!("{seconds}");
    }
    world.finish().expect("the end of MPI");
}
