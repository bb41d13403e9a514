//! One independent part of a search: a start, annealing, subtree reconfiguration, and slices if there is a limit.
//!
//! Invariant: the solution depends only on the chain, the network and the settings.

use crate::bits::Bits;
use crate::greedy::{GreedyParameters, best_of_random, greedy};
use crate::network::Prepared;
use crate::partition::partitioned;
use crate::random::Random;
use crate::reconfigure::Tables;
use crate::tree::{Price, Tree};
use crate::window::Large;

/// Networks with more words of labels are annealed in windows.
pub const MAX_WORDS_AT_ONCE: usize = 32;

/// A contraction order with its slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Contractions; the i-th result has the number (tensors) + i.
    pub steps: Vec<[usize; 2]>,
    /// Sliced labels as indices into [`Prepared::originals`], ascending.
    pub sliced: Vec<usize>,
    /// log2 of the price over all slices.
    pub price: f64,
    /// log2 of the multiply-adds over all slices.
    pub products: f64,
    /// log2 of the elements that all contractions read and write, over all slices.
    pub elements: f64,
    /// log2 of the elements of one slice's largest intermediate.
    pub largest: f64,
}

impl Solution {
    pub(crate) fn unpriced(steps: Vec<[usize; 2]>) -> Solution {
        Solution { steps, sliced: Vec::new(), price: 0.0, products: 0.0, elements: 0.0, largest: 0.0 }
    }
}

#[derive(Debug, Clone)]
pub enum Start {
    Greedy(GreedyParameters),
    /// The best of so many greedy orders with random parameters.
    Random(usize),
    /// Recursive bisection with this imbalance.
    Partition(f64),
    From(Solution),
}

#[derive(Debug, Clone)]
pub struct Chain {
    pub start: Start,
    pub seed: u64,
    /// The first inverse temperature.
    pub hot: f64,
    /// Nominal seconds, without the first order.
    pub seconds: f64,
}

/// What all chains of a search share.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What contractions cost.
    pub price: Price,
    /// log2 of a result's maximum elements in one slice; infinite without slices.
    pub limit: f64,
}

const COLD: f64 = 15.0;

/// A chain's share for the order before slices.
const UNSLICED_SHARE: f64 = 0.4;

/// Share of annealing in the part without slices; the rest is for reconfiguration.
const ANNEAL_SHARE: f64 = 0.85;

const SLICE_ROUNDS: usize = 8;

const SUBTREE: usize = 8;

const MAX_PASSES: usize = 8;

/// Nominal seconds per tensor that slicing, which is necessary, may take beyond the chain's length.
const SLICING_SECONDS: f64 = 1e-3;

/// Tensors in a window of a large network, and nominal seconds for annealing it.
const WINDOW: usize = 120;
const WINDOW_SECONDS: f64 = 1e-3;

impl Chain {
    pub fn of(steps: &[[usize; 2]]) -> Chain {
        Chain { start: Start::From(Solution::unpriced(steps.to_vec())), seed: 7, hot: COLD, seconds: 0.0 }
    }

    pub fn run(&self, network: &Prepared, settings: Settings) -> Solution {
        let words = network.labels().div_ceil(64);
        if words <= MAX_WORDS_AT_ONCE {
            return self.run_at_once(network, settings, words);
        }
        let slices = settings.limit.is_finite();
        let seconds = if slices { UNSLICED_SHARE * self.seconds } else { self.seconds };
        let whole = self.run_in_windows(network, settings, seconds);
        if whole.largest <= settings.limit {
            return whole;
        }
        // The widest trees do not fit into caches, so the order is only adapted to the slices.
        let rest = Chain { start: Start::From(whole), seconds: self.seconds - seconds, hot: COLD, seed: self.seed };
        rest.run_at_once(network, settings, words)
    }

    fn run_at_once(&self, network: &Prepared, settings: Settings, words: usize) -> Solution {
        match words {
            0..=1 => Run::<1>::new(self, network, settings).finish(self.hot),
            2 => Run::<2>::new(self, network, settings).finish(self.hot),
            3..=4 => Run::<4>::new(self, network, settings).finish(self.hot),
            5..=8 => Run::<8>::new(self, network, settings).finish(self.hot),
            9..=16 => Run::<16>::new(self, network, settings).finish(self.hot),
            17..=32 => Run::<32>::new(self, network, settings).finish(self.hot),
            33..=64 => Run::<64>::new(self, network, settings).finish(self.hot),
            65..=128 => Run::<128>::new(self, network, settings).finish(self.hot),
            129..=256 => Run::<256>::new(self, network, settings).finish(self.hot),
            257..=512 => Run::<512>::new(self, network, settings).finish(self.hot),
            _ => self.run_in_windows(network, settings, self.seconds),
        }
    }

    fn first_order(&self, network: &Prepared, random: &mut Random) -> Vec<[usize; 2]> {
        match &self.start {
            Start::Greedy(parameters) => greedy(network.labelled(), *parameters).1,
            Start::Random(tries) => best_of_random(network.labelled(), *tries, random),
            Start::Partition(imbalance) => partitioned(network, *imbalance, random),
            Start::From(solution) => solution.steps.clone(),
        }
    }

