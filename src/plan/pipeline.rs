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
//! operands, operands or results that are said to lie somewhere, and slices.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::choices::Choices;
use super::cost::Cost;
use super::dynamic::{Choice, considered};
use super::groups::Assigned;
use super::{Options, PipelineChoice};
use crate::algorithm::{Algorithm, Distributions};
use crate::dims::Label;
use crate::dist::Distribution;
use crate::machine::Machine;
use crate::tree::{NodeId, Step, Tree};

/// Batches that are tried, as far as there are so many indices.
const BATCHES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Batches of one run: schedules list the tasks of each.
const MOST_BATCHES: usize = 1 << 16;
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
        let nodes = self.contractions()?;
        let mut best: Option<Stages> = None;
        for label in self.labels(&nodes) {
            let extent = self.tree.extent(label);
            let (tried, groups) = match *pipeline {
                PipelineChoice::Of { batches, groups } => (vec![batches.max(1)], groups..=groups),
                _ => (BATCHES.to_vec(), 2..=usize::MAX),
            };
            for pieces in tried.into_iter().filter(|&pieces| pieces <= extent.min(MOST_BATCHES)) {
                for groups in self.groups(&nodes).into_iter().filter(|shares| groups.contains(&shares.len())) {
                    let Some(stages) = self.stages(&nodes, (label, pieces), &groups) else { continue };
                    if best.as_ref().is_none_or(|best| stages.pipeline.seconds < best.pipeline.seconds) {
                        best = Some(stages);
                    }
                }
            }
        }
        let asked = *pipeline != PipelineChoice::Auto;
        best.filter(|best| asked || best.pipeline.seconds < GAIN * seconds)
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
        all.filter(|&label| once(label) && nodes.iter().all(|&node| self.tree.nodes[node].labels.contains(&label)))
            .collect()
    }

    /// Ways to divide the contractions among groups: where each group's end, by number, and how many ranks it has.
    fn groups(&self, nodes: &[NodeId]) -> Vec<Vec<(usize, usize)>> {
        let work = |&node: &NodeId| match &self.tree.nodes[node].step {
            Step::Contract { kinds, .. } => {
                kinds.iter().map(|(label, _)| self.tree.extent(label) as f64).product::<f64>()
            }
            _ => 0.0,
        };
        let work: Vec<f64> = nodes.iter().map(work).collect();
        let most = nodes.len().min(self.machine.ranks);
        (2..=most).map(|groups| self.shares(&ends(&work, groups), &work)).collect()
    }

    /// Ranks for each group: one, and the rest to whoever has most work for each of its ranks. Where there are enough nodes, of whole
    /// nodes: then only batches go from one to the other.
    fn shares(&self, ends: &[usize], work: &[f64]) -> Vec<(usize, usize)> {
        let Machine { ranks, ranks_per_node, .. } = *self.machine;
        let whole = ranks.is_multiple_of(ranks_per_node) && ranks / ranks_per_node >= ends.len();
        let unit = if whole { ranks_per_node } else { 1 };
        let mut shares: Vec<(usize, usize)> = ends.iter().map(|&end| (end, unit)).collect();
        let start = |at: usize| if at == 0 { 0 } else { ends[at - 1] };
        for _ in ends.len()..ranks / unit {
            let load = |at: usize| work[start(at)..ends[at]].iter().sum::<f64>() / shares[at].1 as f64;
            let busiest = (0..ends.len()).max_by(|&a, &b| load(a).total_cmp(&load(b)).then(b.cmp(&a)));
            if let Some(busiest) = busiest {
                shares[busiest].1 += unit;
            }
        }
        shares
    }

    /// A pipeline with these batches and groups; `None` where a contraction has no algorithm.
    fn stages(&self, nodes: &[NodeId], batches: (Label, usize), groups: &[(usize, usize)]) -> Option<Stages> {
        let (label, pieces) = batches;
        let mut tree = self.tree.clone();
        tree.extents[label.0 as usize] = tree.extent(label).div_ceil(pieces);
        let mut contractions: Vec<Option<Assigned>> = tree.nodes.iter().map(|_| None).collect();
        let mut made: Vec<Option<Distribution>> = tree.nodes.iter().map(|_| None).collect();
        let (mut slowest, mut from, mut first) = (0.0f64, 0, 0);
        for &(end, ranks) in groups {
            let machine = self.machine.part(first..first + ranks);
            let cost = Cost { machine: &machine, dtype: self.options.dtype, extents: &tree.extents };
            let uncut = [label];
            let choices = Choices { tree: &tree, machine: &machine, options: self.options, cost, uncut: &uncut };
            let (mut compute, mut receive) = (0.0, 0.0);
            for &node in &nodes[from..end] {
                let Step::Contract { left, right, kinds } = &tree.nodes[node].step else { continue };
                let candidates = choices.candidates(node, kinds).ok()?.into_iter();
                let priced = candidates.map(|algorithm| {
                    let (needs, seconds) = choices.contraction(node, [*left, *right], &algorithm, [None, None]);
                    (algorithm, seconds, needs)
                });
                let mut priced: Vec<(Algorithm, f64, Distributions)> = priced.collect();
                priced.sort_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
                let (algorithm, seconds, needs) = priced.first().cloned()?;
                compute += seconds;
                // Of one batch; with those of the group before it.
                let mut considered =
                    considered(&tree, priced.iter().map(|(a, own, _)| (a, *own, compute - seconds + own)));
                considered.iter_mut().take(1).for_each(|first| first.chosen = true);
                // What groups before this one have made.
                let before = |input: &NodeId| nodes[..from].contains(input);
                let inputs = [(left, &needs.left), (right, &needs.right)];
                for (input, wanted) in inputs.into_iter().filter(|(input, _)| before(input)) {
                    let elements: usize = tree.shape(&tree.nodes[*input].labels).iter().product();
                    // Each of them gets its part from all who have made some.
                    let bytes = elements as f64 * self.options.dtype.size() as f64 / wanted.parts() as f64;
                    let messages = made[*input].as_ref().map_or(1, Distribution::places).max(1);
                    receive += messages as f64 * self.machine.link_latency + bytes / self.machine.link_bandwidth;
                }
                made[node] = Some(needs.out);
                let choice = Choice { algorithm: Some(algorithm), considered };
                contractions[node] = Some((first..first + ranks, choice));
            }
            slowest = slowest.max(compute.max(receive));
            (from, first) = (end, first + ranks);
        }
        let seconds = (pieces + groups.len() - 1) as f64 * slowest;
        let pipeline = Pipeline { label, pieces, groups: groups.len(), seconds };
        Some(Stages { pipeline, contractions })
    }
}

/// Where to end so many ranges of some work, that of the most laborious as little as can be. Cost: the square of the number of
/// works for each range.
fn ends(work: &[f64], groups: usize) -> Vec<usize> {
    // least[g][n]: of the first n works in g + 1 ranges, what the most laborious has, and where the last begins.
    let sum = |range: Range<usize>| work[range].iter().sum::<f64>();
    let mut least: Vec<Vec<(f64, usize)>> = vec![(0..=work.len()).map(|end| (sum(0..end), 0)).collect()];
    for group in 1..groups {
        let row = (0..=work.len()).map(|end| {
            let ways = (group..end).map(|start| (least[group - 1][start].0.max(sum(start..end)), start));
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

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn work_is_divided_evenly() {
        assert_eq!(ends(&[1.0, 1.0, 1.0], 3), [1, 2, 3]);
        assert_eq!(ends(&[1.0, 1.0, 4.0, 1.0, 1.0], 3), [2, 3, 5]);
        assert_eq!(ends(&[5.0, 1.0, 1.0, 1.0], 2), [1, 4]);
        assert_eq!(ends(&[1.0, 2.0], 1), [2]);
    }
}
