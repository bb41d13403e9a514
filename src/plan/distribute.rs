//! Turns algorithms into a plan's values: steps and redistributions.
//!
//! [`SearchSpace::unary`] places unary steps, except those over free operands (`docs/algorithms.md`).

use std::ops::Range;

use super::algorithm_search_space::{SearchSpace, UnaryPlacement};
use super::algorithm_selection::{self, Choice};
use super::context::PlanningContext;
use super::error::PlanError;
use super::options::PlanOptions;
use super::structure::{Plan, Source, Value};
use super::{lower, path};
use crate::algorithm::{Distributions, Objective};
use crate::dims::Label;
use crate::distribution::{Axis, Distribution, Role};
use crate::schedule::ReuseScope;
use crate::tree::{NodeId, Step, UnaryOp};

/// Smaller differences are ignored: predictions are not exact.
const MAX_EQUAL_TIME_RATIO: f64 = 1.05;

#[derive(Clone, Copy)]
enum TensorPlacement {
    /// The consumer chooses.
    Free,
    /// A value's index.
    At(usize),
}

struct Planner<'a> {
    space: &'a SearchSpace<'a>,
    chosen: Vec<Choice>,
    placed: Vec<TensorPlacement>,
    values: Vec<Value>,
}

/// With the algorithms of [`algorithm_selection`].
///
/// # Errors
/// If a prescribed distribution is not possible, or [`emit`] fails.
pub fn whole_tree(
    context: &PlanningContext,
    space: &SearchSpace,
    branches: &[Range<NodeId>],
) -> Result<Plan, PlanError> {
    fits(space)?;
    emit(context, space, algorithm_selection::algorithms(space)?, branches)
}

/// The cheapest algorithm for each step alone, if that moves fewer bytes and is about as fast; else `plan`.
pub fn step_by_step(context: &PlanningContext, space: &SearchSpace, plan: Plan) -> Plan {
    let SearchSpace { tree, machine, options, arguments, .. } = *space;
    let several = tree.contractions() > 1 || !options.fixed.is_empty();
    let differs = machine.ranks > 1 && !arguments.step_by_step && several;
    if !differs || !arguments.uncut.is_empty() || plan.pipeline.is_some() {
        return plan;
    }
    // The step may require a redistribution that the user forbids.
    let Ok(steps) = whole_tree(context, &space.step_by_step(), &[]) else { return plan };
    if options.objective == Objective::Bytes {
        return if steps.beats(&plan) { steps } else { plan };
    }
    let as_fast = steps.seconds() <= MAX_EQUAL_TIME_RATIO * plan.seconds();
    if as_fast && lower::all_bytes_received(&steps) < lower::all_bytes_received(&plan) { steps } else { plan }
}

/// `chosen` is indexed by node.
///
/// # Errors
/// If a step requires a redistribution, but the user forbids redistributions.
pub fn emit(
    context: &PlanningContext,
    space: &SearchSpace,
    chosen: Vec<Choice>,
    branches: &[Range<NodeId>],
) -> Result<Plan, PlanError> {
    let SearchSpace { tree, machine, options, arguments, .. } = *space;
    let steps = tree.nodes.len();
    let mut planner = Planner { space, chosen, placed: Vec::with_capacity(steps), values: Vec::with_capacity(steps) };
    let mut starts = Vec::with_capacity(steps);
    for node in 0..steps {
        starts.push(planner.values.len());
        let placed = planner.node(node)?;
        planner.placed.push(placed);
    }
    starts.push(planner.values.len());
    let branches = branches.iter().map(|branch| starts[branch.start]..starts[branch.end]);
    let branches = branches.filter(|branch| !branch.is_empty()).collect();
    planner.result()?;
    Ok(Plan {
        expression: context.expression.to_owned(),
        names: tree.names.clone(),
        extents: tree.extents.clone(),
        objective: options.objective,
        constant: options.constant.clone(),
        conjugate: conjugated(options),
        branches,
        accumulate: options.accumulate,
        path: path::path(tree),
        memory_limit: arguments.memory,
        kernel: options.kernel,
        target: options.target,
        ..Plan::of_values(planner.values, tree.operands, options.dtype, machine.clone())
    })
}

fn conjugated(options: &PlanOptions) -> Vec<usize> {
    let mut operands = if options.dtype.is_complex() { options.conjugate.clone() } else { Vec::new() };
    operands.sort_unstable();
    operands.dedup();
    operands
}

