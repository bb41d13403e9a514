//! Repeats the experiment from section 6 of a thesis (J. Dressler, Scaling Out) on the cores of this machine.
//!
//! Command: `cargo bench --bench thesis -- [quick] [MACHINE.toml]`, with a path relative to `benches/`.
//!
//! Two ranks, each with half of the cores, run one algorithm after another. One rank with all cores is the reference.
//! Operands and result have the distributions of the algorithm, without replicas. For `local` and `master-worker`,
//! operands and result are on rank 0. As in the command line program, each rank stays on its half of the cores. For
//! `auto`, the planner chooses the algorithm and the distributions. Times cover [`einsum_dist::Program::run_dist`],
//! without planning, compiling or gathering.
//!
//! The ranks are threads of this process. If `EINSUM_DIST_MPIRUN` is set (and the feature `mpi` is enabled), the
//! variants also run on ranks that are processes ([`ranks`]). In every round, each variant has one turn, in random
//! order. The medians over all rounds are printed as CSV, with empty fields for algorithms that do not apply. Variants
//! with equal schedules, such as `auto` and the algorithm that it chose, are assigned the mean of their times in each
//! round. The column `auto over best` contains the median, over all rounds, of the time for `auto` divided by the time
//! for the best forced algorithm. Before timing starts, the results of all variants are compared for each size.
//!
//! | file | content |
//! |---|---|
//! | `case` | defines expressions and extents |
//! | `variant` | compiles and runs one algorithm |
//! | `part` | runs one rank that has the workers of only one of the two ranks |
//! | `ranks` | runs MPI ranks |
//! | `draw.py` | draws the plot |

mod case;
#[path = "../digest/mod.rs"]
mod digest;
#[path = "../lines/mod.rs"]
mod lines;
mod part;
mod ranks;
mod variant;

use std::time::Instant;

use einsum_dist::api::host;
use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, World};

use case::Size;
use part::Part;
use ranks::Ranks;
use variant::{Variant, VariantSummary, asked};

/// Number of ranks. It is the number of sockets of each server in the thesis.
const RANKS: usize = 2;

/// Maximum ratio of the time for `auto` to the best time in the same row.
const NEAR_BEST_FACTOR: f64 = 1.05;

/// Below this number of operations (in units of 10^9), the time of a turn is the mean over many runs, as in the thesis.
/// An untimed run precedes these runs, because the previous variant leaves cold caches and sleeping threads take time
/// to wake up.
const MIN_SINGLE_RUN_GFLOP: f64 = 1.0;
const RUNS: usize = 10;

/// Command line settings.
struct Settings {
    quick: bool,
    /// The machine that the planner assumes. If this is `None`, the rates of this machine are measured.
    machine: Option<Machine>,
    workers: usize,
}

impl Settings {
    fn of(arguments: &[String]) -> Settings {
        let file = arguments.iter().find(|argument| argument.ends_with(".toml"));
        let machine = file.map(|file| {
            let text = std::fs::read_to_string(file).expect("a file that can be read");
            Machine::from_toml(&text).expect("a machine")
        });
        let cores = arguments.iter().find_map(|argument| argument.strip_prefix("cores=")?.parse().ok());
        let workers = cores.unwrap_or_else(|| host::cpus().len()).max(RANKS) / RANKS;
        let quick = arguments.iter().any(|argument| argument == "quick");
        Settings { quick, machine, workers }
    }

    /// The machine that the planner assumes for a world. Collective.
    fn machine(&self, world: &World) -> Machine {
        let machine = self.machine.clone().unwrap_or_else(|| world.machine(self.workers).expect("a machine"));
        Machine { ranks: world.ranks(), workers: self.workers, ..machine }
    }

    /// The minimum and maximum number of rounds, and the total time in seconds from which the number of rounds is
    /// computed.
    fn rounds(&self) -> (f64, f64, f64) {
        if self.quick { (3.0, 11.0, 0.2) } else { (5.0, 101.0, 8.0) }
    }

