//! Finds the order in which the tensors of an einsum are contracted.
//!
//! | file | contents |
//! |---|---|
//! | `choice` | the user's choice, as text and as a value |
//! | `search` | the searches for greedy, optimal and annealed orders |
//! | `greedy` | the search that contracts the pair with the smallest result first |
//! | `optimal`, `bits` | the search for the fewest operations, by dynamic programming over sets of tensors |
//! | `limit` | the limits that can end a search early |
//! | `cost` | the number of operations in an order |
//! | `positions` | the conversion between tensor numbers and the positions that opt_einsum uses in paths |
//!
//! Guarantees: an order depends only on the einsum, the choice, the budget, the machine and the element type, so all
//! ranks find the same order; the order chosen by `auto` has no more operations than contracting left to right. Einsums
//! in nested brackets are not merged, because brackets express the order that the user wants.

mod bits;
mod choice;
mod cost;
mod greedy;
mod limit;
mod optimal;
mod positions;
mod search;

pub use choice::PathChoice;
pub use cost::{log2_size, log2_sum};
pub use limit::SearchLimit;
pub use positions::path;

use optimal::Proof;

use super::error::PlanError;
use crate::tree::{Network, Order, left_to_right};

/// Maximum number of tensors for which `auto` searches. Larger networks are contracted as written, because a search
/// would take seconds.
const MAX_SEARCHED_TENSORS: usize = 20_000;

/// Maximum time of a search by `auto`, as a fraction of the predicted time for contracting in the best order so far.
const MAX_SEARCH_SHARE: f64 = 0.1;

/// Maximum number of seconds for a search by `auto`.
const MAX_SEARCH_SECONDS: f64 = 2.0;

/// Default budget for the search for the optimal order, in seconds.
const OPTIMAL_SECONDS: f64 = 10.0;

/// Fraction of its budget that `auto` spends on the optimal order if the budget does not allow examining all orders.
const OPTIMAL_SHARE: f64 = 0.25;

/// Maximum number of steps of the optimal search if the budget allows examining all orders.
const OPTIMAL_STEPS: u64 = 100_000_000;

/// Returns the contraction order of one einsum, and the limit that ended its search early, if any. `seconds` is the
/// budget of the search. `rate` is the number of multiply-adds per second on one rank, from which `auto` computes its
/// default budget.
///
/// # Errors
/// If an explicit path is not valid for this einsum.
pub fn order(
    network: &Network,
    choice: &PathChoice,
    seconds: Option<f64>,
    rate: f64,
) -> Result<(Order, Option<SearchLimit>), PlanError> {
    let tensors = network.tensors.len();
    if let PathChoice::Explicit(path) = choice {
        return Ok((positions::numbered(path, tensors).map_err(PlanError::Path)?, None));
    }
    if tensors < 3 || *choice == PathChoice::LeftToRight {
        return Ok((left_to_right(tensors), None));
    }
    let search = search::PathSearch::new(network);
    Ok(match choice {
        PathChoice::Greedy => greedy(&search, tensors, seconds),
        PathChoice::Optimal => optimal(&search, tensors, seconds.unwrap_or(OPTIMAL_SECONDS)),
        PathChoice::Anneal => anneal(&search, tensors, seconds),
        PathChoice::LeftToRight | PathChoice::Explicit(_) | PathChoice::Auto => {
            (auto(network, &search, seconds, rate), None)
        }
    })
}

fn greedy(search: &search::PathSearch, tensors: usize, seconds: Option<f64>) -> (Order, Option<SearchLimit>) {
    let all = search::patient_ties(tensors);
    let most = seconds.map_or(all.end, |seconds| search::ties_within(tensors, seconds).clamp(1, all.end));
    let limit = seconds.filter(|_| most < all.end);
    let limit = limit.map(|seconds| SearchLimit::Greedy { seconds, tried: most, of: all.end });
    (search.greedy(0..most), limit)
}

/// Returns the optimal order. If it is not found within `seconds`, returns the best of greedy and annealed orders
/// instead.
fn optimal(search: &search::PathSearch, tensors: usize, seconds: f64) -> (Order, Option<SearchLimit>) {
    let greedy = search.greedy(search::patient_ties(tensors));
    let (found, proof) = search.optimal(&greedy, search::steps_within(seconds));
    let limit = match proof {
        Proof::Optimal | Proof::OptimalConnected => return (found.unwrap_or(greedy), None),
        Proof::Steps => SearchLimit::Seconds { seconds, tensors },
        Proof::Sets => SearchLimit::Sets { tensors },
    };
    let annealed = search::sweeps(tensors, seconds).map(|sweeps| search.anneal(sweeps));
    (search.cheapest([greedy].into_iter().chain(annealed)), Some(limit))
}

fn anneal(search: &search::PathSearch, tensors: usize, seconds: Option<f64>) -> (Order, Option<SearchLimit>) {
    if tensors > search::MAX_ANNEALED_TENSORS {
        let greedy = search.greedy(search::patient_ties(tensors));
        return (greedy, Some(SearchLimit::TooMany { tensors, most: search::MAX_ANNEALED_TENSORS }));
    }
    let Some(seconds) = seconds else { return (search.anneal(search::LONG_SWEEPS), None) };
    let of = search::LONG_SWEEPS.each;
    match search::sweeps(tensors, seconds) {
        Some(sweeps) if sweeps == search::LONG_SWEEPS => (search.anneal(sweeps), None),
        Some(sweeps) => (search.anneal(sweeps), Some(SearchLimit::Anneal { seconds, sweeps: sweeps.each, of })),
        None => (search.greedy(0..1), Some(SearchLimit::Anneal { seconds, sweeps: 0, of })),
    }
}

/// Returns the cheapest order found within `seconds`, or by default within a fraction of the predicted time for the
/// contractions.
fn auto(network: &Network, search: &search::PathSearch, seconds: Option<f64>, rate: f64) -> Order {
    let tensors = network.tensors.len();
    let price = |order: Order| (cost::log2_products(network, &order), order);
    let mut best = price(left_to_right(tensors));
    if tensors > MAX_SEARCHED_TENSORS {
        return best.1;
    }
    let mut consider = |order: Order| {
        let (products, order) = price(order);
        if products < best.0 {
            best = (products, order);
        }
        MAX_SEARCH_SHARE * (best.0 - rate.log2()).exp2()
    };
    let greedy = search.greedy(0..1);
    let default_budget = consider(greedy.clone()).min(MAX_SEARCH_SECONDS);
    let budget = seconds.unwrap_or(default_budget);
    let few = search::exhaustive_seconds(tensors) <= budget.max(search::UNNOTICED_SECONDS);
    let steps = if few { OPTIMAL_STEPS } else { search::steps_within(OPTIMAL_SHARE * budget) };
    let (found, proof) = search.optimal(&greedy, steps);
    found.map(&mut consider);
    if matches!(proof, Proof::Optimal | Proof::OptimalConnected) {
        return best.1;
    }
    if let Some(sweeps) = search::sweeps(tensors, budget) {
        consider(search.anneal(sweeps));
    } else if let Some(ties) = search::more_ties(tensors, budget.max(search::UNNOTICED_SECONDS)) {
        consider(search.greedy(ties));
    }
    best.1
}
