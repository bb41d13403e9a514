//! The order with the fewest multiply-adds, by dynamic programming over sets of tensors, as in `opt_einsum`
//! (`docs/expressions.md`).
//!
//! A label is summed when its last tensor is contracted, and never if it is in the output.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::bits::{BitHasher, Bits};
use crate::greedy::multiply;
use crate::network::Labelled;

const EVALUATION_STEPS: u64 = 8;

/// So many sets occupy a few hundred megabytes.
const MAX_SETS: usize = 2_000_000;

/// The cap on costs grows by this each round.
const CAP_GROWTH: f64 = 4.0;

/// Relative tolerance of costs, which are rounded sums.
const COST_TOLERANCE: f64 = 1e-9;

/// Maximum steps of the second pass.
const OUTER_STEPS: u64 = 300_000_000;

/// What a search proved about the order, or which limit ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// No order has fewer multiply-adds.
    Optimal,
    /// No order has fewer multiply-adds, except possibly orders that multiply tensors without a common label before the
    /// end.
    OptimalConnected,
    /// The limit on steps was reached.
    Steps,
    /// The limit on sets was reached.
    Sets,
}

/// The best order found of at most 2^`known` multiply-adds, and the search's outcome.
///
/// Cost: at most `steps` pairs of sets, a few nanoseconds each.
pub fn optimal(network: Labelled, known: f64, steps: u64) -> (Option<Vec<[usize; 2]>>, Proof) {
    // A bit set contains tensors or labels.
    let labels = network.tensors.iter().flatten().collect::<std::collections::BTreeSet<_>>().len();
    match network.tensors.len().max(labels) {
        0..=64 => search::<1>(network, known, steps),
        65..=128 => search::<2>(network, known, steps),
        129..=256 => search::<4>(network, known, steps),
        257..=512 => search::<8>(network, known, steps),
        513..=1024 => search::<16>(network, known, steps),
        1025..=4096 => search::<64>(network, known, steps),
        _ => (None, Proof::Sets),
    }
}

fn search<const W: usize>(network: Labelled, known: f64, mut left: u64) -> (Option<Vec<[usize; 2]>>, Proof) {
    let count = network.tensors.len();
    let mut steps: Vec<[usize; 2]> = Vec::with_capacity(count);
    let (mut results, mut costs) = (Vec::new(), Vec::new());
    for part in parts(network) {
        let mut sets = Sets::<W>::new(network, part, known);
        match sets.connected(&mut left) {
            Ok(root) => {
                costs.push(sets.all[root].cost.log2() + known);
                let number = sets.append(root, count, &mut steps);
                results.push((sets.all[root].log2, number));
            }
            Err(proof) => return (None, proof),
        }
    }
    costs.extend(multiply(results, count, &mut steps));
    let connected = log2_sum(&costs);
    // Searches for any order cheaper than `connected`.
    let mut sets = Sets::<W>::new(network, (0..count).collect(), connected);
    let mut left = left.min(OUTER_STEPS);
    match sets.round(1.0 - COST_TOLERANCE, true, &mut left) {
        Ok(root) => {
            if let Some(root) = root {
                steps.clear();
                sets.append(root, count, &mut steps);
            }
            (Some(steps), Proof::Optimal)
        }
        Err(_) => (Some(steps), Proof::OptimalConnected),
    }
}

/// log2 of a sum of powers of 2; minus infinity if empty.
pub fn log2_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    largest + terms.iter().map(|term| (term - largest).exp2()).sum::<f64>().log2()
}

fn parts(network: Labelled) -> Vec<Vec<usize>> {
    let mut part: Vec<usize> = (0..network.tensors.len()).collect();
    let find = |part: &mut Vec<usize>, mut tensor: usize| {
        while part[tensor] != tensor {
            part[tensor] = part[part[tensor]];
            tensor = part[tensor];
        }
        tensor
    };
    let mut first: HashMap<u32, usize> = HashMap::new();
    for (tensor, labels) in network.tensors.iter().enumerate() {
        for &label in labels {
            let other = *first.entry(label).or_insert(tensor);
            let (one, other) = (find(&mut part, tensor), find(&mut part, other));
            part[one.max(other)] = one.min(other);
        }
    }
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for tensor in 0..network.tensors.len() {
        parts.entry(find(&mut part, tensor)).or_default().push(tensor);
    }
    parts.into_values().collect()
}

