//! Pipelines: batches pass through groups of steps, each with its own ranks (`docs/trees.md`).
//!
//! Invariant: groups are consecutive steps of the tree on consecutive ranges of ranks. The result of every contraction
//! has the batch dimension. There are no pipelines for unary steps on intermediates, slices, and prescribed
//! distributions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::algorithm_search_space::SearchSpace;
use super::algorithm_selection::{Choice, considered};
use super::candidates::SearchArguments;
use super::context::PlanningContext;
use super::distribute;
use super::error::PlanError;
use super::options::PipelineChoice;
use super::structure::{Pipeline, Plan};
use crate::algorithm::{Algorithm, Distributions, Price};
use crate::dims::{Kinds, Label};
use crate::distribution::Distribution;
use crate::machine::Machine;
use crate::tree::{NodeId, Step, Tree};

const BATCHES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Schedules list every batch.
const MAX_BATCHES: usize = 1 << 16;
const MAX_GROUPS: usize = 256;
/// A pipeline must take at most this fraction.
const MAX_TIME_SHARE: f64 = 0.8;

/// A plan with a pipeline if clearly faster or requested, else `plan`.
pub fn pipelined(context: &PlanningContext, space: &SearchSpace, plan: Plan) -> Result<Plan, PlanError> {
    let SearchSpace { tree, machine, options, arguments, .. } = *space;
    if !arguments.uncut.is_empty() {
        return Ok(plan);
    }
    let Some(Stages { pipeline, chosen }) = (Pipelining { space })
        .best(Price { seconds: plan.seconds() - machine.startup_seconds, bytes: plan.most_bytes() })
    else {
        return Ok(plan);
    };
    // Fewer bytes alone could leave all work to one group.
    if options.pipeline == PipelineChoice::Auto && pipeline.seconds > plan.seconds() {
        return Ok(plan);
    }
    let uncut = [pipeline.label];
    let space = SearchSpace::new(tree, machine, options, SearchArguments { uncut: &uncut, ..arguments });
    let pipelined = distribute::emit(context, &space, chosen, &[])?;
    Ok(Plan { pipeline: Some(pipeline), ungrouped: Some(plan.seconds()), ..pipelined })
}

/// `chosen` is indexed by node.
struct Stages {
    pipeline: Pipeline,
    chosen: Vec<Choice>,
}

struct Pipelining<'a> {
    space: &'a SearchSpace<'a>,
}

impl Pipelining<'_> {
    fn best(&self, plan: Price) -> Option<Stages> {
        let pipeline = self.space.options.pipeline;
        if pipeline == PipelineChoice::Off || !self.space.is_plain() || self.space.machine.ranks < 2 {
            return None;
        }
        // The verifier cannot tell the batch of an element without products.
        if self.space.tree.extents.contains(&0) {
            return None;
        }
        let nodes = self.contractions()?;
        let labels = self.labels(&nodes);
        if labels.is_empty() {
            return None;
        }
        let (tried, groups) = match pipeline {
            PipelineChoice::Of { batches, groups } => (vec![batches.max(1)], groups..groups.saturating_add(1)),
            _ => (BATCHES.to_vec(), 2..MAX_GROUPS + 1),
        };
        let divisions = self.groups(&nodes, groups);
        let mut numbers: Vec<Option<usize>> = vec![None; self.space.tree.nodes.len()];
        nodes.iter().enumerate().for_each(|(number, &node)| numbers[node] = Some(number));
        let mut least = match pipeline {
            PipelineChoice::Auto => Price { seconds: MAX_TIME_SHARE * plan.seconds, ..plan },
            _ => Price { seconds: f64::INFINITY, bytes: f64::INFINITY },
        };
        let mut best = None;
        for label in labels {
            for &pieces in tried.iter().filter(|&&pieces| pieces <= self.space.tree.extent(label).min(MAX_BATCHES)) {
                let batched = Batched::new(self, label, pieces);
                for groups in &divisions {
                    if let Some(price) = batched.price((&nodes, &numbers), groups, least) {
                        least = price;
                        best = Some((label, pieces, groups));
                    }
                }
            }
        }
        let (label, pieces, groups) = best?;
        Batched::new(self, label, pieces).stages(&nodes, groups, least.seconds)
    }

    fn contractions(&self) -> Option<Vec<NodeId>> {
        let nodes = &self.space.tree.nodes;
        let mut free = vec![true; nodes.len()];
        let mut contractions = Vec::new();
        for (id, node) in nodes.iter().enumerate() {
            match node.step {
                Step::Leaf { .. } => {}
                Step::Unary { input, .. } if free[input] => {}
                Step::Unary { .. } => return None,
                Step::Contract { .. } => {
                    free[id] = false;
                    contractions.push(id);
                }
            }
        }
        (contractions.len() > 1).then_some(contractions)
    }

    fn labels(&self, nodes: &[NodeId]) -> Vec<Label> {
        let Some(&first) = nodes.first() else { return Vec::new() };
        let all = self.space.tree.nodes[first].labels.iter().copied();
        let once = |label: Label| {
            self.space.tree.nodes.iter().all(|node| node.labels.iter().filter(|&&other| other == label).count() <= 1)
        };
        all.filter(|&label| {
            nodes.iter().all(|&node| self.space.tree.nodes[node].labels.contains(&label)) && once(label)
        })
        .collect()
    }

    /// By number of groups: the contraction after each group, and its ranks.
    fn groups(&self, nodes: &[NodeId], wanted: Range<usize>) -> Vec<Vec<(usize, usize)>> {
        let work: Vec<f64> = nodes.iter().map(|&node| self.space.tree.products(node)).collect();
        let most = nodes.len().min(self.space.machine.ranks).min(wanted.end.saturating_sub(1));
        let divisions = Divisions::new(&work, most);
        (wanted.start.max(2)..most + 1).map(|groups| self.shares(&divisions.ends(groups), &work)).collect()
    }

    /// One rank per group, and each other to the group with the most work per rank. With enough compute nodes, none is
    /// shared.
    fn shares(&self, ends: &[usize], work: &[f64]) -> Vec<(usize, usize)> {
        let Machine { ranks, ranks_per_node, .. } = *self.space.machine;
        let whole = ranks.is_multiple_of(ranks_per_node) && ranks / ranks_per_node >= ends.len();
        let unit = if whole { ranks_per_node } else { 1 };
        let mut shares: Vec<(usize, usize)> = ends.iter().map(|&end| (end, unit)).collect();
        let starts = [0].iter().chain(ends);
        let works: Vec<f64> = starts.zip(ends).map(|(&start, &end)| work[start..end].iter().sum()).collect();
        // Nonnegative floats are ordered like their bit patterns.
        let load = |at: usize, ranks: usize| ((works[at] / ranks as f64).to_bits(), Reverse(at));
        let mut loads: BinaryHeap<_> = (0..ends.len()).map(|at| load(at, unit)).collect();
        for _ in ends.len()..ranks / unit {
            if let Some((_, Reverse(busiest))) = loads.pop() {
                shares[busiest].1 += unit;
                loads.push(load(busiest, shares[busiest].1));
            }
        }
        shares
    }
}

