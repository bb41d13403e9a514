//! In which order the tensors of an einsum are contracted.
//!
//! | file | what |
//! |---|---|
//! | `choice` | what the user asks for, as text and as a value |
//! | `search` | orders that are searched for: greedy, and by `omeco` exhaustive and annealed ones |
//! | `greedy` | the pair with the smallest result first |
//! | `cost` | what an order takes: operations, largest intermediate |
//! | `positions` | between numbers of tensors and positions in a list that shrinks, as opt_einsum writes paths |
//! | `report` | a path in the words of opt_einsum |
//!
//! Invariants: an order is a function of the einsum, the choice, the machine and the element type, so all ranks find the same one; with `auto` it takes
//! no more operations than left to right. Deliberately absent: einsums of brackets are never merged, the user wrote them.

mod choice;
mod cost;
mod greedy;
mod positions;
mod report;
mod search;

pub use choice::PathChoice;
pub use positions::path;
pub use report::PathReport;

use super::PlanError;
use crate::dtype::Dtype;
use crate::machine::Machine;
use crate::tree::{Network, Order, left_to_right};

/// More tensors than these are contracted as they are written by `auto`: searches take seconds.
const MOST_TENSORS: usize = 20_000;

/// Seconds of a search are at most this share of the seconds that the best order so far takes.
const WORTH: f64 = 0.1;

/// Seconds that `auto` searches at most.
const LONGEST_SEARCH: f64 = 2.0;

/// The order of one einsum.
///
/// # Errors
/// An explicit path that is none for this einsum; an exhaustive search that is not possible.
pub fn order(network: &Network, choice: &PathChoice, machine: &Machine, dtype: Dtype) -> Result<Order, PlanError> {
    let tensors = network.tensors.len();
    if let PathChoice::Explicit(path) = choice {
        return positions::numbered(path, tensors).map_err(PlanError::Path);
    }
    if tensors < 3 || *choice == PathChoice::LeftToRight {
        return Ok(left_to_right(tensors));
    }
    let search = search::Search::new(network);
    match choice {
        PathChoice::Greedy => Ok(search.greedy(search::patient_ties(tensors))),
        PathChoice::Optimal => search.optimal().map_err(PlanError::Path),
        PathChoice::Anneal => Ok(search.anneal(search::PATIENT)),
        PathChoice::LeftToRight | PathChoice::Explicit(_) | PathChoice::Auto => {
            Ok(auto(network, &search, machine, dtype))
        }
    }
}

/// The cheapest of what can be found in a fraction of the time that contracting takes.
fn auto(network: &Network, search: &search::Search, machine: &Machine, dtype: Dtype) -> Order {
    let tensors = network.tensors.len();
    let price = |order: Order| (cost::log2_products(network, &order), order);
    let mut best = price(left_to_right(tensors));
    if tensors > MOST_TENSORS {
        return best.1;
    }
    let mut consider = |order: Order| {
        let (products, order) = price(order);
        if products < best.0 {
            best = (products, order);
        }
        let rate = machine.flops * machine.workers as f64 / dtype.flops_per_multiply_add() as f64;
        WORTH * (best.0 - rate.log2()).exp2()
    };
    let budget = consider(search.greedy(0..1)).min(LONGEST_SEARCH);
    if search::exhaustive_seconds(tensors) <= budget.max(search::UNNOTICED) {
        // It fails where numbers overflow; greedy stands then.
        if let Ok(order) = search.optimal() {
            consider(order);
        }
    } else if let Some(sweeps) = search::sweeps(tensors, budget) {
        consider(search.anneal(sweeps));
    } else if let Some(ties) = search::more_ties(tensors, budget.max(search::UNNOTICED)) {
        consider(search.greedy(ties));
    }
    best.1
}
