//! Runs independent subtrees on disjoint groups of ranks.
//!
//! ```text
//! [ab,bc->ac],[cd,de->ce]->ae on 4 ranks       ranks 0, 1            ranks 2, 3
//!                                              ab,bc->ac             cd,de->ce
//!                                              ac,ce->ae on all four
//! ```
//!
//! From the root down, ranks are divided between both inputs in proportion to their work, or kept together for
//! [`super::algorithm_selection`], whichever is faster.
//!
//! Groups are ranges of ranks. Prescribed distributions rule them out.

use std::collections::BTreeMap;
use std::ops::Range;

use super::algorithm_search_space::SearchSpace;
use super::algorithm_selection::{Cheapest, Choice, Tables, considered};
use super::context::PlanningContext;
use super::error::PlanError;
use super::options::PipelineChoice;
use super::structure::Plan;
use super::{distribute, lower};
use crate::algorithm::{Objective, Price};
use crate::distribution::Distribution;
use crate::machine::Machine;
use crate::tree::{NodeId, Step, inputs};

const MAX_NODES: usize = 256;
const MAX_GROUP_SIZES: usize = 12;

/// The plan with groups if it is better, and if faster, transfers no more bytes.
pub fn grouped(context: &PlanningContext, space: &SearchSpace, plan: Plan) -> Result<Plan, PlanError> {
    if !space.arguments.uncut.is_empty() || plan.pipeline.is_some() {
        return Ok(plan);
    }
    let Some(chosen) = (Grouping { space }).best() else { return Ok(plan) };
    let grouped = distribute::emit(context, space, chosen, &[])?;
    let receives_no_more = || lower::all_bytes_received(&grouped) <= lower::all_bytes_received(&plan);
    let better = grouped.beats(&plan) && (plan.objective == Objective::Bytes || receives_no_more());
    Ok(if better { Plan { ungrouped: Some(plan.seconds()), ..grouped } } else { plan })
}

struct Grouping<'a> {
    space: &'a SearchSpace<'a>,
}

struct PlannedSubtree {
    price: Price,
    /// `None` unless the root is a contraction.
    distribution: Option<Distribution>,
    contractions: Vec<(NodeId, Range<usize>, Choice)>,
}

impl<'a> Grouping<'a> {
    fn best(&self) -> Option<Vec<Choice>> {
        let SearchSpace { tree, machine, options, .. } = self.space;
        let (pipeline, steps) = (options.pipeline, tree.nodes.len());
        if !self.space.is_plain() || machine.ranks < 2 || steps > MAX_NODES {
            return None;
        }
        if matches!(pipeline, PipelineChoice::Of { .. }) || !(0..steps).any(|node| self.forks(node)) {
            return None;
        }
        let mut search = GroupSearch { grouping: self, work: self.work(), planned: BTreeMap::new() };
        let subtree = search.plan_subtree(tree.root(), &(0..machine.ranks))?;
        if subtree.contractions.iter().all(|(_, ranks, _)| ranks.len() == machine.ranks) {
            return None;
        }
        let mut chosen = vec![Choice::default(); steps];
        for (node, ranks, choice) in subtree.contractions {
            chosen[node] = Choice { group: Some(ranks), ..choice };
        }
        Some(chosen)
    }

    fn forks(&self, node: NodeId) -> bool {
        match self.space.tree.nodes[node].step {
            Step::Contract { left, right, .. } => self.contracts(left) && self.contracts(right),
            _ => false,
        }
    }

    fn contracts(&self, mut node: NodeId) -> bool {
        loop {
            match self.space.tree.nodes[node].step {
                Step::Leaf { .. } => return false,
                Step::Unary { input, .. } => node = input,
                Step::Contract { .. } => return true,
            }
        }
    }

    fn work(&self) -> Vec<f64> {
        let tree = self.space.tree;
        let mut work: Vec<f64> = Vec::with_capacity(tree.nodes.len());
        for (id, node) in tree.nodes.iter().enumerate() {
            let below: f64 = inputs(&node.step).into_iter().flatten().map(|input| work[input]).sum();
            work.push(below + tree.products(id));
        }
        work
    }

    fn on<T>(&self, ranks: usize, run: impl FnOnce(&SearchSpace) -> T) -> T {
        // The plan must suit every range of this many ranks.
        let machine = Machine { speeds: Vec::new(), ..self.space.machine.part(0..ranks) };
        if machine == *self.space.machine { run(self.space) } else { run(&self.space.on(&machine)) }
    }
}

