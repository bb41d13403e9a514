//! Selects the algorithms for a tree by dynamic programming over the distributions of intermediates.
//!
//! A node's table has, for every distribution in which some algorithm can leave its tensor, the lowest price of the
//! subtree, with redistributions (at the root, also that of the result).
//!
//! Guarantee: no combination of candidates is cheaper by the [`Objective`], unless tables are truncated: above
//! [`MAX_FULL_TABLE_NODES`] nodes to a few entries, and above [`MAX_PRUNED_TABLE_NODES`] to one, so that algorithms
//! ignore the nodes above.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::algorithm_search_space::{SearchSpace, UnaryPlacement};
use super::candidates::busy;
use super::error::PlanError;
use super::structure::Candidate;
use crate::algorithm::{Algorithm, Objective, Price};
use crate::dims::{Kinds, Label};
use crate::distribution::Distribution;
use crate::tree::{NodeId, Step, Tree, inputs};

const MAX_FULL_TABLE_NODES: usize = 64;
const MAX_PRUNED_TABLE_NODES: usize = 4096;
const PRUNED_TABLE_ENTRIES: usize = 8;
const MAX_CONSIDERED: usize = 8;

/// Candidates that receive no less than this fraction are not explained.
const MUCH_LESS: f64 = 0.98;

#[derive(Debug, Clone)]
struct Entry {
    distribution: Distribution,
    /// For the whole subtree.
    price: Price,
    /// For the node's own step.
    own: Price,
    algorithm: Option<Algorithm>,
    /// The index into each input's table; 0 if free.
    inputs: [usize; 2],
}

/// The possible distributions of a tensor. `None` if the consumer chooses.
type Table = Option<Vec<Entry>>;

#[derive(Clone, Default)]
pub struct Choice {
    /// `None` unless a contraction.
    pub algorithm: Option<Algorithm>,
    /// `None` for all ranks.
    pub group: Option<Range<usize>>,
    pub considered: Vec<Candidate>,
}

pub struct Cheapest {
    pub price: Price,
    pub distribution: Distribution,
    pub contractions: Vec<(NodeId, Choice)>,
}

pub struct Tables {
    /// `None` until added.
    tables: Vec<Option<Table>>,
    considered: Vec<Vec<Candidate>>,
}

impl Tables {
    pub fn none(tree: &Tree) -> Tables {
        let nodes = tree.nodes.len();
        Tables { tables: vec![None; nodes], considered: vec![Vec::new(); nodes] }
    }

    /// Adds those of the subtree of `root`.
    pub fn add(&mut self, space: &SearchSpace, root: NodeId) -> Result<(), PlanError> {
        let SearchSpace { tree, options, .. } = space;
        let objective = options.objective;
        let keep = match tree.nodes.len() {
            steps if steps <= MAX_FULL_TABLE_NODES => usize::MAX,
            steps if steps <= MAX_PRUNED_TABLE_NODES => PRUNED_TABLE_ENTRIES,
            _ => 1,
        };
        let (mut subtree, mut at) = (vec![root], 0);
        while let Some(&node) = subtree.get(at) {
            subtree.extend(inputs(&tree.nodes[node].step).into_iter().flatten());
            at += 1;
        }
        subtree.sort_unstable();
        for node in subtree.into_iter().filter(|&node| self.tables[node].is_none()).collect::<Vec<_>>() {
            let mut table = AlgorithmSearch { space, tables: self }.table(node)?;
            if let Some(entries) = &mut table {
                entries.sort_by(|a, b| objective.compare(a.price, b.price));
                self.considered[node] = shown(entries, space);
                let by_own_cost = |a: &Entry, b: &Entry| objective.compare(a.own, b.own);
                let contracts = matches!(tree.nodes[node].step, Step::Contract { .. });
                let all = std::mem::take(entries).into_iter();
                *entries = if contracts && space.arguments.step_by_step {
                    all.min_by(by_own_cost).into_iter().collect()
                } else {
                    best(all, keep)
                };
            }
            self.tables[node] = Some(table);
        }
        Ok(())
    }

    fn entries(&self, node: NodeId) -> Option<&[Entry]> {
        self.tables[node].as_ref()?.as_deref()
    }

    /// `None` if the consumer chooses.
    pub fn cheapest(&self, tree: &Tree, node: NodeId) -> Option<Cheapest> {
        let first = self.entries(node)?.first()?;
        let (price, distribution) = (first.price, first.distribution.clone());
        Some(Cheapest { price, distribution, contractions: self.chosen(tree, node, 0) })
    }