    fn run_in_windows(&self, network: &Prepared, settings: Settings, seconds: f64) -> Solution {
        let mut random = Random::new(self.seed);
        let steps = self.first_order(network, &mut random);
        let mut large = Large::new(network, &steps, settings);
        while large.effort < seconds {
            large.improve(WINDOW, WINDOW_SECONDS, &mut random);
        }
        large.solution()
    }
}

struct Run<'a, const W: usize> {
    tree: Tree<'a, W>,
    tables: Tables<W>,
    random: Random,
    seconds: f64,
    limit: f64,
}

impl<'a, const W: usize> Run<'a, W> {
    fn new(chain: &Chain, network: &'a Prepared, settings: Settings) -> Run<'a, W> {
        let mut random = Random::new(chain.seed);
        let mut tree = Tree::new(network, &chain.first_order(network, &mut random), settings.price);
        if let Start::From(solution) = &chain.start {
            let mut sliced = Bits::default();
            solution.sliced.iter().for_each(|&label| sliced.insert(label));
            tree.set_sliced(sliced);
        }
        Run { tree, tables: Tables::new(), random, seconds: chain.seconds, limit: settings.limit }
    }

    fn finish(mut self, hot: f64) -> Solution {
        let unsliced = self.tree.sliced == Bits::default();
        if unsliced {
            let share = if self.limit.is_finite() { UNSLICED_SHARE } else { 1.0 };
            let known = self.tree.clone();
            self.anneal(hot, ANNEAL_SHARE * share * self.seconds, f64::INFINITY);
            self.polish(share * self.seconds, f64::INFINITY);
            if known.total() < self.tree.total() {
                self.restore(&known);
            }
        }
        if self.tree.largest() > self.limit || !unsliced {
            self.slice_and_improve();
        }
        Solution {
            steps: self.tree.steps(),
            sliced: self.tree.sliced.iter().collect(),
            price: price(&self.tree),
            products: self.tree.log2_products(),
            elements: self.tree.log2_elements(),
            largest: self.tree.largest(),
        }
    }

    /// Makes another tree the current one. The effort stays spent.
    fn restore(&mut self, other: &Tree<'a, W>) {
        let effort = self.tree.effort;
        self.tree.clone_from(other);
        self.tree.effort = effort;
    }

    fn slice_and_improve(&mut self) {
        self.slice(0.0);
        let begin = self.tree.effort;
        let each = (self.seconds - begin).max(0.0) / SLICE_ROUNDS as f64;
        self.polish(begin + each, self.limit);
        let mut best = self.tree.clone();
        for round in 1..=SLICE_ROUNDS {
            let end = begin + each * round as f64;
            if self.tree.effort >= end {
                continue;
            }
            // A random part of the labels is chosen again after annealing without these slices.
            let share = 0.1 + 0.5 * self.random.uniform();
            let mut sliced = best.sliced;
            best.sliced.iter().filter(|_| self.random.uniform() < share).for_each(|label| sliced.remove(label));
            self.restore(&best);
            self.tree.set_sliced(sliced);
            let hot = 2.0 + 6.0 * self.random.uniform();
            let half = f64::midpoint(self.tree.effort, end);
            self.anneal(hot, half, f64::INFINITY);
            let noise = 0.3 * self.random.uniform();
            self.slice(noise);
            self.anneal(hot, half + 0.8 * (end - half), self.limit);
            self.tree.drop_needless_slices(self.limit);
            self.polish(end, self.limit);
            let fits = self.tree.largest() <= self.limit;
            if fits && (best.largest() > self.limit || price(&self.tree) < price(&best)) {
                best.clone_from(&self.tree);
            }
        }
        self.restore(&best);
    }

    /// Anneals until the chain has spent `end` nominal seconds. The last sweep is always cold.
    fn anneal(&mut self, hot: f64, end: f64, limit: f64) {
        let begin = self.tree.effort;
        while self.tree.effort < end {
            let part = (self.tree.effort - begin) / (end - begin);
            self.tree.anneal(hot + (COLD - hot) * part, limit, &mut self.random);
        }
        self.tree.anneal(COLD, limit, &mut self.random);
    }

    fn polish(&mut self, end: f64, limit: f64) {
        for _ in 0..MAX_PASSES {
            if !self.tree.reconfigure(SUBTREE, limit, end, &mut self.random, &mut self.tables) {
                return;
            }
        }
    }

    fn slice(&mut self, noise: f64) {
        let end = self.tree.effort + SLICING_SECONDS * self.tree.leaves as f64;
        while self.tree.largest() > self.limit && self.tree.effort < end {
            let Some(label) = self.tree.label_to_slice(self.limit, noise, &mut self.random) else { return };
            let mut sliced = self.tree.sliced;
            sliced.insert(label);
            self.tree.set_sliced(sliced);
            (0..2).for_each(|_| self.tree.anneal(COLD, self.limit, &mut self.random));
        }
        self.tree.drop_needless_slices(self.limit);
    }
}

/// log2 of the price over all slices.
fn price<const W: usize>(tree: &Tree<W>) -> f64 {
    tree.total().log2() + tree.log2_slices()
}