struct Batched<'a> {
    space: &'a SearchSpace<'a>,
    tree: Tree,
    label: Label,
    pieces: usize,
}

impl<'a> Batched<'a> {
    fn new(pipelining: &Pipelining<'a>, label: Label, pieces: usize) -> Batched<'a> {
        let space = pipelining.space;
        let mut tree = space.tree.clone();
        tree.extents[label.0 as usize] = tree.extent(label).div_ceil(pieces);
        Batched { space, tree, label, pieces }
    }

    fn run(&self, slowest: Price, groups: usize) -> Price {
        let Price { seconds, bytes } = slowest;
        Price { seconds: (self.pieces + groups - 1) as f64 * seconds, bytes: self.pieces as f64 * bytes }
    }

    /// `None` unless less than `least`.
    fn price(
        &self,
        (nodes, numbers): (&[NodeId], &[Option<usize>]),
        groups: &[(usize, usize)],
        least: Price,
    ) -> Option<Price> {
        // Distributions of results, by contraction number.
        let mut made: Vec<Distribution> = Vec::new();
        let (mut slowest, mut from, mut first) = (Price::default(), 0, 0);
        for &(end, ranks) in groups {
            let (mut compute, mut receive) = (Price::default(), Price::default());
            // Computing and receiving overlap.
            let both = |a: Price, b: Price| Price { seconds: a.seconds.max(b.seconds), bytes: a.bytes + b.bytes };
            self.on(first..first + ranks, |space| {
                for &node in &nodes[from..end] {
                    let Step::Contract { left, right, kinds } = &self.tree.nodes[node].step else { continue };
                    let (_, price, needs) = priced(space, node, [*left, *right], kinds)?.into_iter().next()?;
                    compute = compute + price;
                    let inputs = [(*left, &needs.left), (*right, &needs.right)];
                    for (input, wanted) in inputs {
                        let Some(before) = numbers[input].filter(|&number| number < from) else { continue };
                        let labels = &self.tree.nodes[input].labels;
                        let elements: usize = self.tree.shape(labels).iter().product();
                        // One message from every rank with part of the block.
                        let bytes = elements as f64 * self.space.options.dtype.size() as f64 / wanted.parts() as f64;
                        let messages = made[before].places().max(1);
                        let latency = messages as f64 * self.space.machine.link_latency;
                        let seconds = latency + bytes / self.space.machine.busy_bandwidth();
                        receive = receive + Price { seconds, bytes };
                    }
                    made.push(needs.out);
                    let run = self.run(slowest.max(both(compute, receive)), groups.len());
                    if space.options.objective.compare(run, least).is_ge() {
                        return None;
                    }
                }
                Some(())
            })?;
            slowest = slowest.max(both(compute, receive));
            (from, first) = (end, first + ranks);
        }
        Some(self.run(slowest, groups.len()))
    }

    fn stages(&self, nodes: &[NodeId], groups: &[(usize, usize)], seconds: f64) -> Option<Stages> {
        let mut chosen = vec![Choice::default(); self.tree.nodes.len()];
        let (mut from, mut first) = (0, 0);
        for &(end, ranks) in groups {
            let mut compute = Price::default();
            self.on(first..first + ranks, |space| {
                for &node in &nodes[from..end] {
                    let Step::Contract { left, right, kinds } = &self.tree.nodes[node].step else { continue };
                    let priced = priced(space, node, [*left, *right], kinds)?;
                    let (algorithm, price, _) = priced.first().cloned()?;
                    let before = compute;
                    compute = compute + price;
                    // Per batch, alone and with those before it in the group.
                    let shown = priced.iter().map(|(a, own, _)| (a, *own, before + *own));
                    let mut considered = considered(&self.tree, shown);
                    considered.iter_mut().take(1).for_each(|first| first.chosen = true);
                    chosen[node] = Choice { algorithm: Some(algorithm), group: Some(first..first + ranks), considered };
                }
                Some(())
            })?;
            (from, first) = (end, first + ranks);
        }
        let pipeline = Pipeline { label: self.label, pieces: self.pieces, groups: groups.len(), seconds };
        Some(Stages { pipeline, chosen })
    }

    fn on<T>(&self, ranks: Range<usize>, run: impl FnOnce(&SearchSpace) -> T) -> T {
        let SearchSpace { machine, options, arguments, .. } = *self.space;
        let (machine, uncut) = (machine.part(ranks), [self.label]);
        run(&SearchSpace::new(&self.tree, &machine, options, SearchArguments { uncut: &uncut, ..arguments }))
    }
}

type Priced = (Algorithm, Price, Distributions);

/// Cheapest first.
fn priced(space: &SearchSpace, node: NodeId, inputs: [NodeId; 2], kinds: &Kinds) -> Option<Vec<Priced>> {
    let candidates = space.candidates(node, kinds).ok()?.into_iter();
    let priced = candidates.map(|algorithm| {
        let (needs, price) = space.contraction(node, inputs, &algorithm, [None, None]);
        (algorithm, price, needs)
    });
    let mut priced: Vec<Priced> = priced.collect();
    priced.sort_by(|(_, a, _), (_, b, _)| space.options.objective.compare(*a, *b));
    Some(priced)
}

/// Consecutive ranges with the smallest largest sum, for every number up to a maximum.
struct Divisions {
    works: usize,
    /// `starts[g - 1][n]` is where the last of g + 1 ranges of the first n amounts of work starts.
    starts: Vec<Vec<usize>>,
}

impl Divisions {
    /// Cost: O(n x `most`) for n amounts of work.
    fn new(work: &[f64], most: usize) -> Divisions {
        let mut sums = Vec::with_capacity(work.len() + 1);
        sums.push(0.0);
        work.iter().fold(0.0, |sum, work| {
            sums.push(sum + work);
            sum + work
        });
        // `idle[n]` is the start of the zeros in `work` that end before index n.
        let mut idle: Vec<usize> = Vec::with_capacity(work.len() + 1);
        for at in 0..=work.len() {
            idle.push(if at > 0 && work[at - 1] == 0.0 { idle[at - 1] } else { at });
        }
        let mut least = sums.clone();
        let mut starts = Vec::with_capacity(most.saturating_sub(1));
        for group in 1..most {
            let mut cross = group;
            let row = (0..=work.len()).map(|end| {
                if end <= group {
                    return (f64::INFINITY, end);
                }
                let last = |start: usize| sums[end] - sums[start];
                // From `cross` on, the largest range before the last has no less work than the last, and only grows.
                while cross < end && least[cross] < last(cross) {
                    cross += 1;
                }
                match cross.checked_sub(1).filter(|&start| start >= group) {
                    Some(start) if cross == end || last(start) <= least[cross] => (last(start), idle[start].max(group)),
                    _ => (least[cross], cross),
                }
            });
            let (next, row): (Vec<f64>, Vec<usize>) = row.unzip();
            least = next;
            starts.push(row);
        }
        Divisions { works: work.len(), starts }
    }

    fn ends(&self, ranges: usize) -> Vec<usize> {
        let mut ends = vec![self.works];
        for group in (1..ranges).rev() {
            let last = ends[ends.len() - 1];
            ends.push(self.starts[group - 1][last]);
        }
        ends.reverse();
        ends
    }
}

#[cfg(test)]
mod tests;
