//! Finds the contraction order of an einsum.
//!
//! Guarantees: an order depends only on the einsum, the choice, the budget, the machine and the element type, so all
//! ranks find the same; without a memory limit, `auto` has no more operations than left to right. Brackets express the
//! wanted order, so nested einsums are not merged; each has the whole budget.

mod choice;
mod cost;
mod form;
mod positions;
mod record;
mod search;

pub use choice::PathChoice;
pub use cost::log2_size;
pub use einsum_path::log2_sum;
pub use form::{GivenPath, given, numbers};
pub use positions::path;
pub use record::{PathMethod, SearchLimit, SearchProgress, SearchRecord};

use std::cell::Cell;

use search::{Annealed, PathSearch};

use crate::dims::Label;
use crate::tree::{Network, Order, left_to_right};
use einsum_path::{Progress, Proof};

/// Maximum tensors for which `auto` searches; more take seconds.
const MAX_SEARCHED_TENSORS: usize = 20_000;

/// Of the predicted time of all runs in the best order so far: the minimum and maximum time of `auto`, the minimum
/// after few rounds, and the fraction before the search.
const LEAST_SEARCH_SHARE: f64 = 0.15;
const MAX_SEARCH_SHARE: f64 = 1.0;
const EARLY_SEARCH_SHARE: f64 = 0.3;
const EARLY_ROUNDS: usize = 2;
const FIRST_SEARCH_SHARE: f64 = 0.2;

/// The next doubling of the time is expected to save this share of the last.
const NEXT_SAVING: f64 = 0.7;

/// Networks, relative to large products.
const NETWORK_RATE: f64 = 0.5;

/// In the first run, elements take longer by this share (new memory), as do multiply-adds for some time.
const COLD: f64 = 2.0;
const MAX_COLD_SECONDS: f64 = 0.003;

/// `auto` searches with this share of an element's predicted price.
const ELEMENT_SHARE: f64 = 0.5;

/// A search without a limit ends after this share of its time if the best order exceeds the free memory.
pub const UNSLICED_SHARE: f64 = 0.55;

/// Free memory is rounded down by up to half a bit.
const ROUNDED_BITS: f64 = 0.55;

/// Minimum seconds per tensor with a memory limit: the first slices are bad.
const LEAST_LIMITED_SECONDS: f64 = 3e-4;

/// Seconds per tensor of the shortest annealing on one thread. If all runs take less, `auto` stops before it.
const LEAST_ANNEAL_SECONDS: f64 = 4e-5;

/// Maximum nominal seconds of `auto`, and per subset of the tensors.
const MAX_SEARCH_SECONDS: f64 = 60.0;
const MAX_SUBSET_SECONDS: f64 = 1e-4;

/// Default budget for the optimal order, in nominal seconds.
const OPTIMAL_SECONDS: f64 = 10.0;

/// The same for annealing, per tensor, and its maximum.
const ANNEAL_SECONDS: f64 = 5e-3;
const MAX_ANNEAL_SECONDS: f64 = 1.0;

/// Fraction and maximum seconds of `auto` for the optimal order if it cannot examine all orders.
const OPTIMAL_SHARE: f64 = 0.1;
const MAX_OPTIMAL_SECONDS: f64 = 0.05;

/// With more tensors, the optimal search rarely ends in time.
const OFTEN_OPTIMAL_TENSORS: f64 = 40.0;

/// Maximum steps of the optimal search if the budget allows examining all orders.
const OPTIMAL_STEPS: u64 = 100_000_000;

/// A result is at most about half of all live elements. Not quite 1, for powers of 2.
const LEAST_LIVE_BITS: f64 = 0.95;

/// A budget in nominal seconds.
type Seconds<'a> = dyn Fn(&[Progress]) -> f64 + 'a;

pub type Watch<'a> = dyn Fn(SearchProgress) + 'a;

#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// What the user allows; `None` for the default.
    pub asked: Option<f64>,
    /// Nominal seconds of search in one second.
    pub speed: f64,
    pub runs: f64,
    /// How much faster runs are assumed to be on all ranks than on one.
    pub speed_up: f64,
    /// Multiply-adds per second on one rank.
    pub rate: f64,
    /// Seconds per element read or written on one rank.
    pub element: f64,
    /// Threads of the planned machine, so that all ranks find the same order.
    pub threads: usize,
    /// log2 of the elements of intermediates that fit into the memory limit; infinite without.
    pub elements: f64,
    /// log2 of the elements that fit into the free memory; infinite if unknown.
    pub free: f64,
    pub watch: &'a Watch<'a>,
}

