//! Independent subtrees that run at the same time, each on ranks of its own.
//!
//! ```text
//! [ab,bc->ac],[cd,de->ce]->ae on 4 ranks       ranks 0, 1            ranks 2, 3
//!                                              ab,bc->ac             cd,de->ce
//!                                              ac,ce->ae on all four
//! ```
//!
//! If only work counted, running the subtrees one after another on all ranks would take as long. But small contractions
//! move less data and start fewer transfers among few ranks. From the root downwards, the ranks of a step are either
//! divided between its inputs in proportion to the work of their subtrees, or stay together, whichever is faster. A
//! subtree whose ranks stay together is planned as if it were alone ([`super::algorithm_selection`]).
//!
//! Deliberately absent: groups that are not ranges of ranks, divisions other than by work, and prescribed distributions
//! of operands or result.

use std::collections::BTreeMap;
use std::ops::Range;

use super::algorithm_selection::{Cheapest, Choice, Tables, considered};
use super::context::PlanningContext;
use super::options::{Options, PipelineChoice};
use crate::algorithm::Cost;
use crate::distribution::Distribution;
use crate::machine::Machine;
use crate::tree::{NodeId, Step, Tree};

/// The most nodes of a tree for which groups are considered.
const MAX_NODES: usize = 256;
/// The most group sizes for which the whole tree is planned.
const MAX_GROUP_SIZES: usize = 12;

/// Divides ranks among subtrees.
pub struct Grouping<'a> {
    pub tree: &'a Tree,
    pub machine: &'a Machine,
    pub options: &'a Options,
}

/// A planned subtree: the ranks and the algorithms of its contractions.
struct PlannedSubtree {
    seconds: f64,
    /// The distribution of its tensor; `None` if it is free.
    distribution: Option<Distribution>,
    contractions: Vec<(NodeId, Range<usize>, Choice)>,
}

/// A contraction's ranks and algorithm.
pub type Assigned = (Range<usize>, Choice);

impl<'a> Grouping<'a> {
    /// Returns the ranks and the algorithm of each contraction, by node; `None` if the options rule groups out or all
    /// contractions use all ranks.
    pub fn best(&self) -> Option<Vec<Option<Assigned>>> {
        let Options { pipeline, algorithm, fixed, memory_limit, forbid_redistribution, cut, step_by_step, .. } =
            self.options;
        let plain = algorithm.is_none() && fixed.is_empty() && memory_limit.is_none() && cut.is_empty();
        let steps = self.tree.nodes.len();
        if !plain || *forbid_redistribution || *step_by_step || self.machine.ranks < 2 || steps > MAX_NODES {
            return None;
        }
        if matches!(pipeline, PipelineChoice::Of { .. }) || !(0..steps).any(|node| self.forks(node)) {
            return None;
        }
        let mut search = GroupSearch { grouping: self, work: self.work(), planned: BTreeMap::new() };
        let subtree = search.plan_subtree(self.tree.root(), &(0..self.machine.ranks))?;
        if subtree.contractions.iter().all(|(_, ranks, _)| ranks.len() == self.machine.ranks) {
            return None;
        }
        let mut contractions: Vec<Option<Assigned>> = (0..steps).map(|_| None).collect();
        for (node, ranks, choice) in subtree.contractions {
            contractions[node] = Some((ranks, choice));
        }
        Some(contractions)
    }

    /// Whether a step is a contraction and there are contractions below both of its inputs.
    fn forks(&self, node: NodeId) -> bool {
        match self.tree.nodes[node].step {
            Step::Contract { left, right, .. } => self.contracts(left) && self.contracts(right),
            _ => false,
        }
    }

    /// Whether there is a contraction in a subtree.
    fn contracts(&self, mut node: NodeId) -> bool {
        loop {
            match self.tree.nodes[node].step {
                Step::Leaf { .. } => return false,
                Step::Unary { input, .. } => node = input,
                Step::Contract { .. } => return true,
            }
        }
    }

    /// By node, the number of multiply-adds of all contractions in its subtree.
    fn work(&self) -> Vec<f64> {
        let mut work: Vec<f64> = Vec::with_capacity(self.tree.nodes.len());
        for node in &self.tree.nodes {
            work.push(match &node.step {
                Step::Leaf { .. } => 0.0,
                Step::Unary { input, .. } => work[*input],
                Step::Contract { left, right, kinds } => {
                    let products = kinds.iter().map(|(label, _)| self.tree.extent(label) as f64).product::<f64>();
                    work[*left] + work[*right] + products
                }
            });
        }
        work
    }

    fn on<T>(&self, ranks: usize, run: impl FnOnce(&PlanningContext) -> T) -> T {
        // A plan for any range of this many ranks, so without the speeds of particular ranks.
        let machine = Machine { speeds: Vec::new(), ..self.machine.part(0..ranks) };
        let cost = Cost { machine: &machine, dtype: self.options.dtype, extents: &self.tree.extents };
        run(&PlanningContext { tree: self.tree, machine: &machine, options: self.options, cost, uncut: &[] })
    }
}