struct Set<const W: usize> {
    tensors: Bits<W>,
    labels: Bits<W>,
    /// log2 of the result's elements.
    log2: f64,
    /// Multiply-adds relative to `Sets::known`.
    cost: f64,
    /// The two sets that make this one; `None` for a single tensor.
    pair: Option<[u32; 2]>,
}

#[derive(Clone, Copy)]
struct Scanned<const W: usize> {
    tensors: Bits<W>,
    labels: Bits<W>,
    log2: f64,
    cost: f64,
    id: u32,
}

struct Sets<const W: usize> {
    all: Vec<Set<W>>,
    ids: HashMap<Bits<W>, u32, BuildHasherDefault<BitHasher>>,
    /// `levels[n]` lists sets of n + 1 tensors.
    levels: Vec<Vec<u32>>,
    /// Per label, numbered from 0 in this search: log2 of its extent, and its tensors. `kept` is the output's labels.
    extents: Vec<f64>,
    holders: Vec<Bits<W>>,
    kept: Bits<W>,
    numbers: Vec<usize>,
    /// log2 of a known order's multiply-adds, to which costs are relative.
    known: f64,
}

impl<const W: usize> Sets<W> {
    fn new(network: Labelled, numbers: Vec<usize>, known: f64) -> Sets<W> {
        let mut local: BTreeMap<u32, usize> = BTreeMap::new();
        for &label in numbers.iter().flat_map(|&number| &network.tensors[number]) {
            let next = local.len();
            local.entry(label).or_insert(next);
        }
        let mut extents = vec![0.0; local.len()];
        local.iter().for_each(|(&label, &at)| extents[at] = network.log2[label as usize]);
        let mut sets = Sets {
            all: Vec::new(),
            ids: HashMap::default(),
            levels: vec![Vec::new(); numbers.len()],
            holders: vec![Bits::default(); extents.len()],
            kept: network.output.iter().filter_map(|label| local.get(label)).fold(Bits::default(), |b, &at| b.with(at)),
            extents,
            numbers,
            // At least one multiply-add, so that relative costs are always defined.
            known: known.max(0.0),
        };
        for (tensor, &number) in sets.numbers.clone().iter().enumerate() {
            let labels = network.tensors[number].iter().fold(Bits::default(), |bits, label| bits.with(local[label]));
            labels.iter().for_each(|label| sets.holders[label] = sets.holders[label].with(tensor));
            let log2 = sets.log2(labels);
            sets.push(Set { tensors: Bits::default().with(tensor), labels, log2, cost: 0.0, pair: None }, 0);
        }
        sets
    }

    fn log2(&self, labels: Bits<W>) -> f64 {
        labels.iter().map(|label| self.extents[label]).sum()
    }

    fn push(&mut self, set: Set<W>, level: usize) {
        let id = self.all.len() as u32;
        self.ids.insert(set.tensors, id);
        self.levels[level].push(id);
        self.all.push(set);
    }

    fn connected(&mut self, left: &mut u64) -> Result<usize, Proof> {
        // Every tensor is contracted, so an order costs at least the largest tensor's size.
        let largest = self.all.iter().map(|set| set.log2).fold(0.0, f64::max);
        let mut cap = (largest - self.known).exp2().max(f64::MIN_POSITIVE) * CAP_GROWTH;
        loop {
            // Rounding must not exclude the known order.
            let last = cap >= 1.0 + COST_TOLERANCE;
            match self.round(cap.min(1.0 + COST_TOLERANCE), false, left)? {
                Some(root) => return Ok(root),
                // The known order pairs sets without a common label.
                None if last => return Err(Proof::OptimalConnected),
                None => cap *= CAP_GROWTH,
            }
        }
    }