    fn chosen(&self, tree: &Tree, node: NodeId, entry: usize) -> Vec<(NodeId, Choice)> {
        let mut chosen = Vec::new();
        let mut open: Vec<(NodeId, usize)> = vec![(node, entry)];
        while let Some((node, entry)) = open.pop() {
            let Some(entries) = self.entries(node) else { continue };
            let entry = &entries[entry];
            if let Some(algorithm) = &entry.algorithm {
                let how = describe(tree, algorithm);
                let mut considered = self.considered[node].clone();
                for candidate in &mut considered {
                    let pairs = [(candidate.contraction, entry.own), (candidate.whole, entry.price)];
                    candidate.fewest_bytes &= pairs.iter().all(|(less, chosen)| less.bytes < MUCH_LESS * chosen.bytes);
                    if alike(candidate, &how) {
                        let (how, algorithm) = (how.clone(), algorithm.clone());
                        let (contraction, whole, chosen) = (entry.own, entry.price, true);
                        *candidate = Candidate { how, algorithm, contraction, whole, chosen, ..*candidate };
                    }
                }
                let mut listed = 0..MAX_CONSIDERED;
                considered.retain(|candidate| listed.next().is_some() || candidate.fewest_bytes);
                chosen.push((node, Choice { algorithm: Some(algorithm.clone()), group: None, considered }));
            }
            open.extend(inputs(&tree.nodes[node].step).into_iter().flatten().zip(entry.inputs));
        }
        chosen
    }
}

pub fn algorithms(space: &SearchSpace) -> Result<Vec<Choice>, PlanError> {
    let SearchSpace { tree, cost, options, .. } = space;
    let (mut tables, root) = (Tables::none(tree), tree.root());
    tables.add(space, root)?;
    let mut chosen: Vec<Choice> = tree.nodes.iter().map(|_| Choice::default()).collect();
    let Some(entries) = tables.entries(root) else { return Ok(chosen) };
    let labels = &tree.nodes[root].labels;
    let whole = |entry: &Entry| {
        let wanted = options.fixed.output.as_ref();
        let redistributed = wanted.map(|wanted| cost.redistribution(labels, &entry.distribution, wanted));
        entry.price + redistributed.unwrap_or_default()
    };
    let compare = |&a: &usize, &b: &usize| options.objective.compare(whole(&entries[a]), whole(&entries[b]));
    if let Some(entry) = (0..entries.len()).min_by(compare) {
        for (node, choice) in tables.chosen(tree, root, entry) {
            chosen[node] = choice;
        }
    }
    Ok(chosen)
}

/// The first entry for each distribution, at most `keep`. `entries` must be sorted, cheapest first.
fn best(entries: impl Iterator<Item = Entry>, keep: usize) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::new();
    for entry in entries {
        if kept.len() < keep && kept.iter().all(|other| other.distribution != entry.distribution) {
            kept.push(entry);
        }
    }
    kept
}

fn describe(tree: &Tree, algorithm: &Algorithm) -> String {
    algorithm.describe(|label| tree.name(label).to_owned())
}

/// Whether a candidate has this description, except for the order of a grid's cuts.
fn alike(candidate: &Candidate, how: &str) -> bool {
    let letters = |how: &str| how.bytes().collect::<BinaryHeap<_>>().into_sorted_vec();
    candidate.how == how || matches!(candidate.algorithm, Algorithm::Grid(_)) && letters(&candidate.how) == letters(how)
}

pub fn considered<'a>(tree: &Tree, priced: impl Iterator<Item = (&'a Algorithm, Price, Price)>) -> Vec<Candidate> {
    let mut considered: Vec<Candidate> = Vec::new();
    for (algorithm, contraction, whole) in priced {
        let how = describe(tree, algorithm);
        if considered.len() < MAX_CONSIDERED && !considered.iter().any(|other| alike(other, &how)) {
            let algorithm = algorithm.clone();
            considered.push(Candidate { how, algorithm, contraction, whole, chosen: false, fewest_bytes: false });
        }
    }
    considered
}