impl Budget<'_> {
    fn seconds(&self) -> Option<f64> {
        self.asked.map(|seconds| seconds * self.speed)
    }

    /// The predicted seconds of all runs, given log2 of the multiply-adds and of the elements read and written.
    fn of_runs(&self, products: f64, elements: f64) -> f64 {
        let products = (products - (NETWORK_RATE * self.rate).log2()).exp2();
        let elements = self.element * elements.exp2();
        (self.runs * (products + elements) + COLD * (products.min(MAX_COLD_SECONDS) + elements)) / self.speed_up
    }

    fn of_auto(&self, share: f64, runs: f64) -> f64 {
        self.seconds().unwrap_or((share * runs).min(MAX_SEARCH_SECONDS))
    }

    /// What an element costs a search for little time, in multiply-adds.
    fn element_price(&self) -> f64 {
        ELEMENT_SHARE * self.element * NETWORK_RATE * self.rate
    }

    /// Whether the best order exceeds the free memory, so that the search should go on with a limit.
    fn exceeds_memory(&self, rounds: &[Progress]) -> bool {
        self.elements.is_infinite() && rounds.last().is_some_and(|last| exceeds(last.largest, self.free))
    }

    fn least_anneal(&self, tensors: usize) -> f64 {
        LEAST_ANNEAL_SECONDS * tensors as f64 / self.threads.clamp(1, einsum_path::CHAINS) as f64
    }

    /// `auto` stops when doubling the time would cost more than it saves. `known` is the seconds of all runs in the
    /// best order before.
    fn after(&self, known: f64, rounds: &[Progress]) -> f64 {
        let runs = |round: &Progress| self.of_runs(round.products, round.elements).min(known);
        let Some(last) = rounds.last() else { return self.of_auto(MAX_SEARCH_SHARE, known) };
        let half = rounds.iter().rev().find(|round| round.seconds <= last.seconds / 2.0).map_or(known, runs);
        let saved = 1.0 - runs(last) / half;
        let least = if rounds.len() > EARLY_ROUNDS { LEAST_SEARCH_SHARE } else { EARLY_SEARCH_SHARE };
        let share = (NEXT_SAVING * saved).clamp(least, MAX_SEARCH_SHARE);
        self.of_auto(share, runs(last))
    }
}

/// Whether an order cannot fit, given log2 of the elements of its largest intermediate and of the free memory.
pub fn exceeds(largest: f64, free: f64) -> bool {
    largest + LEAST_LIVE_BITS > free + ROUNDED_BITS
}

pub struct Searched {
    pub order: Order,
    pub sliced: Vec<Label>,
    pub limit: Option<SearchLimit>,
    pub record: SearchRecord,
}

impl Searched {
    pub fn new(method: PathMethod, order: Order, limit: Option<SearchLimit>) -> Searched {
        Searched { order, sliced: Vec::new(), limit, record: SearchRecord { method, seconds: 0.0, found_at: 0.0 } }
    }
}

/// Explicit choices are for whole expressions and not followed. With a memory limit, a search may begin with slices of
/// `start`.
pub fn order(network: &Network, choice: &PathChoice, budget: Budget, start: Option<&Order>) -> Searched {
    let tensors = network.tensors.len();
    if tensors < 3 || *choice == PathChoice::LeftToRight {
        return Searched::new(PathMethod::LeftToRight, left_to_right(tensors), None);
    }
    let search = PathSearch::new(network, start);
    match choice {
        PathChoice::Greedy => greedy(&search, tensors, budget),
        PathChoice::Optimal => optimal(network, &search, budget),
        PathChoice::Anneal => {
            let default = (ANNEAL_SECONDS * tensors as f64).min(MAX_ANNEAL_SECONDS);
            let seconds = budget.seconds().unwrap_or(default);
            anneal(&search, budget, search::ELEMENT_PRICE, &|_| seconds)
        }
        _ => auto(network, &search, budget),
    }
}

fn greedy(search: &PathSearch, tensors: usize, budget: Budget) -> Searched {
    let all = search::patient_ties(tensors);
    let most = budget.seconds().map_or(all.end, |seconds| search::ties_within(tensors, seconds).clamp(1, all.end));
    let limit = budget.asked.filter(|_| most < all.end);
    let limit = limit.map(|seconds| SearchLimit::Greedy { seconds, tried: most, of: all.end });
    Searched::new(PathMethod::Greedy, search.greedy(0..most), limit)
}

fn optimal(network: &Network, search: &PathSearch, budget: Budget) -> Searched {
    let tensors = network.tensors.len();
    let seconds = budget.seconds().unwrap_or(OPTIMAL_SECONDS);
    let greedy = search.greedy(search::patient_ties(tensors));
    let (found, proof) = search.optimal(&greedy, search::steps_within(seconds));
    let limit = match proof {
        Proof::Optimal | Proof::OptimalConnected => {
            return Searched::new(PathMethod::Optimal, found.unwrap_or(greedy), None);
        }
        Proof::Steps => SearchLimit::Seconds { seconds: budget.asked.unwrap_or(OPTIMAL_SECONDS), tensors },
        Proof::Sets => SearchLimit::Sets { tensors },
    };
    let unlimited = Budget { elements: f64::INFINITY, free: f64::INFINITY, ..budget };
    let annealed = anneal(search, unlimited, search::ELEMENT_PRICE, &|_| seconds);
    let order = search.cheapest([greedy, annealed.order]);
    Searched { order, limit: Some(limit), ..annealed }
}