struct GroupSearch<'a> {
    grouping: &'a Grouping<'a>,
    work: Vec<f64>,
    /// By number of ranks.
    planned: BTreeMap<usize, Tables>,
}

impl GroupSearch<'_> {
    fn plan_subtree(&mut self, node: NodeId, ranks: &Range<usize>) -> Option<PlannedSubtree> {
        let tree = self.grouping.space.tree;
        if let Step::Unary { input, .. } = tree.nodes[node].step {
            return Some(PlannedSubtree { distribution: None, ..self.plan_subtree(input, ranks)? });
        }
        let Step::Contract { left, right, .. } = tree.nodes[node].step else {
            return Some(PlannedSubtree { price: Price::default(), distribution: None, contractions: Vec::new() });
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
        let objective = self.grouping.space.options.objective;
        let better = separate_plan.filter(|plan| objective.compare(plan.price, shared_plan.price).is_lt());
        Some(better.unwrap_or(shared_plan))
    }

    fn forks_below(&self, node: NodeId) -> bool {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if self.grouping.forks(node) {
                return true;
            }
            open.extend(inputs(&self.grouping.space.tree.nodes[node].step).into_iter().flatten());
        }
        false
    }

    fn shared_plan(&mut self, node: NodeId, ranks: &Range<usize>) -> Option<PlannedSubtree> {
        let tree = self.grouping.space.tree;
        if !self.planned.contains_key(&ranks.len()) && self.planned.len() == MAX_GROUP_SIZES {
            return None;
        }
        let tables = self.planned.entry(ranks.len()).or_insert_with(|| Tables::none(tree));
        self.grouping.on(ranks.len(), |space| tables.add(space, node).ok())?;
        let Cheapest { price, distribution, contractions } = tables.cheapest(tree, node)?;
        let distribution = Some(distribution.moved(0, ranks.start));
        let contractions = contractions.into_iter().map(|(node, choice)| (node, ranks.clone(), choice)).collect();
        Some(PlannedSubtree { price, distribution, contractions })
    }

    fn separate_plan(
        &mut self,
        node: NodeId,
        ranks: &Range<usize>,
        inputs: [NodeId; 2],
        shares: &[Range<usize>; 2],
    ) -> Option<PlannedSubtree> {
        let [left, right] = [self.plan_subtree(inputs[0], &shares[0])?, self.plan_subtree(inputs[1], &shares[1])?];
        let tree = self.grouping.space.tree;
        let Step::Contract { kinds, .. } = &tree.nodes[node].step else { return None };
        let priced = self.grouping.on(ranks.len(), |space| {
            let candidates = space.candidates(node, kinds).ok()?.into_iter();
            let priced = candidates.map(|algorithm| {
                let (needs, mut price) = space.contraction(node, inputs, &algorithm, [None, None]);
                for (subtree, (input, wanted)) in
                    [&left, &right].into_iter().zip(inputs.iter().zip([needs.left, needs.right]))
                {
                    let wanted = wanted.moved(0, ranks.start);
                    let labels = &tree.nodes[*input].labels;
                    let at = subtree.distribution.as_ref();
                    price = price + at.map(|at| space.redistribution(labels, at, &wanted)).unwrap_or_default();
                }
                (price, needs.out.moved(0, ranks.start), algorithm)
            });
            let mut priced: Vec<_> = priced.collect();
            priced.sort_by(|(a, ..), (b, ..)| space.options.objective.compare(*a, *b));
            Some(priced)
        })?;
        let (own, distribution, algorithm) = priced.first().cloned()?;
        let both = if shares[0] == shares[1] { left.price + right.price } else { left.price.max(right.price) };
        let mut considered = considered(tree, priced.iter().map(|(own, _, algorithm)| (algorithm, *own, both + *own)));
        considered.iter_mut().take(1).for_each(|first| first.chosen = true);
        let choice = Choice { algorithm: Some(algorithm), group: None, considered };
        let mut contractions = left.contractions;
        contractions.extend(right.contractions);
        contractions.push((node, ranks.clone(), choice));
        Some(PlannedSubtree { price: both + own, distribution: Some(distribution), contractions })
    }
}