/// [`considered`], and the entry with the fewest bytes for the subtree among those for [`Objective::Bytes`].
fn shown(entries: &[Entry], space: &SearchSpace) -> Vec<Candidate> {
    let SearchSpace { tree, machine, .. } = space;
    let priced = || entries.iter().filter_map(|entry| Some((entry.algorithm.as_ref()?, entry.own, entry.price)));
    let mut shown = considered(tree, priced());
    let kept = busy(priced().collect(), |(algorithm, ..)| algorithm, &tree.extents, machine.ranks).into_iter();
    let fewest = kept.min_by(|(_, _, a), (_, _, b)| Objective::Bytes.compare(*a, *b));
    for fewest in considered(tree, fewest.into_iter()) {
        let is_fewest = |candidate: &Candidate| alike(candidate, &fewest.how);
        if !shown.iter().any(is_fewest) {
            shown.push(fewest.clone());
        }
        shown.iter_mut().for_each(|candidate| candidate.fewest_bytes = is_fewest(candidate));
    }
    shown
}

struct AlgorithmSearch<'a> {
    space: &'a SearchSpace<'a>,
    tables: &'a Tables,
}

impl AlgorithmSearch<'_> {
    fn labels(&self, node: NodeId) -> &[Label] {
        &self.space.tree.nodes[node].labels
    }

    fn table(&self, node: NodeId) -> Result<Table, PlanError> {
        Ok(match &self.space.tree.nodes[node].step {
            Step::Leaf { .. } => self.space.fixed(node).map(|distribution| {
                let (price, own) = (Price::default(), Price::default());
                vec![Entry { distribution, price, own, algorithm: None, inputs: [0; 2] }]
            }),
            Step::Unary { input, .. } => self.tables.entries(*input).map(|entries| self.unary(node, *input, entries)),
            Step::Contract { left, right, kinds } => Some(self.contract(node, [*left, *right], kinds)?),
        })
    }

    fn unary(&self, node: NodeId, input: NodeId, entries: &[Entry]) -> Vec<Entry> {
        let step = |(at, entry): (usize, &Entry)| {
            let UnaryPlacement { step, after, prices: [before, own, last], .. } =
                self.space.unary(self.labels(input), self.labels(node), &entry.distribution);
            let own = before + own + last;
            Entry {
                distribution: after.unwrap_or(step),
                price: entry.price + own,
                own,
                algorithm: None,
                inputs: [at, 0],
            }
        };
        entries.iter().enumerate().map(step).collect()
    }

    fn contract(&self, node: NodeId, inputs: [NodeId; 2], kinds: &Kinds) -> Result<Vec<Entry>, PlanError> {
        // If an algorithm accepts any distributions, the inputs have their cheapest.
        let input_distributions =
            inputs.map(|input| self.tables.entries(input)?.first().map(|entry| &entry.distribution));
        let mut options_by_input: [Vec<(Distribution, Price, usize)>; 2] = [Vec::new(), Vec::new()];
        let mut entries = Vec::new();
        for algorithm in self.space.candidates(node, kinds)? {
            let (needs, own) = self.space.contraction(node, inputs, &algorithm, input_distributions);
            let mut price = own;
            let mut from = [0; 2];
            for (side, wanted) in [needs.left, needs.right].into_iter().enumerate() {
                let best = match options_by_input[side].iter().find(|(known, ..)| *known == wanted) {
                    Some((_, price, entry)) => (*price, *entry),
                    None => {
                        let (price, entry) = self.bring(inputs[side], &wanted);
                        options_by_input[side].push((wanted, price, entry));
                        (price, entry)
                    }
                };
                price = price + best.0;
                from[side] = best.1;
            }
            entries.push(Entry { distribution: needs.out, price, own, algorithm: Some(algorithm), inputs: from });
        }
        Ok(entries)
    }

    fn bring(&self, input: NodeId, wanted: &Distribution) -> (Price, usize) {
        let labels = self.labels(input);
        let Some(entries) = self.tables.entries(input) else {
            return (self.space.redistribution(labels, &self.space.before(input, wanted), wanted), 0);
        };
        let objective = self.space.options.objective;
        let mut best: Option<(Price, usize)> = None;
        for (at, Entry { price, distribution, .. }) in entries.iter().enumerate() {
            let better = |price: Price| best.is_none_or(|(best, _)| objective.compare(price, best).is_lt());
            // Entries are sorted by price.
            if !better(*price) {
                break;
            }
            let price = *price + self.space.redistribution(labels, distribution, wanted);
            if better(price) {
                best = Some((price, at));
            }
        }
        best.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
