//! Runs chains in rounds, on several threads, and keeps the best solutions.
//!
//! Invariant: solutions are repeatable as far as the standard library's powers and logarithms are. Each round has a
//! fixed number of independent chains, so any thread may run any.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use crate::chain::{Chain, MAX_WORDS_AT_ONCE, Settings, Solution, Start};
use crate::effort;
use crate::greedy::GreedyParameters;
use crate::network::Prepared;
use crate::random::Random;

/// The chains in a round, and the maximum threads of a search.
pub const CHAINS: usize = 4;

const KEPT: usize = 4;

/// Rotations of each contraction in a chain of the first round, their growth per round, and their maximum. Restarts are
/// better than one long chain.
const FIRST_SWEEPS: f64 = 64.0;
const GROWTH: f64 = 1.5;
const MAX_SWEEPS: f64 = 20_000.0;

/// Maximum random greedy orders of a chain, and their share of its time: few orders of a large network are good, and
/// annealing improves them little.
const MAX_RANDOM: f64 = 64.0;
const LEAST_LARGE_RANDOM: f64 = 4.0;
const RANDOM_SHARE: f64 = 0.25;
const LARGE_RANDOM_SHARE: f64 = 0.6;

/// A chain is shortened to the rest of the budget if that is at least this share of its length.
const LEAST_REST: f64 = 0.2;

/// First inverse temperatures of chains from known orders in the first round.
const START_HEATS: [f64; 2] = [15.0, 6.0];

const GREEDY: GreedyParameters = GreedyParameters { weight: 1.0, ties: 0, noise: 0.0 };

/// Change of the chains' limit after a round, in bits.
const LIMIT_STEP: f64 = 0.5;

const MAX_SECONDS: f64 = 1e9;

/// What a search may use.
pub struct Request<'a> {
    /// Threads to use.
    pub threads: usize,
    /// The budget in nominal seconds, given the progress after each round so far. Read before every round.
    pub budget: &'a dyn Fn(&[Progress]) -> f64,
    /// Orders without slices, from which some chains start.
    pub known: Vec<Vec<[usize; 2]>>,
    /// log2 of the factor by which a solution needs too much memory. Solutions that fit (at most 0) are better than all
    /// others. A solution within [`Settings::limit`] may not fit; chains then get lower limits.
    pub excess: &'a dyn Fn(&Solution) -> f64,
}

/// The best solution after a round.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Nominal seconds since the start.
    pub seconds: f64,
    /// [`Solution::products`].
    pub products: f64,
    /// [`Solution::elements`].
    pub elements: f64,
    /// [`Solution::largest`].
    pub largest: f64,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Found {
    /// The best solutions, best first.
    pub solutions: Vec<Solution>,
    /// The search's nominal seconds.
    pub seconds: f64,
    /// Nominal seconds until the best solution.
    pub found_at: f64,
}

/// Searches until the budget is spent.
///
/// Cost: the budget, on a core of about 3 GHz per thread.
pub fn search(network: &Prepared, settings: Settings, request: Request) -> Found {
    if network.tensors.len() < 2 {
        return Found { solutions: vec![Solution::unpriced(Vec::new())], seconds: 0.0, found_at: 0.0 };
    }
    let unlimited = Settings { limit: f64::INFINITY, ..settings };
    let mut state = Search {
        network,
        settings,
        threads: request.threads.clamp(1, CHAINS),
        random: Random::new(7),
        lower: 0.0,
        starts: request.known.iter().map(|steps| Chain::of(steps).run(network, unlimited)).collect(),
        best: Vec::new(),
        progress: Vec::new(),
        found: Found { solutions: Vec::new(), seconds: 0.0, found_at: 0.0 },
    };
    let excess = |solution: &Solution| (request.excess)(solution).max(0.0);
    state.keep(state.starts.clone(), &excess);
    state.search(&request, &excess);
    let solutions = state.best.into_iter().map(|(_, solution)| solution).collect();
    Found { solutions, ..state.found }
}

struct Search<'a> {
    network: &'a Prepared,
    settings: Settings,
    threads: usize,
    random: Random,
    /// How far below the limit chains' largest results must stay, in bits.
    lower: f64,
    starts: Vec<Solution>,
    /// The best solutions: those that fit first, then the cheapest.
    best: Vec<([f64; 2], Solution)>,
    progress: Vec<Progress>,
    found: Found,
}

/// Adapts [`Search::lower`] to how many of a round's solutions fit, so that about half of them do.
fn adapted(lower: f64, fitting: usize) -> f64 {
    match fitting {
        CHAINS => (lower - LIMIT_STEP).max(0.0),
        fitting if 2 * fitting < CHAINS => lower + LIMIT_STEP,
        _ => lower,
    }
}

