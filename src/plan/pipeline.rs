//! Batches that follow each other through the steps of a tree, each step with ranks of its own.
//!
//! ```text
//! [bi,ij->bj],jk->bk on 2 ranks, b in 3 batches        rank 0              rank 1
//!                                                      bi,ij->bj of 0      -
//!                                                      bi,ij->bj of 1      bj,jk->bk of 0
//!                                                      bi,ij->bj of 2      bj,jk->bk of 1
//!                                                      -                   bj,jk->bk of 2
//! ```
//!
//! With s groups and b batches a run takes b + s - 1 times its slowest step of a batch, computing or receiving, whichever takes
//! longer. Operands of one step, such as its weights, stay with its ranks and do not move: that is what pipelines are for.
//!
//! Invariant: steps run in the order of the tree; a group has one or more that follow each other, and groups are ranges of ranks
//! one behind another. Deliberately absent: steps that do not have the batches' dimension, other unary steps than those over
//! operands, operands or results that are said to lie somewhere, slices, and more than [`MOST_GROUPS`] groups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::algorithm_selection::{Choice, considered};
use super::context::PlanningContext;
use super::cost::Cost;
use super::groups::Assigned;
use super::{Options, PipelineChoice};
use crate::algorithm::{Algorithm, Distributions};
use crate::dims::{Kinds, Label};
use crate::distribution::Distribution;
use crate::machine::Machine;
use crate::tree::{NodeId, Step, Tree};

/// Batches that are tried, as far as there are so many indices.
const BATCHES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Batches of one run: schedules list the tasks of each.
const MOST_BATCHES: usize = 1 << 16;
/// Groups that are tried at most.
const MOST_GROUPS: usize = 256;
/// How much less time than without it must take: what is predicted of it is less certain.
const GAIN: f64 = 0.8;

/// Batches of a dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// No step sums it.
    pub label: Label,
    /// Even tiles of it.
    pub pieces: usize,
    /// Groups of ranks.
    pub groups: usize,
    /// Predicted, of a run.
    pub seconds: f64,
}

/// A pipeline, and who does what in it.
pub struct Stages {
    pub pipeline: Pipeline,
    /// By node, for contractions.
    pub contractions: Vec<Option<Assigned>>,
}

/// What a pipeline is planned for.
pub struct Pipelining<'a> {
    pub tree: &'a Tree,
    pub machine: &'a Machine,
    pub options: &'a Options,
}