    /// Compiles all variants that apply to the ranks of `world`. Collective.
    fn variants(&self, world: &World, size: &Size) -> Vec<Option<Variant>> {
        world.place(self.workers).expect("ranks that are told of each other");
        let machine = self.machine(world);
        asked(RANKS).into_iter().map(|(_, algorithm)| Variant::new(world, &machine, size, algorithm)).collect()
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let settings = Settings::of(&arguments);
    #[cfg(feature = "mpi")]
    if arguments.first().is_some_and(|argument| argument == ranks::MPI_RANK) {
        return ranks::rank(&arguments[1], &settings);
    }
    let workers = settings.workers;
    // A rank in a single-process world uses the thread pool of its caller.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(RANKS * workers).build_global();
    pool.expect("nobody has used it yet");
    // An MPI rank may be bound to fewer cores than this process, so the number of cores of this process is passed to
    // each rank.
    let rank_arguments: Vec<String> = arguments.iter().cloned().chain([format!("cores={}", RANKS * workers)]).collect();
    let mut mpi = Ranks::start(&rank_arguments);
    println!(
        "# GFLOP/s in f32, medians of rounds; {RANKS} ranks, workers of each: {workers}; `one rank` has all of them, `part` those of one"
    );
    print!("case,size,ranks,rounds,one rank,part");
    asked(RANKS).iter().for_each(|(name, _)| print!(",{name}"));
    println!(",best,auto over best,verdict,auto over {RANKS} parts,auto chose");
    let (mut rows, mut near) = (0, 0);
    for (at, size) in Size::all(if settings.quick { 3e7 } else { f64::INFINITY }) {
        for row in measured(&settings, at, &size, &mut mpi) {
            rows += 1;
            near += usize::from(row);
        }
    }
    eprintln!("auto is best, or takes at most {NEAR_BEST_FACTOR} of the best's time, in {near} of {rows} rows");
    if let Some(mpi) = mpi {
        mpi.finish();
    }
}

/// Where the next run takes place: on one rank with all workers, on one rank with half of the workers, on ranks in this
/// process, or on MPI ranks. The number is the index of the variant.
#[derive(Clone, Copy)]
enum Turn {
    One,
    Part,
    InProcess(usize),
    Mpi(usize),
}

/// Measures one size and prints its rows. Returns for each row whether the time of `auto` is near the best time.
fn measured(settings: &Settings, at: [usize; 2], size: &Size, mpi: &mut Option<Ranks>) -> Vec<bool> {
    let whole = Machine::new(1, RANKS * settings.workers);
    let one = Variant::new(&World::single(), &whole, size, Some(AlgorithmName::Local));
    let mut one = one.expect("one rank contracts everything");
    let part = Part::new(at, settings.workers);
    let mut ours = settings.variants(&World::in_process(RANKS), size);
    let mut places: Vec<(&str, Vec<Option<VariantSummary>>)> =
        vec![("in process", ours.iter().map(|variant| variant.as_ref().map(|v| v.summary.clone())).collect())];
    places.extend(mpi.as_mut().map(|mpi| ("MPI", mpi.open(at))));
    let mut turns = vec![Turn::One, Turn::Part];
    for ((_, summaries), turn) in places.iter().zip([Turn::InProcess as fn(usize) -> Turn, Turn::Mpi]) {
        for (variant, summary) in summaries.iter().enumerate() {
            let Some(summary) = summary else { continue };
            let nearly_equal = digest::nearly_equal(&one.summary.digest, &summary.digest);
            assert!(nearly_equal, "{} {}: another result than one rank's", size.case.expression, summary.plan);
            turns.push(turn(variant));
        }
    }
    let runs = if one.summary.gflop < MIN_SINGLE_RUN_GFLOP { RUNS } else { 1 };
    let mut run = |turn: Turn| match (turn, mpi.as_mut()) {
        (Turn::InProcess(variant), _) => ours[variant].as_mut().map_or(f64::NAN, |variant| variant.turn(runs)),
        (Turn::Mpi(variant), Some(mpi)) => mpi.run(variant, runs),
        (Turn::Part, _) => part.turn(runs),
        _ => one.turn(runs),
    };
    let start = Instant::now();
    // The time of the first round determines the number of rounds.
    let mut times: Vec<Vec<f64>> = turns.iter().map(|&turn| vec![run(turn)]).collect();
    let (min_rounds, max_rounds, seconds) = settings.rounds();
    let rounds = (seconds / start.elapsed().as_secs_f64()).clamp(min_rounds, max_rounds) as usize | 1;
    let mut random = 1;
    for _ in 1..rounds {
        for at in shuffled(turns.len(), &mut random) {
            times[at].push(run(turns[at]));
        }
    }
    let gflop = one.summary.gflop;
    let [single, part] = [0, 1].map(|at| median(times[at].clone()));
    let mut ranks = turns.iter().zip(&times).skip(2);
    places
        .iter()
        .map(|(place, summaries)| {
            let times: Vec<Option<&Vec<f64>>> =
                summaries.iter().map(|summary| summary.as_ref().and_then(|_| Some(ranks.next()?.1))).collect();
            let label = format!("{},{},{place},{rounds}", size.case.name, size.name());
            let label = format!("{label},{:.4},{:.4}", gflop / single, gflop / part);
            print_row(&label, [gflop, part], &mean_over_equal_schedules(summaries, &times), summaries)
        })
        .collect()
}

/// Seconds of each variant in every round. Variants with equal schedules are assigned the mean of their times, because
/// differences between these times are noise.
fn mean_over_equal_schedules(
    summaries: &[Option<VariantSummary>],
    times: &[Option<&Vec<f64>>],
) -> Vec<Option<Vec<f64>>> {
    let work = |summary: &Option<VariantSummary>| summary.as_ref().map(|summary| summary.work);
    let means = |mine: &Option<VariantSummary>| {
        let same = summaries.iter().zip(times).filter(|(summary, _)| work(summary) == work(mine));
        let same: Vec<&Vec<f64>> = same.filter_map(|(_, times)| *times).collect();
        let rounds = same.first()?.len();
        Some((0..rounds).map(|at| same.iter().map(|times| times[at]).sum::<f64>() / same.len() as f64).collect())
    };
    summaries.iter().map(means).collect()
}

fn print_row(
    label: &str,
    [gflop, part]: [f64; 2],
    rounds: &[Option<Vec<f64>>],
    summaries: &[Option<VariantSummary>],
) -> bool {
    let seconds: Vec<Option<f64>> = rounds.iter().map(|rounds| rounds.clone().map(median)).collect();
    let forced = (1..seconds.len()).filter_map(|at| Some((at, seconds[at]?)));
    let (best, _) = forced.min_by(|a, b| a.1.total_cmp(&b.1)).expect("local always applies");
    let (auto, chosen) = (seconds[0].zip(summaries[0].as_ref())).expect("the planner always chooses");
    // Ratios within a round are not affected by clock rates that change between rounds.
    let pairs = rounds[0].iter().flatten().zip(rounds[best].iter().flatten());
    let over = median(pairs.map(|(auto, best)| auto / best).collect());
    let verdict = match over {
        over if over <= 1.0 => "best",
        over if over <= NEAR_BEST_FACTOR => "near",
        _ => "no",
    };
    let rates: String = seconds.iter().map(|s| s.map_or(",".to_owned(), |s| format!(",{:.4}", gflop / s))).collect();
    let speedup = part / auto / RANKS as f64;
    println!("{label}{rates},{},{over:.3},{verdict},{speedup:.3},\"{}\"", asked(RANKS)[best].0, chosen.plan);
    verdict != "no"
}

/// A pseudo-random permutation. In a fixed order, a variant would always follow the same predecessor, and would profit
/// from the predecessor's warm caches or suffer from its spinning threads.
fn shuffled(count: usize, random: &mut u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(at, (*random >> 33) as usize % (at + 1));
    }
    order
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