    /// Pairs sets without a common label, too, if `outer`. Returns the set of all tensors if it was built.
    fn round(&mut self, cap: f64, outer: bool, left: &mut u64) -> Result<Option<usize>, Proof> {
        let count = self.levels.len();
        let mut scanned: Vec<Vec<Scanned<W>>> = vec![self.scan(0)];
        for level in 1..count {
            for small in 0..level.div_ceil(2) {
                self.pairs(&scanned, [small, level - 1 - small], (cap, outer), left)?;
            }
            scanned.push(self.scan(level));
        }
        Ok(self.levels[count - 1].first().map(|&id| id as usize))
    }

    fn scan(&self, level: usize) -> Vec<Scanned<W>> {
        let scanned = self.levels[level].iter().map(|&id| {
            let Set { tensors, labels, log2, cost, .. } = self.all[id as usize];
            Scanned { tensors, labels, log2, cost, id }
        });
        let mut scanned: Vec<Scanned<W>> = scanned.collect();
        scanned.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        scanned
    }

    fn pairs(
        &mut self,
        scanned: &[Vec<Scanned<W>>],
        levels: [usize; 2],
        (cap, outer): (f64, bool),
        left: &mut u64,
    ) -> Result<(), Proof> {
        let [ones, others] = levels.map(|level| &scanned[level]);
        for (at, one) in ones.iter().enumerate() {
            // Visits each pair of sets of equal size only once.
            let others = if levels[0] == levels[1] { &others[at + 1..] } else { others };
            let (mut seen, mut evaluated) = (0, 0);
            for other in others {
                if one.cost + other.cost > cap {
                    break;
                }
                seen += 1;
                if one.tensors.meets(&other.tensors) || !(outer || one.labels.meets(&other.labels)) {
                    continue;
                }
                evaluated += 1;
                self.evaluate(one, other, levels[0] + levels[1] + 1, cap);
            }
            // Checked once per `one`, so sets may slightly exceed their limit.
            let words = W.div_ceil(4) as u64;
            *left = left.checked_sub(1 + words * (seen + EVALUATION_STEPS * evaluated)).ok_or(Proof::Steps)?;
            if self.all.len() > MAX_SETS / W {
                return Err(Proof::Sets);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, one: &Scanned<W>, other: &Scanned<W>, level: usize, cap: f64) {
        let common = one.labels.and(&other.labels);
        let products = one.log2 + other.log2 - self.log2(common);
        let cost = one.cost + other.cost + (products - self.known).exp2();
        if cost > cap {
            return;
        }
        let tensors = one.tensors.or(&other.tensors);
        if let Some(&id) = self.ids.get(&tensors) {
            let set = &mut self.all[id as usize];
            if cost < set.cost {
                (set.cost, set.pair) = (cost, Some([one.id, other.id]));
            }
            return;
        }
        let is_summed = |label: &usize| !self.kept.has(*label) && self.holders[*label].within(&tensors);
        let summed = common.iter().filter(is_summed).fold(Bits::default(), Bits::with);
        let labels = one.labels.or(&other.labels).without(&summed);
        let log2 = self.log2(labels);
        // The next contraction costs at least a multiply-add per element of the result.
        let whole = level + 1 == self.levels.len();
        if whole || cost + (log2 - self.known).exp2() <= cap {
            self.push(Set { tensors, labels, log2, cost, pair: Some([one.id, other.id]) }, level);
        }
    }

    /// Returns the result's number; results count from `tensors`.
    fn append(&self, root: usize, tensors: usize, steps: &mut Vec<[usize; 2]>) -> usize {
        let mut reached = vec![root];
        let mut at = 0;
        while let Some(&id) = reached.get(at) {
            reached.extend(self.all[id].pair.iter().flatten().map(|&id| id as usize));
            at += 1;
        }
        // This puts a set after its parts.
        reached.sort_by_key(|&id| self.all[id].tensors.count());
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        for id in reached {
            let set = &self.all[id];
            let number = match set.pair {
                None => self.numbers[set.tensors.iter().next().unwrap_or_default()],
                Some(pair) => {
                    steps.push(pair.map(|id| numbers[&(id as usize)]));
                    tensors + steps.len() - 1
                }
            };
            numbers.insert(id, number);
        }
        numbers[&root]
    }
}

#[cfg(test)]
mod tests;