fn fits(space: &SearchSpace) -> Result<(), PlanError> {
    let SearchSpace { tree, machine, options, arguments, .. } = *space;
    let leaves = tree.nodes.iter().filter_map(|node| match node.step {
        Step::Leaf { operand } => {
            let fixed = options.fixed.operands.get(operand)?.as_ref()?;
            Some((format!("operand {operand}"), fixed, &node.labels))
        }
        _ => None,
    });
    let result =
        options.fixed.output.iter().map(|fixed| ("the result".to_owned(), fixed, &tree.nodes[tree.root()].labels));
    for (name, fixed, labels) in leaves.chain(result) {
        let wrong = |why: String| PlanError::Distribution(format!("distribution of {name}: {why}"));
        fixed.fits_shape(&tree.shape(labels), machine.ranks).map_err(|why| wrong(why.to_string()))?;
        for axis in fixed.axes().iter().filter(|axis| axis.ranks > 1) {
            if let Role::Cut { dim, .. } = axis.role
                && arguments.uncut.contains(&labels[dim])
            {
                return Err(wrong(format!("`{}` is sliced, and cannot be cut as well", tree.name(labels[dim]))));
            }
        }
    }
    Ok(())
}

impl Planner<'_> {
    fn result(&mut self) -> Result<(), PlanError> {
        let root = self.space.tree.root();
        match (self.placed[root], self.space.options.fixed.output.clone()) {
            (TensorPlacement::Free, wanted) => {
                let wanted = wanted.unwrap_or_else(|| self.space.preferred(&self.space.tree.nodes[root].labels));
                self.materialise(root, &wanted)?;
            }
            (TensorPlacement::At(value), Some(wanted)) => {
                self.redistribute(value, wanted, "the result")?;
            }
            (TensorPlacement::At(_), None) => {}
        }
        Ok(())
    }

    fn node(&mut self, node: NodeId) -> Result<TensorPlacement, PlanError> {
        match &self.space.tree.nodes[node].step {
            Step::Leaf { operand } => match self.space.options.fixed.operands.get(*operand) {
                Some(Some(fixed)) => {
                    let labels = self.space.tree.nodes[node].labels.clone();
                    Ok(TensorPlacement::At(self.push(labels, fixed.clone(), Source::Operand(*operand), 0.0)))
                }
                _ => Ok(TensorPlacement::Free),
            },
            Step::Unary { input, op } => match self.placed[*input] {
                // A scalar has no dimension to cut, so the input is cut.
                TensorPlacement::Free
                    if !self.space.tree.nodes[node].labels.is_empty() || self.space.machine.ranks == 1 =>
                {
                    Ok(TensorPlacement::Free)
                }
                TensorPlacement::Free => {
                    let wanted = self.space.preferred(&self.space.tree.nodes[*input].labels);
                    let value = self.materialise(*input, &wanted)?;
                    self.unary(node, value, *op).map(TensorPlacement::At)
                }
                TensorPlacement::At(value) => self.unary(node, value, *op).map(TensorPlacement::At),
            },
            Step::Contract { left, right, .. } => self.contract(node, *left, *right).map(TensorPlacement::At),
        }
    }

    fn push(&mut self, labels: Vec<Label>, distribution: Distribution, source: Source, seconds: f64) -> usize {
        let shape = self.space.tree.shape(&labels);
        let (lasts, considered) = (ReuseScope::Slice, Vec::new());
        self.values.push(Value { labels, shape, distribution, source, seconds, lasts, considered });
        self.values.len() - 1
    }

    fn materialise(&mut self, node: NodeId, wanted: &Distribution) -> Result<usize, PlanError> {
        let mut chain = vec![(node, wanted.clone())];
        // Values are then added bottom-up.
        loop {
            let (node, wanted) = chain[chain.len() - 1].clone();
            let Step::Unary { input, .. } = self.space.tree.nodes[node].step else { break };
            let from = &self.space.tree.nodes[input].labels;
            let wanted = required(&wanted, &self.space.tree.nodes[node].labels, from);
            chain.push((input, wanted));
        }
        let mut below = None;
        for (node, wanted) in chain.into_iter().rev() {
            let labels = self.space.tree.nodes[node].labels.clone();
            let (source, seconds) = match (&self.space.tree.nodes[node].step, below) {
                (Step::Unary { input, op }, Some(value)) => {
                    let from = &self.space.tree.nodes[*input].labels;
                    (Source::Unary { input: value, op: *op }, self.space.cost.unary(from, &labels, &wanted))
                }
                (Step::Leaf { operand }, _) => (Source::Operand(*operand), 0.0),
                _ => unreachable!("a free node is an operand or a unary step over a free node"),
            };
            below = Some(self.push(labels, wanted, source, seconds));
        }
        Ok(below.unwrap_or_default())
    }

    fn unary(&mut self, node: NodeId, input: usize, op: UnaryOp) -> Result<usize, PlanError> {
        let tree = self.space.tree;
        let out = tree.nodes[node].labels.clone();
        let Value { labels, distribution, .. } = &self.values[input];
        let UnaryPlacement { before, step, after, prices: [_, own, _] } = self.space.unary(labels, &out, distribution);
        let input = match before {
            Some(wanted) => self.redistribute(input, wanted, &tree.step_text(node))?,
            None => input,
        };
        let value = self.push(out, step, Source::Unary { input, op }, own.seconds);
        match after {
            Some(wanted) => self.redistribute(value, wanted, &tree.step_text(node)),
            None => Ok(value),
        }
    }

    fn redistribute(&mut self, input: usize, wanted: Distribution, node: &str) -> Result<usize, PlanError> {
        let Value { labels, distribution, .. } = self.values[input].clone();
        if distribution == wanted {
            return Ok(input);
        }
        if self.space.options.forbid_redistribution {
            let names: Vec<&str> = labels.iter().map(|&label| self.space.tree.name(label)).collect();
            return Err(PlanError::Redistribution {
                node: node.to_owned(),
                tensor: self.space.tree.term(&labels),
                from: distribution.describe(&names),
                to: wanted.describe(&names),
            });
        }
        let seconds = self.space.cost.redistribution(&labels, &distribution, &wanted).seconds;
        Ok(self.push(labels, wanted, Source::Redistribute { input }, seconds))
    }

    fn contract(&mut self, node: NodeId, left: NodeId, right: NodeId) -> Result<usize, PlanError> {
        let tree = self.space.tree;
        let Step::Contract { kinds, .. } = &tree.nodes[node].step else {
            unreachable!("called for contractions only");
        };
        let text = tree.step_text(node);
        let Choice { algorithm: Some(algorithm), group, considered } = std::mem::take(&mut self.chosen[node]) else {
            unreachable!("every contraction has an algorithm")
        };
        let input_distributions = [left, right].map(|input| match self.placed[input] {
            TensorPlacement::Free => None,
            TensorPlacement::At(value) => Some(&self.values[value].distribution),
        });
        let (needs, price) = match &group {
            None => self.space.contraction(node, [left, right], &algorithm, input_distributions),
            Some(group) => {
                let machine = self.space.machine.part(group.clone());
                let (Distributions { left: l, right: r, out }, price) =
                    self.space.on(&machine).contraction(node, [left, right], &algorithm, [None, None]);
                let [left, right, out] = [l, r, out].map(|distribution| distribution.moved(0, group.start));
                (Distributions { left, right, out }, price)
            }
        };
        let left = self.bring(left, needs.left, &text)?;
        let right = self.bring(right, needs.right, &text)?;
        let source = Source::Contract { left, right, kinds: kinds.clone(), algorithm, group };
        let value = self.push(tree.nodes[node].labels.clone(), needs.out, source, price.seconds);
        self.values[value].considered = considered;
        Ok(value)
    }

    fn bring(&mut self, node: NodeId, wanted: Distribution, consumer: &str) -> Result<usize, PlanError> {
        match self.placed[node] {
            TensorPlacement::Free => {
                let value = self.materialise(node, &self.space.before(node, &wanted))?;
                self.redistribute(value, wanted, consumer)
            }
            TensorPlacement::At(value) => self.redistribute(value, wanted, consumer),
        }
    }
}

fn required(wanted: &Distribution, out: &[Label], input: &[Label]) -> Distribution {
    let axes = wanted.axes().iter().map(|axis| {
        let Role::Cut { dim, how } = &axis.role else { return axis.clone() };
        let mut places = (0..input.len()).filter(|&place| input[place] == out[*dim]);
        let role = match (places.next(), places.next()) {
            (Some(dim), None) => Role::Cut { dim, how: how.clone() },
            _ => Role::Replicate,
        };
        Axis { ranks: axis.ranks, role }
    });
    Distribution::new(axes.collect()).owned_by(wanted.owners().clone())
}
