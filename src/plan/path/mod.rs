//! Finds the order in which the tensors of an einsum are contracted.
//!
//! | file | contents |
//! |---|---|
//! | `choice` | the user's choice, as text and as a value |
//! | `form` | orders and slices that the user gives, in the forms of other libraries |
//! | `search` | the searches of the crate `einsum_path` for greedy, optimal and annealed orders |
//! | `limit` | the limits that can end a search early |
//! | `record` | what a search did, for reports |
//! | `cost` | the number of operations in an order |
//! | `positions` | the conversion between tensor numbers and the positions that opt_einsum uses in paths |
//!
//! Guarantees: an order depends only on the einsum, the choice, the budget, the machine and the element type, so all
//! ranks find the same; without a memory limit, `auto` has no more operations than left to right. Einsums in nested
//! brackets are not merged, because brackets express the wanted order. Each einsum has the whole budget.

mod choice;
mod cost;
mod form;
mod limit;
mod positions;
mod record;
mod search;

pub use choice::PathChoice;
pub use cost::log2_size;
pub use einsum_path::log2_sum;
pub use form::{GivenPath, given, numbers};
pub use limit::SearchLimit;
pub use positions::path;
pub use record::{PathMethod, SearchProgress, SearchRecord};

use search::{Annealed, PathSearch};

use crate::dims::Label;
use crate::tree::{Network, Order, left_to_right};
use einsum_path::{Proof, Request, Solution};

/// Maximum number of tensors for which `auto` searches. Larger networks are contracted as written, because a search
/// takes seconds.
const MAX_SEARCHED_TENSORS: usize = 20_000;

/// Maximum time of a search by `auto`, as a fraction of the predicted time of all runs in the best order so far.
const MAX_SEARCH_SHARE: f64 = 0.2;

/// Networks run at about this fraction of the rate of large matrix products.
const NETWORK_RATE: f64 = 0.5;

/// Seconds per element that a contraction reads or writes, including the first access to new memory.
const ELEMENT_SECONDS: f64 = 1e-9;

/// A search by `auto` takes at least this many seconds per tensor, which is less than planning takes.
const LEAST_SEARCH_SECONDS: f64 = 1e-4;

/// Maximum nominal seconds for a search by `auto`.
const MAX_SEARCH_SECONDS: f64 = 60.0;

/// Default budget for the search for the optimal order, in nominal seconds.
const OPTIMAL_SECONDS: f64 = 10.0;

/// Default budget for annealing, in nominal seconds per tensor, and its maximum.
const ANNEAL_SECONDS: f64 = 5e-3;
const MAX_ANNEAL_SECONDS: f64 = 1.0;

/// Fraction and maximum seconds of its budget that `auto` spends on the optimal order if it cannot examine all orders.
const OPTIMAL_SHARE: f64 = 0.1;
const MAX_OPTIMAL_SECONDS: f64 = 0.05;

/// Maximum number of steps of the optimal search if the budget allows examining all orders.
const OPTIMAL_STEPS: u64 = 100_000_000;

/// Shares of the budget for successive searches for slices with ever lower limits.
const SLICING_SHARES: [f64; 4] = [0.6, 0.2, 0.1, 0.1];

/// An operand is live beside the result, so a result has at most about half of the elements; the fraction allows for
/// powers of two.
const LEAST_LIVE_BITS: f64 = 0.95;
const LEAST_EXCESS_BITS: f64 = 0.25;

/// A budget in nominal seconds, given the best solution so far.
type Seconds<'a> = dyn Fn(Option<&Solution>) -> f64 + 'a;

/// Called now and then during a search.
pub type Watch<'a> = dyn Fn(SearchProgress) + 'a;

/// What a search may spend.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// The seconds that the user allows; `None` for the default of the search.
    pub asked: Option<f64>,
    /// Nominal seconds of search in one second.
    pub speed: f64,
    /// How often the plan will run.
    pub runs: f64,
    /// Number of multiply-adds per second on one rank, from which `auto` computes its default budget.
    pub rate: f64,
    /// The number of ranks.
    pub ranks: f64,
    /// The number of threads that search, which is that of the planned machine, so that all ranks find the same order.
    pub threads: usize,
    /// log2 of the number of elements of intermediates that fit into the memory limit; infinite without a limit.
    pub elements: f64,
    /// Is told how the search proceeds.
    pub watch: &'a Watch<'a>,
}

impl Budget<'_> {
    /// The nominal seconds that the user allows.
    fn seconds(&self) -> Option<f64> {
        self.asked.map(|seconds| seconds * self.speed)
    }

    /// The budget of `auto`, given log2 of the multiply-adds and of the elements read and written in the best order so
    /// far.
    fn of_auto(&self, tensors: usize, products: f64, elements: f64) -> f64 {
        let one = (products - (NETWORK_RATE * self.rate).log2()).exp2() + ELEMENT_SECONDS * elements.exp2();
        // Few contractions of a network use many ranks well.
        let run = one / self.ranks.sqrt();
        let least = LEAST_SEARCH_SECONDS * tensors as f64;
        self.seconds().unwrap_or((MAX_SEARCH_SHARE * self.runs * run).clamp(least, MAX_SEARCH_SECONDS.max(least)))
    }
}

/// The result of a search.
pub struct Searched {
    pub order: Order,
    /// Labels to slice, so that the intermediates fit into the memory limit.
    pub sliced: Vec<Label>,
    /// The limit that ended the search early, if any.
    pub limit: Option<SearchLimit>,
    pub record: SearchRecord,
}

impl Searched {
    pub fn new(method: PathMethod, order: Order, limit: Option<SearchLimit>) -> Searched {
        Searched { order, sliced: Vec::new(), limit, record: SearchRecord { method, seconds: 0.0, found_at: 0.0 } }
    }
}

