//! Measures the overhead of a task, without its arithmetic, on two ranks.
//!
//! Command: `cargo bench --bench tasks -- [steps] [rounds]`.
//!
//! ```text
//! work        a chain of tiny products, cut along c: one task per product, which depends on the previous one
//! transfers   the same chain by ring-mn: two products, a send and a receive per step, each of which depends on another
//! product     one matrix product on one rank, on two ranks by ring-mn, and by auto, which keeps small ones on one rank
//! ```
//!
//! Ranks are threads of one process. If `EINSUM_DIST_MPIRUN` names a launcher (and the feature `mpi` is enabled), the
//! benchmark also runs on MPI processes, with shared memory and with messages.

#[allow(dead_code, reason = "each benchmark uses its own part")]
mod product;

use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, Plan, PlanOptions, Problem, World};

use product::{Product, median, planned};

/// Maximum number of microseconds per task.
const MAX_MICROSECONDS: f64 = 20.0;

/// First argument of the processes that this program starts as MPI ranks; the second argument is the transport.
#[cfg(feature = "mpi")]
const MPI_RANK: &str = "mpi-rank";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<usize>().ok());
    let (steps, rounds) = (numbers.next().unwrap_or(200), numbers.next().unwrap_or(51));
    #[cfg(feature = "mpi")]
    if let [first, transport, ..] = &arguments[..]
        && first == MPI_RANK
    {
        let world = World::mpi_by(transport.parse().expect("a transport")).expect("started by mpirun");
        measure(&world, &format!("MPI, {transport}"), steps, rounds);
        return world.finish().expect("the end of MPI");
    }
    println!("f32, two ranks of one worker, medians of {rounds} runs; microseconds");
    measure(&World::in_process(2), "in process", steps, rounds);
    #[cfg(feature = "mpi")]
    if let Ok(mpirun) = std::env::var("EINSUM_DIST_MPIRUN") {
        let program = std::env::current_exe().expect("this program has a path");
        for transport in ["shared", "message"] {
            let line = format!("{mpirun} -n 2 \"$0\" {MPI_RANK} {transport} {steps} {rounds}");
            let status = std::process::Command::new("sh").args(["-c", &line]).arg(&program).status();
            assert!(status.expect("mpirun starts").success());
        }
    }
}

/// Measures all plans on one world. `ranks` describes the processes and the transport in the output.
fn measure(world: &World, ranks: &str, steps: usize, rounds: usize) {
    world.place(1).expect("ranks that are told of each other");
    let machine = world.machine(1).expect("rates");
    for (name, algorithm) in [("work", AlgorithmName::BatchParallel), ("transfers", AlgorithmName::RingMn)] {
        let plan = chain(steps, algorithm, &machine);
        let mut product = Product::<f32>::new(world, &plan);
        let seconds = median((0..rounds).map(|_| product.run()).collect());
        // Number of tasks of the rank with the most tasks.
        let tasks = (0..plan.ranks()).map(|rank| plan.schedule(rank).tasks.len()).max().unwrap_or(1);
        if world.is_root() {
            let each = seconds * 1e6 / tasks as f64;
            let verdict = if each <= MAX_MICROSECONDS { "PASS" } else { "FAIL" };
            println!("{ranks:12}  {name:9}  {tasks:4} tasks of a rank, each {each:6.2}  {verdict}");
        }
    }
    for side in [16, 32, 64, 128, 256, 512] {
        let plan = |algorithm| planned(&machine, [side; 3], &PlanOptions::default().algorithm(algorithm));
        let auto = plan(None);
        let report = auto.report(None);
        let name = report.nodes.iter().find_map(|node| node.algorithm).unwrap_or("none");
        let plans = [plan(Some(AlgorithmName::Local)), plan(Some(AlgorithmName::RingMn)), auto];
        let mut products = plans.map(|plan| Product::<f32>::new(world, &plan));
        let mut seconds = [(); 3].map(|()| Vec::with_capacity(rounds));
        for _ in 0..rounds {
            seconds.iter_mut().zip(&mut products).for_each(|(seconds, product)| seconds.push(product.run()));
        }
        let [one, two, auto] = seconds.map(|seconds| median(seconds) * 1e6);
        if world.is_root() {
            println!("{ranks:12}  product    {side:3}^3  one rank {one:8.1}  two {two:8.1}  auto {auto:8.1} ({name})");
        }
    }
}

/// A chain of `steps` products, each of which multiplies the result of the previous product.
fn chain(steps: usize, algorithm: AlgorithmName, machine: &Machine) -> Plan {
    let mut text = "cij".to_owned();
    for step in 0..steps {
        let [from, to] = if step % 2 == 0 { ["j", "k"] } else { ["k", "j"] };
        text = format!("[{text},c{from}{to}->ci{to}]");
    }
    let text = &text[1..text.len() - 1];
    let shapes = vec![vec![2, 8, 8]; steps + 1];
    let options = PlanOptions::default().algorithm(algorithm);
    let shaped = Problem::parse(text).and_then(|problem| problem.shapes(&shapes));
    shaped.and_then(|shaped| shaped.plan(machine, &options)).expect("a chain")
}
