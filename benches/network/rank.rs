//! The program of each rank. It measures the link, and then one algorithm after another. Rank 0 prints the results.

use einsum_dist::schedule::Lane;
use einsum_dist::{Machine, Plan, World};

use super::case::{CASES, Case};
use super::link::Streams;
use super::product::{Seconds, median, received, run_options};

/// A run must take at least `SLOWDOWN` times as long without overlap as with overlap. With overlap, it must take at
/// most `MAX_SLOWDOWN` times the longer of computing and transfers, plus the exposed time.
const SLOWDOWN: f64 = 1.5;
const MAX_SLOWDOWN: f64 = 1.15;

/// Sizes and number of rounds.
pub struct Settings {
    /// Extents of the transferred matrix.
    pub extent: usize,
    /// Initial value of the growing extents.
    pub growing: usize,
    /// Bytes per second of a plain stream.
    pub link: f64,
    rounds: usize,
}

/// Four worlds over the same ranks, one for each way to run a product.
pub struct Worlds {
    pub work: World,
    pub transfers: World,
    both: World,
    sequential: World,
}

pub fn main(gbit: &str, quick: bool, arguments: &[String]) {
    let mut worlds = run_options().into_iter().map(|options| World::mpi().expect("started by mpirun").with(options));
    let mut next = || worlds.next().expect("four ways");
    let worlds = Worlds { work: next(), transfers: next(), both: next(), sequential: next() };
    let hosts = std::env::var("NETWORK_HOSTS").expect("started by hosts.sh");
    let addresses: Vec<&str> = hosts.split(',').collect();
    let seconds = if quick { 0.2 } else { 1.0 };
    let expected = gbit.parse::<f64>().expect("Gbit/s") / 8.0 * 1e9;
    let mut streams = Streams::open(&worlds.work, &addresses);
    let link = streams.rate(&worlds.work, (seconds * expected) as usize);
    let (extent, rounds) = if quick { (2048, 3) } else { (4096, 9) };
    let settings = Settings { extent, growing: extent * 3 / 4, link, rounds };
    let named = |case: &&Case| arguments.iter().any(|argument| argument == case.algorithm.name());
    let any = CASES.iter().any(|case| named(&case));
    for case in CASES.iter().filter(|case| !any || named(case)) {
        row(&worlds, case, &settings, &mut streams, gbit);
    }
    let Worlds { work, transfers, both, sequential } = worlds;
    // The first world initialised MPI, so it is finished last.
    for world in [sequential, both, transfers, work] {
        world.finish().expect("the end of MPI");
    }
}

fn row(worlds: &Worlds, case: &Case, settings: &Settings, streams: &mut Streams, gbit: &str) {
    let ([m, n, k], plan) = case.balanced(worlds, settings);
    let Worlds { work, transfers, both, sequential } = worlds;
    let bytes = received(&plan) as usize;
    let mut plain = Vec::new();
    let seconds = Seconds::between::<f64>([work, transfers, both, sequential], &plan, settings.rounds, |product| {
        plain.push(product.run_within(|run| streams.beside(bytes, run)));
    });
    let plain = median(plain);
    let Seconds { compute, transfer, wall, sequential } = seconds;
    let longer = seconds.longer();
    let exposed = exposed(&plan, &seconds);
    let bound = MAX_SLOWDOWN * longer + exposed;
    let verdict = |met: bool| if met { "PASS" } else { "FAIL" };
    if work.is_root() {
        let ms = |seconds: f64| format!("{:.1}", seconds * 1e3);
        let megabytes = |rate: f64| format!("{:.1}", rate / 1e6);
        println!(
            "{},{gbit},{},{},{m},{n},{k},{},{},{},{},{:.3},{:.3},{:.3},{:.3},{},{}",
            plan.ranks(),
            std::env::var("EINSUM_DIST_MPIRUN").unwrap_or_default(),
            case.algorithm.name(),
            settings.rounds,
            megabytes(settings.link),
            megabytes(received(&plan) / transfer),
            [compute, transfer, plain, wall, sequential, exposed, bound].map(ms).join(","),
            wall / longer,
            wall / plain,
            seconds.slowdown(),
            seconds.max_slowdown(),
            verdict(wall <= bound),
            verdict(seconds.slowdown() >= SLOWDOWN),
        );
    }
}

/// Returns the time in seconds of the transfers that no computing can hide. This is the time of the plan, simulated at
/// the measured rates, minus the longer of computing and transfers. In the simulation, the time of computing is
/// proportional to the number of operations.
fn exposed(plan: &Plan, seconds: &Seconds) -> f64 {
    let link_bandwidth = received(plan) / seconds.transfer;
    let simulated = |flops: f64| {
        let machine = Machine { flops, link_bandwidth, memory_bandwidth: f64::INFINITY, ..plan.machine.clone() };
        Plan { machine, ..plan.clone() }.simulate().expect("few ranks")
    };
    let slow = simulated(1.0);
    let busy = (0..plan.ranks()).map(|rank| slow.busy(rank, Lane::Work)).fold(0.0, f64::max);
    (simulated(busy / seconds.compute).seconds - seconds.longer()).max(0.0)
}
