//! Searches for labels to slice, with the model of [`slice_model`](super::slice_model) (`docs/trees.md`).
//!
//! Guarantee: the same tree and target give the same slices, which fit in the model.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::slice::{MAX_SLICES, divisors};
use super::slice_model::{Model, SliceCost, State};
use crate::dims::Label;

const TRIALS: u64 = 24;

/// Trials without noise, which run first, one per weight.
const WITHOUT_NOISE: u64 = 4;

const MAX_VISITS: usize = 300_000_000;

/// Node visits per trial and node: ten rounds of sixty labels.
const VISITS_PER_NODE: usize = 600;

/// Added to the cost, so that labels sliced at no cost differ.
const SLICE_WEIGHT: f64 = 0.01;

/// From the operations in all slices, and the number of slices.
pub type Price = dyn Fn(f64, f64) -> f64;

#[derive(Clone, Copy)]
struct Weights {
    /// `None`: the added cost divided by the reduction of the excess. `Some(factor)`: the cost minus the factor times
    /// the reduction.
    reduction: Option<f64>,
    /// The factor of the noise.
    temperature: f64,
    seed: u64,
}

/// Distinct sets of slices with which no step has more than `target` live elements, cheapest first.
pub fn slices(model: &Model, target: f64, forbidden: &[Label], price: &Price) -> Vec<State> {
    let nodes = model.tree.nodes.len();
    let trials = TRIALS.min((MAX_VISITS / (VISITS_PER_NODE * nodes).max(1)).max(4) as u64);
    let search = SliceSearch { model, target, forbidden, price };
    let mut found: Vec<(f64, State)> = Vec::new();
    for trial in 0..trials {
        // Noise would not help either.
        if trial == WITHOUT_NOISE && found.is_empty() {
            break;
        }
        let reduction = [None, Some(0.5), Some(1.0), Some(2.0)][trial as usize % 4];
        let temperature = [0.0, 0.1, 0.3, 0.03, 0.6, 0.2][trial as usize / 4 % 6];
        let Some(state) = search.trial(Weights { reduction, temperature, seed: trial }) else { continue };
        let mut state = search.improved(state);
        // Equal sets then compare equal; costs do not depend on the order.
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
                    next = self.enlarge_piece(next, label);
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

    fn enlarge_piece(&self, state: State, label: Label) -> State {
        let pieces = divisors(self.model.tree.extent(label));
        let fits = |&piece: &usize| self.slice_cost(&self.model.with(&state, label, piece)).excess == 0.0;
        // Slices with larger pieces need more memory, so the pieces that fit come first.
        let fit = pieces.partition_point(fits);
        if fit == 0 { state } else { self.model.with(&state, label, pieces[fit - 1]) }
    }

    fn improved(&self, state: State) -> State {
        let mut state = self.enlarge_pieces(state);
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
                    let next = self.enlarge_piece(next, label);
                    let least = self.cost(&next);
                    if least < cost * (1.0 - 1e-9) {
                        (state, cost, is_better) = (next, least, true);
                    }
                }
            }
            if !is_better {
                break;
            }
            state = self.enlarge_pieces(state);
            cost = self.cost(&state);
        }
        state
    }

    fn enlarge_pieces(&self, mut state: State) -> State {
        for label in state.slices.clone().into_iter().map(|slice| slice.label) {
            state = self.enlarge_piece(state, label);
        }
        state
    }
}

/// A Gumbel sample, fixed by the arguments. The index of the largest log weight plus sample is random in proportion to
/// the weights.
fn gumbel(seed: u64, numbers: [u64; 2]) -> f64 {
    let bits = xxh3_64_with_seed(numbers.map(u64::to_le_bytes).as_flattened(), seed) >> 11;
    let uniform = (bits as f64 + 0.5) / (1u64 << 53) as f64;
    -(-uniform.ln()).ln()
}