/// Anneals orders, with slices if necessary.
fn anneal(search: &PathSearch, budget: Budget, element: f64, seconds: &Seconds) -> Searched {
    let Budget { threads, elements, .. } = budget;
    let limit = (elements - LEAST_LIVE_BITS).max(0.0);
    let exceeds_memory = Cell::new(false);
    let seconds = |rounds: &[Progress]| {
        let nominal = seconds(rounds);
        exceeds_memory.set(budget.exceeds_memory(rounds));
        let nominal = if exceeds_memory.get() { UNSLICED_SHARE * nominal } else { nominal };
        if let Some(&Progress { products, largest, .. }) = rounds.last() {
            let seconds = nominal / budget.speed;
            (budget.watch)(SearchProgress { seconds, log2_products: products, log2_largest: largest });
        }
        nominal
    };
    let Annealed { order, sliced, found } = search.anneal(element, [limit, elements], &seconds, threads);
    let record = SearchRecord { method: PathMethod::Anneal, seconds: found.seconds, found_at: found.found_at };
    Searched { order, sliced, limit: exceeds_memory.get().then_some(SearchLimit::Memory), record }
}

fn auto(network: &Network, search: &PathSearch, budget: Budget) -> Searched {
    let tensors = network.tensors.len();
    let price = |order: &Order| cost::log2_products(network, order);
    let written = left_to_right(tensors);
    let most = price(&written);
    let mut best = (most, Searched::new(PathMethod::LeftToRight, written, None));
    if tensors > MAX_SEARCHED_TENSORS {
        return best.1;
    }
    let mut consider = |found: Searched| {
        let products = price(&found.order);
        if products < best.0 {
            best = (products, found);
        }
        budget.of_runs(best.0, cost::log2_elements(network, &best.1.order))
    };
    let greedy = search.greedy(0..1);
    let runs = consider(Searched::new(PathMethod::Greedy, greedy.clone(), None));
    let seconds = budget.of_auto(FIRST_SEARCH_SHARE, runs);
    let few = search::exhaustive_seconds(tensors) <= seconds.max(search::UNNOTICED_SECONDS);
    let chance = (OFTEN_OPTIMAL_TENSORS / tensors as f64).min(1.0).powi(2);
    // The greedy order may be bad, so it allows only the time for annealing.
    let least = budget.least_anneal(tensors);
    let longest = budget.asked.map_or(least, |_| MAX_OPTIMAL_SECONDS);
    let share = chance * (OPTIMAL_SHARE * seconds).min(longest);
    let steps = if few { OPTIMAL_STEPS } else { search::steps_within(share) };
    let (found, proof) = search.optimal(&greedy, steps);
    let runs = found.map_or(runs, |order| consider(Searched::new(PathMethod::Optimal, order, None)));
    let peak = cost::log2_peak(network, &best.1.order, &[]);
    let fit = peak <= budget.elements;
    // An order that fits may still be the best.
    let budget = Budget { free: if peak <= budget.free { f64::INFINITY } else { budget.free }, ..budget };
    // Fewer operations mostly mean fewer slices, which the plan may add.
    let free = budget.asked.is_none() && budget.elements.is_infinite();
    let cheap = free && runs < least;
    if fit && (cheap || matches!(proof, Proof::Optimal | Proof::OptimalConnected)) {
        return best.1;
    }
    // An order that does not fit says little about the time with slices.
    let known = if fit { runs } else { f64::INFINITY };
    // Otherwise there are often more operations than as written.
    let element = if free && best.0 < most { budget.element_price() } else { search::ELEMENT_PRICE };
    let longest = MAX_SUBSET_SECONDS * (tensors as f64).exp2();
    let shortest = if free { 0.0 } else { LEAST_LIMITED_SECONDS * tensors as f64 };
    let seconds = |rounds: &[Progress]| {
        let seconds = budget.after(known, rounds);
        if budget.asked.is_some() { seconds } else { seconds.max(shortest).min(longest) }
    };
    let annealed = anneal(search, budget, element, &seconds);
    // Upper bounds: only contractions without the sliced labels are repeated.
    let slices = log2_size(&annealed.sliced, network.extents);
    let products = price(&annealed.order) + slices;
    let elements = cost::log2_elements(network, &annealed.order) + slices;
    let faster = products <= most && budget.of_runs(products, elements) < runs;
    let better = if free { faster } else { products < best.0 };
    if !fit || better {
        return annealed;
    }
    best.1.record.seconds = annealed.record.seconds;
    best.1.limit = annealed.limit;
    best.1
}