impl Search<'_> {
    fn search(&mut self, request: &Request, excess: &dyn Fn(&Solution) -> f64) {
        loop {
            let before = self.best.first().map(|(rank, _)| *rank);
            let budget = (request.budget)(&self.progress).clamp(0.0, MAX_SECONDS);
            let left = budget - self.found.seconds;
            // NaN ends the search.
            let left = if left.is_nan() { 0.0 } else { left };
            let Some((chains, seconds)) = self.chains(left) else { return };
            self.found.seconds += seconds;
            let fitting = self.keep(self.run(&chains), excess);
            self.lower = adapted(self.lower, fitting);
            let (rank, Solution { products, elements, largest, .. }) = self.best[0];
            if before.is_none_or(|before| rank < before) {
                self.found.found_at = self.found.seconds;
            }
            self.progress.push(Progress { seconds: self.found.seconds, products, elements, largest });
        }
    }

    fn keep(&mut self, solutions: Vec<Solution>, excess: &dyn Fn(&Solution) -> f64) -> usize {
        let ranked = |solution: Solution| ([excess(&solution), solution.price], solution);
        let ranked: Vec<([f64; 2], Solution)> = solutions.into_iter().map(ranked).collect();
        let fitting = ranked.iter().filter(|([excess, _], _)| *excess == 0.0).count();
        let best = &mut self.best;
        best.extend(ranked);
        best.sort_by(|([excess, price], _), (other, _)| excess.total_cmp(&other[0]).then(price.total_cmp(&other[1])));
        best.dedup_by(|(_, later), (_, first)| later.price == first.price);
        best.truncate(KEPT);
        fitting
    }

    /// A round's chains and their nominal seconds; `None` if too little of the budget is left. There is always a first
    /// round.
    fn chains(&mut self, left: f64) -> Option<(Vec<Chain>, f64)> {
        let round = self.progress.len() as i32;
        let tensors = self.network.tensors.len() as f64;
        let words = self.network.labels().div_ceil(64).next_power_of_two();
        let waves = CHAINS.div_ceil(self.threads) as f64;
        let sweeps = (FIRST_SWEEPS * GROWTH.powi(round)).min(MAX_SWEEPS);
        let large = words > MAX_WORDS_AT_ONCE;
        let wanted = sweeps * tensors * effort::rotation(if large { 2 } else { words });
        let each = effort::start(tensors);
        let share = if large { LARGE_RANDOM_SHARE } else { RANDOM_SHARE };
        let most = ((left / waves - LEAST_REST * wanted) / each).clamp(1.0, MAX_RANDOM);
        let least = if large && round > 0 { LEAST_LARGE_RANDOM.min(most) } else { 1.0 };
        let tries = (share * wanted / each).clamp(least, most);
        let start = tries * each;
        let affordable = left / waves - start;
        if round > 0 && affordable < LEAST_REST * wanted {
            return None;
        }
        // The last round takes all that is left.
        let seconds = if affordable < wanted * (1.0 + LEAST_REST * GROWTH) { affordable } else { wanted };
        let seconds = seconds.max(0.0);
        let slices_start = round == 0 && !self.starts.is_empty();
        let chain = |number| match (slices_start, number) {
            (true, 0 | 1) => {
                let start = Start::From(self.starts[number % self.starts.len()].clone());
                Chain { start, seed: self.random.next(), hot: START_HEATS[number], seconds }
            }
            (true, 3) => Chain { start: Start::Greedy(GREEDY), seed: self.random.next(), hot: 1.0, seconds },
            _ => self.chain((round, number), (seconds, tries as usize)),
        };
        let chains = (0..CHAINS).map(chain).collect();
        Some((chains, waves * (start + seconds)))
    }

    fn chain(&mut self, (round, number): (i32, usize), (seconds, tries): (f64, usize)) -> Chain {
        let (random, best, starts) = (&mut self.random, &self.best, &self.starts);
        let (start, hot) = if number == 3 && !starts.is_empty() {
            (Start::From(starts[random.below(starts.len())].clone()), 2.0 + 4.0 * random.uniform())
        } else if number % 2 == 1 && !best.is_empty() {
            (Start::From(best[random.below(best.len())].1.clone()), 2.0 + 4.0 * random.uniform())
        } else if (round as usize + number / 2).is_multiple_of(3) && round > 0 {
            (Start::Partition(0.4 * random.uniform()), 1.0 + 2.0 * random.uniform())
        } else if round == 0 && self.network.labels().div_ceil(64) <= MAX_WORDS_AT_ONCE {
            (Start::Greedy(GreedyParameters { weight: [1.0, 4.0, 0.0, 8.0][number], ties: 0, noise: 0.0 }), 1.0)
        } else {
            (Start::Random(tries), 1.0 + 3.0 * random.uniform())
        };
        Chain { start, seed: random.next(), hot, seconds }
    }

    fn run(&self, chains: &[Chain]) -> Vec<Solution> {
        let settings = Settings { limit: (self.settings.limit - self.lower).max(0.0), ..self.settings };
        if self.threads == 1 {
            return chains.iter().map(|chain| chain.run(self.network, settings)).collect();
        }
        let next = AtomicUsize::new(0);
        let chain = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            chains.get(at).map(|chain| (at, chain.run(self.network, settings)))
        };
        let mut found: Vec<(usize, Solution)> = std::thread::scope(|scope| {
            let worker = || std::iter::from_fn(chain).collect::<Vec<_>>();
            let workers: Vec<_> = (0..self.threads).map(|_| scope.spawn(worker)).collect();
            let join = |worker: ScopedJoinHandle<_>| worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            workers.into_iter().flat_map(join).collect()
        });
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, solution)| solution).collect()
    }
}
