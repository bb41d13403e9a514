//! Searches for labels to slice, by the model of [`slice_model`](super::slice_model).
//!
//! A trial slices one label after the other until nothing exceeds the target: each time, the label that lowers the
//! excess the most for the operations that it adds. Then it enlarges pieces and replaces labels where that is cheaper.
//! Trials differ in how they weigh these two and in random noise with fixed seeds, like those of cotengra's slice
//! finder.
//!
//! Invariants: the same tree and target give the same slices; slices that are found fit by the model, and the cheapest
//! come first. Deliberately absent: other trees.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::slice::{MAX_SLICES, divisors};
use super::slice_model::{Model, SliceCost, State};
use crate::dims::Label;

/// Trials of a search; fewer for trees with very many nodes.
const TRIALS: u64 = 24;

/// Trials without noise, one for each weight.
const WITHOUT_NOISE: u64 = 4;

/// Node visits that a search may spend, about half a second.
const MAX_VISITS: usize = 300_000_000;

/// Node visits of one trial, per node: about ten labels, each chosen from about sixty.
const VISITS_PER_NODE: usize = 600;

/// Weight of another slice that adds no operations.
const SLICE_WEIGHT: f64 = 0.01;

/// Price of slices, from the operations of all slices and the number of slices.
pub type Price = dyn Fn(f64, f64) -> f64;

/// How a trial scores labels.
#[derive(Clone, Copy)]
struct Weights {
    /// `None`: the cost per reduction of the excess. Otherwise: the cost minus this factor times the reduction.
    reduction: Option<f64>,
    /// Temperature of the noise.
    temperature: f64,
    seed: u64,
}

/// Sets of slices with which no step has more than `target` live elements, the cheapest first, each set once; empty if
/// none is found.
pub fn slices(model: &Model, target: f64, forbidden: &[Label], price: &Price) -> Vec<State> {
    let nodes = model.tree.nodes.len();
    let trials = TRIALS.min((MAX_VISITS / (VISITS_PER_NODE * nodes).max(1)).max(4) as u64);
    let search = SliceSearch { model, target, forbidden, price };
    let mut found: Vec<(f64, State)> = Vec::new();
    for trial in 0..trials {
        // If no weights succeed, noise does not help either.
        if trial == WITHOUT_NOISE && found.is_empty() {
            break;
        }
        let reduction = [None, Some(0.5), Some(1.0), Some(2.0)][trial as usize % 4];
        let temperature = [0.0, 0.1, 0.3, 0.03, 0.6, 0.2][trial as usize / 4 % 6];
        let Some(state) = search.trial(Weights { reduction, temperature, seed: trial }) else { continue };
        let mut state = search.improved(state);
        // In the order in which plans vary them, whatever order they were found in.
        state.slices.sort_by_key(|slice| slice.label);
        if found.iter().all(|(_, other)| other.slices != state.slices) {
            found.push((search.cost(&state), state));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    found.into_iter().map(|(_, state)| state).collect()
}

struct SliceSearch<'a> {
    model: &'a Model<'a>,
    target: f64,
    forbidden: &'a [Label],
    price: &'a Price,
}

impl SliceSearch<'_> {
    fn slice_cost(&self, state: &State) -> SliceCost {
        self.model.slice_cost(state, self.target)
    }

    fn cost(&self, state: &State) -> f64 {
        (self.price)(self.slice_cost(state).products * state.count(), state.count())
    }

    fn trial(&self, weights: Weights) -> Option<State> {
        let mut state = self.model.whole();
        let mut now = self.slice_cost(&state);
        while now.excess > 0.0 {
            let cost = self.cost(&state);
            let mut best: Option<(f64, State, SliceCost)> = None;
            for label in self.model.candidates(&state, self.target, self.forbidden) {
                let mut next = self.model.with(&state, label, 1);
                if next.count() > MAX_SLICES {
                    continue;
                }
                let mut slice_cost = self.slice_cost(&next);
                if slice_cost.excess >= now.excess {
                    continue;
                }
                if slice_cost.excess == 0.0 {
                    next = self.coarsest(next, label);
                    slice_cost = self.slice_cost(&next);
                }
                let overhead = ((self.price)(slice_cost.products * next.count(), next.count()) / cost).log2();
                let reduction = ((1.0 + now.excess) / (1.0 + slice_cost.excess)).log2() / 4.0;
                let score = match weights.reduction {
                    None => ((overhead + SLICE_WEIGHT) / reduction).max(f64::MIN_POSITIVE).ln(),
                    Some(weight) => overhead - weight * reduction,
                };
                let noise = weights.temperature * gumbel(weights.seed, [state.slices.len() as u64, label.0.into()]);
                let score = score - noise;
                if best.as_ref().is_none_or(|(least, ..)| score < *least) {
                    best = Some((score, next, slice_cost));
                }
            }
            (_, state, now) = best?;
        }
        Some(state)
    }

    /// Enlarges the pieces of one label as far as they fit.
    fn coarsest(&self, state: State, label: Label) -> State {
        let pieces = divisors(self.model.tree.extent(label));
        let fits = |&piece: &usize| self.slice_cost(&self.model.with(&state, label, piece)).excess == 0.0;
        // Memory grows with the piece.
        let fit = pieces.partition_point(fits);
        if fit == 0 { state } else { self.model.with(&state, label, pieces[fit - 1]) }
    }

    /// Enlarges pieces and replaces labels where that is cheaper.
    fn improved(&self, state: State) -> State {
        let mut state = self.coarser(state);
        let mut cost = self.cost(&state);
        for _ in 0..2 {
            let mut is_better = false;
            for old in state.slices.clone() {
                let without = self.model.with(&state, old.label, old.extent);
                for label in self.model.candidates(&without, self.target, self.forbidden) {
                    let next = self.model.with(&without, label, 1);
                    if self.slice_cost(&next).excess > 0.0 {
                        continue;
                    }
                    let next = self.coarsest(next, label);
                    let least = self.cost(&next);
                    if least < cost * (1.0 - 1e-9) {
                        (state, cost, is_better) = (next, least, true);
                    }
                }
            }
            if !is_better {
                break;
            }
            state = self.coarser(state);
            cost = self.cost(&state);
        }
        state
    }

    fn coarser(&self, mut state: State) -> State {
        for label in state.slices.clone().into_iter().map(|slice| slice.label) {
            state = self.coarsest(state, label);
        }
        state
    }
}

/// A sample of the Gumbel distribution, the same for the same arguments. The largest of several scores with such noise
/// is a random choice in proportion to their weights.
fn gumbel(seed: u64, numbers: [u64; 2]) -> f64 {
    let bits = xxh3_64_with_seed(numbers.map(u64::to_le_bytes).as_flattened(), seed) >> 11;
    let uniform = (bits as f64 + 0.5) / (1u64 << 53) as f64;
    -(-uniform.ln()).ln()
}