/// Finds the contraction order of one einsum. An explicit choice, which is for a whole expression, is not followed.
pub fn order(network: &Network, choice: &PathChoice, budget: Budget) -> Searched {
    let tensors = network.tensors.len();
    if tensors < 3 || *choice == PathChoice::LeftToRight {
        return Searched::new(PathMethod::LeftToRight, left_to_right(tensors), None);
    }
    let search = PathSearch::new(network);
    match choice {
        PathChoice::Greedy => greedy(&search, tensors, budget),
        PathChoice::Optimal => optimal(network, &search, budget),
        PathChoice::Anneal => {
            let default = (ANNEAL_SECONDS * tensors as f64).min(MAX_ANNEAL_SECONDS);
            let seconds = budget.seconds().unwrap_or(default);
            anneal(network, &search, Budget { asked: Some(seconds / budget.speed), ..budget }, &|_| seconds)
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

/// Finds the optimal order, or the best of greedy and annealed orders if the budget does not suffice.
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
    let annealed = anneal(network, search, Budget { elements: f64::INFINITY, ..budget }, &|_| seconds);
    let order = search.cheapest([greedy, annealed.order]);
    Searched { order, limit: Some(limit), ..annealed }
}

/// Anneals orders, with slices if the intermediates do not fit into the memory limit otherwise. `seconds` is the
/// budget, given the best order so far.
fn anneal(network: &Network, search: &PathSearch, budget: Budget, seconds: &Seconds) -> Searched {
    let patience = if budget.asked.is_some() { f64::INFINITY } else { search::PATIENCE };
    let seconds = |best: Option<&Solution>| {
        let nominal = seconds(best);
        if let Some(&Solution { products, largest, .. }) = best {
            let seconds = nominal / budget.speed;
            (budget.watch)(SearchProgress { seconds, log2_products: products, log2_largest: largest });
        }
        nominal
    };
    let mut request = Request { threads: budget.threads, budget: &seconds, patience, known: Vec::new() };
    if budget.elements.is_infinite() {
        return search.anneal(f64::INFINITY, request).into();
    }
    let mut limit = (budget.elements - LEAST_LIVE_BITS).max(0.0);
    let mut spent = SearchRecord { method: PathMethod::Anneal, seconds: 0.0, found_at: 0.0 };
    let mut found = None;
    for share in SLICING_SHARES {
        let seconds = |best: Option<&Solution>| share * seconds(best);
        let annealed = search.anneal(limit, Request { budget: &seconds, ..request });
        let known = annealed.found.solutions.clone();
        request = Request { threads: budget.threads, budget: &|_| 0.0, patience, known };
        let next = Searched::from(annealed);
        spent = SearchRecord {
            found_at: spent.seconds + next.record.found_at,
            seconds: spent.seconds + next.record.seconds,
            ..spent
        };
        let excess = cost::log2_peak(network, &next.order, &next.sliced) - budget.elements;
        found = Some(Searched { record: spent, ..next });
        if excess <= 0.0 {
            break;
        }
        limit = (limit - excess.max(LEAST_EXCESS_BITS)).max(0.0);
    }
    found.unwrap_or_else(|| Searched::new(PathMethod::LeftToRight, left_to_right(network.tensors.len()), None))
}

impl From<Annealed> for Searched {
    fn from(Annealed { order, sliced, found }: Annealed) -> Searched {
        let record = SearchRecord { method: PathMethod::Anneal, seconds: found.seconds, found_at: found.found_at };
        Searched { order, sliced, limit: None, record }
    }
}

/// Returns the cheapest order found within the budget.
fn auto(network: &Network, search: &PathSearch, budget: Budget) -> Searched {
    let tensors = network.tensors.len();
    let price = |order: &Order| cost::log2_products(network, order);
    let written = left_to_right(tensors);
    let mut best = (price(&written), Searched::new(PathMethod::LeftToRight, written, None));
    if tensors > MAX_SEARCHED_TENSORS {
        return best.1;
    }
    let mut consider = |found: Searched| {
        let products = price(&found.order);
        if products < best.0 {
            best = (products, found);
        }
        budget.of_auto(tensors, best.0, cost::log2_elements(network, &best.1.order))
    };
    let greedy = search.greedy(0..1);
    let seconds = consider(Searched::new(PathMethod::Greedy, greedy.clone(), None));
    let few = search::exhaustive_seconds(tensors) <= seconds.max(search::UNNOTICED_SECONDS);
    let share = (OPTIMAL_SHARE * seconds).min(MAX_OPTIMAL_SECONDS);
    let steps = if few { OPTIMAL_STEPS } else { search::steps_within(share) };
    let (found, proof) = search.optimal(&greedy, steps);
    if let Some(order) = found {
        consider(Searched::new(PathMethod::Optimal, order, None));
    }
    let fit = cost::log2_peak(network, &best.1.order, &[]) <= budget.elements;
    if fit && matches!(proof, Proof::Optimal | Proof::OptimalConnected) {
        return best.1;
    }
    let known = best.0;
    let elements = cost::log2_elements(network, &best.1.order);
    let left = |found: Option<&Solution>| match found.filter(|found| found.products < known) {
        Some(found) => budget.of_auto(tensors, found.products, found.elements),
        None => budget.of_auto(tensors, known, elements),
    };
    let annealed = anneal(network, search, budget, &left);
    // An upper bound, because contractions without the sliced labels are repeated, and others are not.
    let sliced = price(&annealed.order) + log2_size(&annealed.sliced, network.extents);
    if !fit || sliced < best.0 {
        return annealed;
    }
    best.1.record.seconds = annealed.record.seconds;
    best.1
}
