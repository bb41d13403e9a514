//! Measures the two matrix products of a transformer's MLP layer for all combinations of distributions.
//!
//! Command: `cargo bench --bench mlp -- [quick] [MACHINE.toml]`, with a path relative to `benches/`.
//!
//! Source: Brock and Golin, "Slicing Is All You Need", section 5.2.1. MLP-1 multiplies a batch by a wide matrix of
//! weights, and MLP-2 projects the result back. Each of the three matrices is cut by rows, by columns or into tiles,
//! with every number of replicas that divides the number of ranks. A triple consists of one distribution for each
//! matrix. For every triple, the planner uses the algorithm `slicing` and chooses the stationary matrix. Triples that
//! need no transfer are included, unlike in the plots of the paper.
//!
//! ```text
//!         m      n      k      here: batch 384, hidden 576
//! MLP-1   batch  4 h    h      paper: hidden 12 K, on 12 processes
//! MLP-2   batch  h      4 h
//! ```
//!
//! Every round compiles and runs each triple, once untimed and once timed. Each compiled program is dropped after its
//! turn, because the programs of all triples would exceed the memory. The medians over the rounds are printed as CSV
//! with `all` in the column `set`. The fastest triples and a sample of the other triples then run with each of the
//! three matrices as the stationary matrix, in alternation, with `stationary` in the column `set`.
//!
//! Ranks are threads of this process with one worker each. If there are more ranks than cores, the planner assumes that
//! each rank has a fraction of a core. All results are compared with the result on one rank.

mod cuts;
#[path = "../digest/mod.rs"]
mod digest;
#[path = "../lines/mod.rs"]
mod lines;
mod trial;

use einsum_dist::algorithm::Stationary;
use einsum_dist::api::host;
use einsum_dist::{Machine, World};

use cuts::cuts;
use trial::{Matrices, Trial};

const RANKS: [usize; 2] = [4, 6];

/// Ratio of the weights' longer extent (4 h) to the hidden dimension h, as in the paper.
const WIDER: usize = 4;

/// Number of fastest triples of distributions, and number of other triples, that are measured with each of the three
/// matrices as the stationary matrix, for each product and number of ranks.
const EXAMINED_TRIPLES: usize = 8;

struct Size {
    batch: usize,
    hidden: usize,
    rounds: usize,
    /// Of all triples of distributions (one each for `left`, `right` and `out`), every `step`-th is measured.
    step: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let size = match arguments.iter().any(|argument| argument == "quick") {
        true => Size { batch: 64, hidden: 96, rounds: 1, step: 10 },
        false => Size { batch: 384, hidden: 576, rounds: 3, step: 1 },
    };
    let file = arguments.iter().find(|argument| argument.ends_with(".toml"));
    let rates = file.map(|file| {
        let text = std::fs::read_to_string(file).expect("a file that can be read");
        Machine::from_toml(&text).expect("a machine")
    });
    println!(
        "# f32; batch {}, hidden {}; bytes that ranks receive: busiest, and of all together",
        size.batch, size.hidden
    );
    println!(
        "mlp,ranks,set,left,right,out,stationary,chosen,predicted_ms,simulated_ms,measured_ms,busiest,planned,measured,equal"
    );
    for (mlp, n, k) in [(1, WIDER * size.hidden, size.hidden), (2, size.hidden, WIDER * size.hidden)] {
        for ranks in RANKS {
            product(mlp, [size.batch, n, k], ranks, rates.as_ref(), &size);
        }
    }
}

fn scaled(rates: &[[f64; 2]], share: f64) -> Vec<[f64; 2]> {
    rates.iter().map(|&[size, rate]| [size, rate * share]).collect()
}

