//! What a task costs beside its arithmetic, on two ranks: `cargo bench --bench tasks -- [steps] [rounds]`.
//!
//! ```text
//! work        a chain of tiny products, cut along c: a task each, which waits for the one before
//! transfers   the same by ring-mn: two products, a send and a receive for each step, each waiting for another
//! small       products that are too small to share: on one rank, as auto has it, and on two
//! ```
//!
//! Ranks are threads of one process and, where `EINSUM_DIST_MPIRUN` names a launcher (and with the feature `mpi`), processes of MPI.

use std::time::Instant;

use einsum_dist::plan::AlgorithmName;
use einsum_dist::{DistTensor, Machine, Options, Plan, Problem, Program, World};

/// Microseconds that a task may cost.
const MOST: f64 = 20.0;

/// The argument of the program's own MPI ranks.
const MPI_RANK: &str = "mpi-rank";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<usize>().ok());
    let (steps, rounds) = (numbers.next().unwrap_or(200), numbers.next().unwrap_or(51));
    #[cfg(feature = "mpi")]
    if arguments.iter().any(|argument| argument == MPI_RANK) {
        let world = World::mpi().expect("started by mpirun");
        world.place(1).expect("ranks that are told of each other");
        measure(&world, &format!("MPI, {}", world.transport()), steps, rounds);
        return world.finish().expect("the end of MPI");
    }
    println!("f32, two ranks of one worker, median of {rounds} runs; microseconds per task");
    let world = World::in_process(2);
    world.place(1).expect("ranks of this process");
    measure(&world, "in process", steps, rounds);
    if let Some(mpirun) = std::env::var("EINSUM_DIST_MPIRUN").ok().filter(|_| cfg!(feature = "mpi")) {
        let program = std::env::current_exe().expect("this program has a path");
        let line = format!("{mpirun} -n 2 \"$0\" {MPI_RANK} {steps} {rounds}");
        let status = std::process::Command::new("sh").args(["-c", &line]).arg(program).status();
        assert!(status.expect("mpirun starts").success());
    }
}

/// `ranks` says where they are and how blocks move.
fn measure(world: &World, ranks: &str, steps: usize, rounds: usize) {
    let machine = world.machine(1).expect("rates");
    for (name, algorithm) in [("work", AlgorithmName::C), ("transfers", AlgorithmName::RingMn)] {
        let mut run = Run::new(world, &chain(steps, algorithm, &machine));
        let seconds = run.median(rounds);
        let tasks = run.tasks();
        if world.is_root() {
            let each = seconds * 1e6 / tasks as f64;
            let verdict = if each <= MOST { "PASS" } else { "FAIL" };
            println!("{ranks:12} {name:10} {tasks:5} tasks of a rank  {each:6.2}  {verdict}");
        }
    }
    for side in [16, 32, 64, 128, 256] {
        let plan = |algorithm| {
            let shape = vec![side, side];
            let options = Options { algorithm, ..Options::default() };
            let shaped = Problem::parse("mk,kn->mn").and_then(|problem| problem.shapes(&[shape.clone(), shape]));
            shaped.and_then(|shaped| shaped.plan(&machine, &options)).expect("a matrix product")
        };
        let auto = plan(None);
        let report = auto.report(None);
        let name = report.nodes.iter().find_map(|node| node.algorithm).unwrap_or("none");
        let forced = [AlgorithmName::Local, AlgorithmName::RingMn].map(|algorithm| plan(Some(algorithm)));
        let mut runs = [Run::new(world, &forced[0]), Run::new(world, &forced[1])];
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            seconds.iter_mut().zip(&mut runs).for_each(|(seconds, run)| seconds.push(run.once()));
        }
        let [one, two] = seconds.map(median);
        if world.is_root() {
            let (one, two) = (one * 1e6, two * 1e6);
            println!("{ranks:12} small      {side:3}^3  one rank {one:8.2}  two ranks {two:8.2}  auto: {name}");
        }
    }
}

/// So many products, each of the result of the one before.
fn chain(steps: usize, algorithm: AlgorithmName, machine: &Machine) -> Plan {
    let mut text = "cij".to_owned();
    for step in 0..steps {
        let [from, to] = if step % 2 == 0 { ["j", "k"] } else { ["k", "j"] };
        text = format!("[{text},c{from}{to}->ci{to}]");
    }
    let text = &text[1..text.len() - 1];
    let shapes = vec![vec![2, 8, 8]; steps + 1];
    let options = Options { algorithm: Some(algorithm), ..Options::default() };
    let shaped = Problem::parse(text).and_then(|problem| problem.shapes(&shapes));
    shaped.and_then(|shaped| shaped.plan(machine, &options)).expect("a chain")
}

/// A program with its tensors.
struct Run {
    world: World,
    program: Program<f32>,
    operands: Vec<DistTensor<f32>>,
    out: DistTensor<f32>,
}

impl Run {
    fn new(world: &World, plan: &Plan) -> Run {
        let operand = |index: usize| {
            let value = plan.operand(index);
            DistTensor::random(world, &value.shape, &value.distribution, 1, index as u32)
        };
        let operands = (0..plan.operands).map(operand).collect();
        let out = DistTensor::zeros(world, &plan.output().shape, &plan.output().distribution);
        Run { world: world.clone(), program: world.compile(plan).expect("a program"), operands, out }
    }

    /// Seconds of one run.
    fn once(&mut self) -> f64 {
        let operands: Vec<&DistTensor<f32>> = self.operands.iter().collect();
        self.world.all_gather(&[]).expect("all ranks");
        let start = Instant::now();
        self.program.run_dist(1.0, &operands, 0.0, &mut self.out).expect("a run");
        start.elapsed().as_secs_f64()
    }

    fn median(&mut self, rounds: usize) -> f64 {
        self.once();
        median((0..rounds).map(|_| self.once()).collect())
    }

    /// Of the rank that has most.
    fn tasks(&self) -> usize {
        let plan = self.program.plan();
        (0..plan.ranks()).map(|rank| plan.schedule(rank).tasks.len()).max().unwrap_or(1)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