impl Pipelining<'_> {
    /// The quickest pipeline, if there is one that takes clearly less than `seconds`, or that is asked for.
    pub fn best(&self, seconds: f64) -> Option<Stages> {
        let Options { pipeline, algorithm, fixed, memory_limit, forbid_redistribution, cut, step_by_step, .. } =
            self.options;
        let plain =
            algorithm.is_none() && fixed.is_empty() && memory_limit.is_none() && cut.is_empty() && !step_by_step;
        if *pipeline == PipelineChoice::Off || !plain || *forbid_redistribution || self.machine.ranks < 2 {
            return None;
        }
        // Where nothing is summed there is nothing to overlap, and zeros of a batch would say nothing of their place.
        if self.tree.extents.contains(&0) {
            return None;
        }
        let nodes = self.contractions()?;
        let labels = self.labels(&nodes);
        if labels.is_empty() {
            return None;
        }
        let (tried, groups) = match *pipeline {
            PipelineChoice::Of { batches, groups } => (vec![batches.max(1)], groups..groups.saturating_add(1)),
            _ => (BATCHES.to_vec(), 2..MOST_GROUPS + 1),
        };
        let divisions = self.groups(&nodes, groups);
        let mut numbers: Vec<Option<usize>> = vec![None; self.tree.nodes.len()];
        nodes.iter().enumerate().for_each(|(number, &node)| numbers[node] = Some(number));
        // Whatever is not quicker than this is none.
        let mut least = if *pipeline == PipelineChoice::Auto { GAIN * seconds } else { f64::INFINITY };
        let mut best = None;
        for label in labels {
            for &pieces in tried.iter().filter(|&&pieces| pieces <= self.tree.extent(label).min(MOST_BATCHES)) {
                let batched = Batched::new(self, label, pieces);
                for groups in &divisions {
                    if let Some(seconds) = batched.seconds((&nodes, &numbers), groups, least) {
                        least = seconds;
                        best = Some((label, pieces, groups));
                    }
                }
            }
        }
        let (label, pieces, groups) = best?;
        Batched::new(self, label, pieces).stages(&nodes, groups, least)
    }

    /// The contractions, if all other steps are over operands and there are several.
    fn contractions(&self) -> Option<Vec<NodeId>> {
        let nodes = &self.tree.nodes;
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

    /// Dimensions that all contractions have and none sums, and that are no diagonal of an operand.
    fn labels(&self, nodes: &[NodeId]) -> Vec<Label> {
        let Some(&first) = nodes.first() else { return Vec::new() };
        let all = self.tree.nodes[first].labels.iter().copied();
        let once = |label: Label| {
            self.tree.nodes.iter().all(|node| node.labels.iter().filter(|&&other| other == label).count() <= 1)
        };
        all.filter(|&label| nodes.iter().all(|&node| self.tree.nodes[node].labels.contains(&label)) && once(label))
            .collect()
    }

    /// Ways to divide the contractions among so many groups: where each group's end, by number, and how many ranks it has.
    fn groups(&self, nodes: &[NodeId], wanted: Range<usize>) -> Vec<Vec<(usize, usize)>> {
        let work: Vec<f64> = nodes.iter().map(|&node| self.tree.products(node)).collect();
        let most = nodes.len().min(self.machine.ranks).min(wanted.end.saturating_sub(1));
        let divisions = Divisions::new(&work, most);
        (wanted.start.max(2)..most + 1).map(|groups| self.shares(&divisions.ends(groups), &work)).collect()
    }

    /// Ranks for each group: one, and the rest to whoever has most work for each of its ranks. Where there are enough nodes, of whole
    /// nodes: then only batches go from one to the other.
    fn shares(&self, ends: &[usize], work: &[f64]) -> Vec<(usize, usize)> {
        let Machine { ranks, ranks_per_node, .. } = *self.machine;
        let whole = ranks.is_multiple_of(ranks_per_node) && ranks / ranks_per_node >= ends.len();
        let unit = if whole { ranks_per_node } else { 1 };
        let mut shares: Vec<(usize, usize)> = ends.iter().map(|&end| (end, unit)).collect();
        let starts = [0].iter().chain(ends);
        let works: Vec<f64> = starts.zip(ends).map(|(&start, &end)| work[start..end].iter().sum()).collect();
        // Work is no less than 0, and such numbers are in the order of their bits; the first of equals has its turn.
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

/// A tree of one batch, to price the steps of pipelines by.
struct Batched<'a> {
    machine: &'a Machine,
    options: &'a Options,
    tree: Tree,
    label: Label,
    pieces: usize,
}

impl<'a> Batched<'a> {
    fn new(pipelining: &Pipelining<'a>, label: Label, pieces: usize) -> Batched<'a> {
        let Pipelining { machine, options, .. } = *pipelining;
        let mut tree = pipelining.tree.clone();
        tree.extents[label.0 as usize] = tree.extent(label).div_ceil(pieces);
        Batched { machine, options, tree, label, pieces }
    }

    /// What a run takes whose slowest group takes so long for a batch.
    fn run(&self, slowest: f64, groups: usize) -> f64 {
        (self.pieces + groups - 1) as f64 * slowest
    }

    /// Seconds of a run with these groups, if less than `least`. Gives up at the first group with which it is not.
    fn seconds(
        &self,
        (nodes, numbers): (&[NodeId], &[Option<usize>]),
        groups: &[(usize, usize)],
        least: f64,
    ) -> Option<f64> {
        // Where groups before have left what they made.
        let mut made: Vec<Distribution> = Vec::new();
        let (mut slowest, mut from, mut first) = (0.0f64, 0, 0);
        for &(end, ranks) in groups {
            let (mut compute, mut receive) = (0.0, 0.0);
            self.on(first..first + ranks, |choices| {
                for &node in &nodes[from..end] {
                    let Step::Contract { left, right, kinds } = &self.tree.nodes[node].step else { continue };
                    let (_, seconds, needs) = cheapest(priced(choices, node, [*left, *right], kinds)?)?;
                    compute += seconds;
                    let inputs = [(*left, &needs.left), (*right, &needs.right)];
                    for (input, wanted) in inputs {
                        let Some(before) = numbers[input].filter(|&number| number < from) else { continue };
                        let labels = &self.tree.nodes[input].labels;
                        let elements: usize = self.tree.shape(labels).iter().product();
                        // Each of them gets its part from all who have made some.
                        let bytes = elements as f64 * self.options.dtype.size() as f64 / wanted.parts() as f64;
                        let messages = made[before].places().max(1);
                        receive += messages as f64 * self.machine.link_latency + bytes / self.machine.link_bandwidth;
                    }
                    made.push(needs.out);
                    if self.run(slowest.max(compute.max(receive)), groups.len()) >= least {
                        return None;
                    }
                }
                Some(())
            })?;
            slowest = slowest.max(compute.max(receive));
            (from, first) = (end, first + ranks);
        }
        Some(self.run(slowest, groups.len()))
    }

    /// The pipeline with these groups, whose run takes so long; `None` where a contraction has no algorithm.
    fn stages(&self, nodes: &[NodeId], groups: &[(usize, usize)], seconds: f64) -> Option<Stages> {
        let mut contractions: Vec<Option<Assigned>> = self.tree.nodes.iter().map(|_| None).collect();
        let (mut from, mut first) = (0, 0);
        for &(end, ranks) in groups {
            let mut compute = 0.0;
            self.on(first..first + ranks, |choices| {
                for &node in &nodes[from..end] {
                    let Step::Contract { left, right, kinds } = &self.tree.nodes[node].step else { continue };
                    let mut priced = priced(choices, node, [*left, *right], kinds)?;
                    priced.sort_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
                    let (algorithm, seconds, _) = priced.first().cloned()?;
                    compute += seconds;
                    // Of one batch; with those of the group before it.
                    let shown = priced.iter().map(|(a, own, _)| (a, *own, compute - seconds + own));
                    let mut considered = considered(&self.tree, shown);
                    considered.iter_mut().take(1).for_each(|first| first.chosen = true);
                    let choice = Choice { algorithm: Some(algorithm), considered };
                    contractions[node] = Some((first..first + ranks, choice));
                }
                Some(())
            })?;
            (from, first) = (end, first + ranks);
        }
        let pipeline = Pipeline { label: self.label, pieces: self.pieces, groups: groups.len(), seconds };
        Some(Stages { pipeline, contractions })
    }

    fn on<T>(&self, ranks: Range<usize>, run: impl FnOnce(&PlanningContext) -> T) -> T {
        let machine = self.machine.part(ranks);
        let cost = Cost { machine: &machine, dtype: self.options.dtype, extents: &self.tree.extents };
        let uncut = [self.label];
        run(&PlanningContext { tree: &self.tree, machine: &machine, options: self.options, cost, uncut: &uncut })
    }
}

/// An algorithm, its seconds, and where it has its tensors.
type Priced = (Algorithm, f64, Distributions);

/// What could contract a node; `None` where nothing can.
fn priced(choices: &PlanningContext, node: NodeId, inputs: [NodeId; 2], kinds: &Kinds) -> Option<Vec<Priced>> {
    let candidates = choices.candidates(node, kinds).ok()?.into_iter();
    let priced = candidates.map(|algorithm| {
        let (needs, seconds) = choices.contraction(node, inputs, &algorithm, [None, None]);
        (algorithm, seconds, needs)
    });
    Some(priced.collect())
}

/// The first of the cheapest.
fn cheapest(priced: Vec<Priced>) -> Option<Priced> {
    priced.into_iter().min_by(|(_, a, _), (_, b, _)| a.total_cmp(b))
}

/// Where to end ranges of some work one behind another, that of the most laborious as little as can be, for any number of ranges.
struct Divisions {
    works: usize,
    /// `starts[g - 1][n]`: of the first n works in g + 1 ranges, where the last one begins.
    starts: Vec<Vec<usize>>,
}

impl Divisions {
    /// Up to so many ranges. Cost: the number of works for each of them.
    fn new(work: &[f64], most: usize) -> Divisions {
        let mut sums = Vec::with_capacity(work.len() + 1);
        sums.push(0.0);
        work.iter().fold(0.0, |sum, work| {
            sums.push(sum + work);
            sum + work
        });
        // Where the works without any before each place begin.
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
                // From here on the ranges before the last one have more work than the last one has, and ever more.
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

    /// Where each of so many ranges ends.
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
mod tests {
    use super::Divisions;

    fn ends(work: &[f64], groups: usize) -> Vec<usize> {
        Divisions::new(work, groups).ends(groups)
    }

    /// All starts of the last range, one after the other.
    fn ends_by_trying(work: &[f64], groups: usize) -> Vec<usize> {
        let mut least: Vec<Vec<(f64, usize)>> =
            vec![(0..=work.len()).map(|end| (work[..end].iter().sum(), 0)).collect()];
        for group in 1..groups {
            let row = (0..=work.len()).map(|end| {
                let last = |start: usize| work[start..end].iter().sum::<f64>();
                let ways = (group..end).map(|start| (least[group - 1][start].0.max(last(start)), start));
                ways.min_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap_or((f64::INFINITY, end))
            });
            least.push(row.collect());
        }
        let mut ends = vec![work.len()];
        for group in (1..groups).rev() {
            let last = ends[ends.len() - 1];
            ends.push(least[group][last].1);
        }
        ends.reverse();
        ends
    }

    /// Few different works, so that many divisions are as good, and works of 0.
    #[test]
    fn divisions_are_the_first_of_the_best() {
        let mut state = 1u64;
        let mut below = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let (works, kinds) = (1 + below(12), 1 + below(5));
            let work: Vec<f64> = (0..works).map(|_| below(kinds) as f64).collect();
            let divisions = Divisions::new(&work, work.len());
            for groups in 1..=work.len() {
                assert_eq!(divisions.ends(groups), ends_by_trying(&work, groups), "{work:?} in {groups}");
            }
        }
    }

    #[test]
    fn work_is_divided_evenly() {
        assert_eq!(ends(&[1.0, 1.0, 1.0], 3), [1, 2, 3]);
        assert_eq!(ends(&[1.0, 1.0, 4.0, 1.0, 1.0], 3), [2, 3, 5]);
        assert_eq!(ends(&[5.0, 1.0, 1.0, 1.0], 2), [1, 4]);
        assert_eq!(ends(&[1.0, 2.0], 1), [2]);
    }
}