/// Measures one product with every `size.step`-th triple of distributions for `left`, `right` and `out`.
fn product(mlp: usize, extents: [usize; 3], ranks: usize, rates: Option<&Machine>, size: &Size) {
    let world = World::in_process(ranks);
    // The rates in a machine file apply to ranks that do not share cores, so a rank that shares a core has a fraction
    // of these rates. Measured rates need no correction, because all ranks run while the rates are measured.
    let share = (host::cpus().len() as f64 / ranks as f64).min(1.0);
    let of_file = |rates: &Machine| Machine {
        ranks,
        workers: 1,
        flops: rates.flops * share,
        memory_bandwidth: rates.memory_bandwidth * share,
        link_bandwidth: rates.link_bandwidth * share,
        copy_rates: scaled(&rates.copy_rates, share),
        block_rates: scaled(&rates.block_rates, share),
        ..rates.clone()
    };
    let machine = rates.map_or_else(|| world.machine(1).expect("a machine"), of_file);
    let mut matrices = Matrices::default();
    let whole = Machine { ranks: 1, ..machine.clone() };
    let mut alone = Trial::new(&whole, extents, ["one", "one", "one"].map(str::to_owned));
    let expected = alone.run(&World::single(), &mut Matrices::default(), true).unwrap_or_default();
    let mut turns = |trials: &mut [Trial], rounds: usize| {
        for round in 0..rounds {
            for trial in trials.iter_mut() {
                if let Some(found) = trial.run(&world, &mut matrices, round == 0) {
                    assert!(
                        digest::nearly_equal(&expected, &found),
                        "{:?}: another result than one rank's",
                        trial.distributions
                    );
                }
            }
        }
    };
    let mut trials: Vec<Trial> =
        triples(ranks).step_by(size.step).map(|distributions| Trial::new(&machine, extents, distributions)).collect();
    turns(&mut trials, size.rounds);
    let mut equal = 0;
    for trial in &trials {
        print(mlp, "all", trial, true);
        equal += usize::from(trial.moved_as_planned());
    }
    eprintln!("MLP-{mlp} on {ranks} ranks: bytes moved as planned in {equal} of {} triples", trials.len());
    trials.sort_by(|a, b| a.median().total_cmp(&b.median()));
    let (quickest, rest) = trials.split_at(EXAMINED_TRIPLES.min(trials.len()));
    for chosen in quickest.iter().chain(rest.iter().step_by(rest.len().div_ceil(EXAMINED_TRIPLES).max(1))) {
        let mut each = Stationary::ALL.map(|stationary| chosen.with(stationary));
        // The times of one triple of distributions with different stationary matrices are closer together than the
        // times of different triples, so more rounds are needed.
        turns(&mut each, 2 * size.rounds - 1);
        for trial in &each {
            print(mlp, "stationary", trial, trial.stationary() == chosen.stationary());
        }
    }
}

/// All triples of distributions for `left`, `right` and `out`.
fn triples(ranks: usize) -> impl Iterator<Item = [String; 3]> {
    let [left, right, out] = [['m', 'k'], ['k', 'n'], ['m', 'n']].map(|dimensions| cuts(ranks, dimensions));
    let pairs =
        left.into_iter().flat_map(move |left| right.clone().into_iter().map(move |right| [left.clone(), right]));
    pairs.flat_map(move |[left, right]| out.clone().into_iter().map(move |out| [left.clone(), right.clone(), out]))
}

fn print(mlp: usize, set: &str, trial: &Trial, chosen: bool) {
    let stationary = match trial.stationary() {
        Stationary::Left => "left",
        Stationary::Right => "right",
        Stationary::Out => "out",
    };
    let predicted = trial.predicted.map_or(String::new(), |seconds| format!("{:.3}", seconds * 1e3));
    println!(
        "{mlp},{},{set},{},{stationary},{},{predicted},{:.3},{:.3},{},{},{},{}",
        trial.plan.ranks(),
        trial.distributions.join(","),
        if chosen { "yes" } else { "no" },
        trial.simulated * 1e3,
        trial.median() * 1e3,
        trial.planned.iter().max().unwrap_or(&0),
        trial.planned.iter().sum::<u64>(),
        trial.measured.iter().sum::<u64>(),
        if trial.moved_as_planned() { "yes" } else { "no" },
    );
}