struct GroupSearch<'a> {
    grouping: &'a Grouping<'a>,
    work: Vec<f64>,
    /// By number of ranks, the tables of the whole tree.
    planned: BTreeMap<usize, Tables>,
}

impl GroupSearch<'_> {
    /// Plans a subtree on some ranks in the faster of two ways: all of them share every step, or the subtrees of its
    /// inputs are planned separately. `None`: a contraction has no candidates, or there are more than
    /// [`MAX_GROUP_SIZES`] group sizes.
    fn plan_subtree(&mut self, node: NodeId, ranks: &Range<usize>) -> Option<PlannedSubtree> {
        let tree = self.grouping.tree;
        if let Step::Unary { input, .. } = tree.nodes[node].step {
            return Some(PlannedSubtree { distribution: None, ..self.plan_subtree(input, ranks)? });
        }
        let Step::Contract { left, right, .. } = tree.nodes[node].step else {
            return Some(PlannedSubtree { seconds: 0.0, distribution: None, contractions: Vec::new() });
        };
        let shared_plan = self.shared_plan(node, ranks)?;
        if !self.forks_below(node) {
            return Some(shared_plan);
        }
        let shares = if self.grouping.forks(node) && ranks.len() > 1 {
            let share = self.work[left] / (self.work[left] + self.work[right]).max(f64::MIN_POSITIVE);
            let middle = (ranks.len() as f64 * share).round().clamp(1.0, ranks.len() as f64 - 1.0) as usize;
            [ranks.start..ranks.start + middle, ranks.start + middle..ranks.end]
        } else {
            [ranks.clone(), ranks.clone()]
        };
        let separate_plan = self.separate_plan(node, ranks, [left, right], &shares);
        Some(separate_plan.filter(|separate_plan| separate_plan.seconds < shared_plan.seconds).unwrap_or(shared_plan))
    }

    fn forks_below(&self, node: NodeId) -> bool {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            match self.grouping.tree.nodes[node].step {
                Step::Leaf { .. } => {}
                Step::Unary { input, .. } => open.push(input),
                Step::Contract { .. } if self.grouping.forks(node) => return true,
                Step::Contract { left, right, .. } => open.extend([left, right]),
            }
        }
        false
    }

    fn shared_plan(&mut self, node: NodeId, ranks: &Range<usize>) -> Option<PlannedSubtree> {
        if !self.planned.contains_key(&ranks.len()) {
            if self.planned.len() == MAX_GROUP_SIZES {
                return None;
            }
            let tables = self.grouping.on(ranks.len(), |context| Tables::new(context).ok())?;
            self.planned.insert(ranks.len(), tables);
        }
        let Cheapest { seconds, distribution, contractions } =
            self.planned[&ranks.len()].cheapest(self.grouping.tree, node)?;
        let distribution = Some(distribution.moved(0, ranks.start));
        let contractions = contractions.into_iter().map(|(node, choice)| (node, ranks.clone(), choice)).collect();
        Some(PlannedSubtree { seconds, distribution, contractions })
    }

    fn separate_plan(
        &mut self,
        node: NodeId,
        ranks: &Range<usize>,
        inputs: [NodeId; 2],
        shares: &[Range<usize>; 2],
    ) -> Option<PlannedSubtree> {
        let [left, right] = [self.plan_subtree(inputs[0], &shares[0])?, self.plan_subtree(inputs[1], &shares[1])?];
        let tree = self.grouping.tree;
        let Step::Contract { kinds, .. } = &tree.nodes[node].step else { return None };
        let priced = self.grouping.on(ranks.len(), |context| {
            let candidates = context.candidates(node, kinds).ok()?.into_iter();
            let priced = candidates.map(|algorithm| {
                let (needs, mut seconds) = context.contraction(node, inputs, &algorithm, [None, None]);
                for (subtree, (input, wanted)) in
                    [&left, &right].into_iter().zip(inputs.iter().zip([needs.left, needs.right]))
                {
                    let wanted = wanted.moved(0, ranks.start);
                    let labels = &tree.nodes[*input].labels;
                    seconds += subtree
                        .distribution
                        .as_ref()
                        .map_or(0.0, |distribution| context.cost.redistribution(labels, distribution, &wanted));
                }
                (seconds, needs.out.moved(0, ranks.start), algorithm)
            });
            let mut priced: Vec<_> = priced.collect();
            priced.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
            Some(priced)
        })?;
        let (own, distribution, algorithm) = priced.first().cloned()?;
        let both = if shares[0] == shares[1] { left.seconds + right.seconds } else { left.seconds.max(right.seconds) };
        let mut considered = considered(tree, priced.iter().map(|(own, _, algorithm)| (algorithm, *own, both + own)));
        considered.iter_mut().take(1).for_each(|first| first.chosen = true);
        let choice = Choice { algorithm: Some(algorithm), considered };
        let mut contractions = left.contractions;
        contractions.extend(right.contractions);
        contractions.push((node, ranks.clone(), choice));
        Some(PlannedSubtree { seconds: both + own, distribution: Some(distribution), contractions })
    }
}
