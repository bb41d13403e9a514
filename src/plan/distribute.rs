//! Turns chosen algorithms into the values of a plan: assigns distributions and inserts redistributions.
//!
//! The consumer of an operand chooses its distribution, unless the user prescribes it. An intermediate keeps the
//! distribution that its step produces; if its consumer requires another one, the redistribution is a step of its own.
//! Unary steps over such free operands adopt the distribution that the consumer of their result requires.

use std::ops::Range;

use super::algorithm_selection::Choice;
use super::context::PlanningContext;
use super::error::PlanError;
use super::groups::{Assigned, Grouping};
use super::options::Options;
use super::pipeline::{Pipelining, Stages};
use super::structure::{Pipeline, Plan, ResultResidency, Source, Value};
use super::{algorithm_selection, lower, path};
use crate::algorithm::{Cost, Distributions, carried};
use crate::dims::Label;
use crate::distribution::{Axis, Distribution, Role};
use crate::machine::{MAX_RANKS, Machine};
use crate::schedule::ReuseScope;
use crate::tree::{NodeId, Step, Tree, UnaryOp};

/// If the predicted times of two plans differ by less than this factor, neither is known to be faster.
const MAX_EQUAL_TIME_RATIO: f64 = 1.05;

/// The state of a node's tensor during planning.
#[derive(Clone, Copy)]
enum TensorPlacement {
    /// An operand, or unary steps over one: its consumer chooses the distribution.
    Free,
    /// The value of the plan with this index.
    At(usize),
}

struct Planner<'a> {
    tree: &'a Tree,
    machine: &'a Machine,
    options: &'a Options,
    context: PlanningContext<'a>,
    /// By node.
    chosen: Vec<Choice>,
    /// By node, its ranks; `None`: all.
    groups: Vec<Option<Range<usize>>>,
    placed: Vec<TensorPlacement>,
    values: Vec<Value>,
}

/// Plans a tree. Dimensions in `uncut` must not be distributed; `branches` are ranges of nodes that run concurrently as
/// branches.
///
/// If both are empty, other plans may replace the one that [`algorithm_selection`] finds:
/// - a pipeline, if it is predicted to be clearly faster or the user requests one;
/// - else the plan in which each step chooses its own algorithm, if it moves less and takes about as long;
/// - and groups of ranks, if they are faster than the plan so far and move no more.
pub fn distribute(
    expression: &str,
    tree: &Tree,
    machine: &Machine,
    options: &Options,
    uncut: &[Label],
    branches: &[Range<NodeId>],
) -> Result<Plan, PlanError> {
    let whole = (tree, machine, options);
    let plan = planned(expression, whole, uncut, branches, None)?;
    if !uncut.is_empty() || !branches.is_empty() {
        return Ok(plan);
    }
    if let Some(Stages { pipeline, contractions }) =
        (Pipelining { tree, machine, options }).best(plan.seconds() - machine.startup_seconds)
    {
        let label = pipeline.label;
        let pipelined = planned(expression, whole, &[label], &[], Some((Some(pipeline), contractions)))?;
        return Ok(Plan { ungrouped: Some(plan.seconds()), ..pipelined });
    }
    let received =
        |plan: &Plan| -> u64 { plan.sampled_ranks().into_iter().map(|rank| lower::bytes_received(plan, rank)).sum() };
    let several = tree.nodes.iter().filter(|node| matches!(node.step, Step::Contract { .. })).nth(1).is_some();
    let differs = machine.ranks > 1 && !options.step_by_step && (several || !options.fixed.is_empty());
    let by_step = Options { step_by_step: true, ..options.clone() };
    // The choice of one step may force a later redistribution that the user forbids.
    let by_step = differs.then(|| planned(expression, (tree, machine, &by_step), &[], &[], None)).and_then(Result::ok);
    let better =
        |steps: &Plan| steps.seconds() <= MAX_EQUAL_TIME_RATIO * plan.seconds() && received(steps) < received(&plan);
    let plan = by_step.filter(better).unwrap_or(plan);
    let Some(contractions) = (Grouping { tree, machine, options }).best() else { return Ok(plan) };
    let grouped = planned(expression, whole, &[], &[], Some((None, contractions)))?;
    let better = grouped.seconds() < plan.seconds() && received(&grouped) <= received(&plan);
    Ok(if better { Plan { ungrouped: Some(plan.seconds()), ..grouped } } else { plan })
}

/// The ranks and algorithms of contractions by node, and the pipeline if there is one.
type Groups = (Option<Pipeline>, Vec<Option<Assigned>>);

fn planned(
    expression: &str,
    (tree, machine, options): (&Tree, &Machine, &Options),
    uncut: &[Label],
    branches: &[Range<NodeId>],
    groups: Option<Groups>,
) -> Result<Plan, PlanError> {
    fits(tree, machine, options, uncut)?;
    let cost = Cost { machine, dtype: options.dtype, extents: &tree.extents };
    let context = PlanningContext { tree, machine, options, cost, uncut };
    let (pipeline, chosen, groups) = match groups {
        None => {
            let chosen = algorithm_selection::algorithms(&context)?;
            let groups = chosen.iter().map(|_| None).collect();
            (None, chosen, groups)
        }
        Some((pipeline, contractions)) => {
            let (groups, chosen) = contractions.into_iter().map(Option::unzip).unzip();
            let chosen: Vec<Option<Choice>> = chosen;
            (pipeline, chosen.into_iter().map(Option::unwrap_or_default).collect(), groups)
        }
    };
    let mut planner = Planner {
        tree,
        machine,
        options,
        context,
        chosen,
        groups,
        placed: Vec::with_capacity(tree.nodes.len()),
        values: Vec::with_capacity(tree.nodes.len()),
    };
    let mut starts = Vec::with_capacity(tree.nodes.len());
    for node in 0..tree.nodes.len() {
        starts.push(planner.values.len());
        let placed = planner.node(node)?;
        planner.placed.push(placed);
    }
    starts.push(planner.values.len());
    let planned = branches.iter().map(|branch| starts[branch.start]..starts[branch.end]);
    let planned = planned.filter(|branch| !branch.is_empty()).collect();
    planner.result()?;
    let mut leaves = vec![0; tree.operands];
    for (id, value) in planner.values.iter().enumerate() {
        if let Source::Operand(index) = value.source {
            leaves[index] = id;
        }
    }
    Ok(Plan {
        expression: expression.to_owned(),
        dtype: options.dtype,
        machine: machine.clone(),
        names: tree.names.clone(),
        extents: tree.extents.clone(),
        slices: Vec::new(),
        result: ResultResidency::Whole,
        operands: tree.operands,
        leaves,
        constant: options.constant.clone(),
        values: planner.values,
        branches: planned,
        pipeline,
        ungrouped: None,
        accumulate: options.accumulate,
        path: path::path(tree),
        memory_limit: options.memory_limit,
        kernel: options.kernel,
        target: options.target,
    })
}

/// Checks that the machine can be planned for, that the dimensions to cut exist, and that the tensors fit an address
/// space.
pub fn possible(tree: &Tree, machine: &Machine, options: &Options) -> Result<(), PlanError> {
    if machine.ranks == 0 || machine.workers == 0 {
        return Err(PlanError::NoRanks);
    }
    if machine.ranks > MAX_RANKS {
        return Err(PlanError::TooManyRanks { ranks: machine.ranks, most: MAX_RANKS });
    }
    machine.check().map_err(PlanError::Machine)?;
    if let Some(unknown) = options.cut.iter().find(|cut| !tree.names.contains(cut)) {
        return Err(PlanError::UnknownCut(unknown.clone()));
    }
    for node in &tree.nodes {
        // 16 bytes is the largest element type; empty dimensions must not hide an overflow of the others.
        let mut sizes = node.labels.iter().map(|&label| tree.extent(label).max(1));
        if sizes.try_fold(16usize, |bytes, extent| bytes.checked_mul(extent)).is_none_or(|b| b > isize::MAX as usize) {
            return Err(PlanError::TooLarge(tree.term(&node.labels)));
        }
    }
    Ok(())
}

/// Checks that the prescribed distributions of operands and result are possible.
fn fits(tree: &Tree, machine: &Machine, options: &Options, uncut: &[Label]) -> Result<(), PlanError> {
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
                && uncut.contains(&labels[dim])
            {
                return Err(wrong(format!("`{}` is sliced, and cannot be cut as well", tree.name(labels[dim]))));
            }
        }
    }
    Ok(())
}

impl Planner<'_> {
    /// Brings the result into its prescribed distribution, or a free one into the preferred distribution.
    fn result(&mut self) -> Result<(), PlanError> {
        let root = self.tree.root();
        match (self.placed[root], self.options.fixed.output.clone()) {
            (TensorPlacement::Free, wanted) => {
                let wanted = wanted.unwrap_or_else(|| self.context.preferred(&self.tree.nodes[root].labels));
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
        match &self.tree.nodes[node].step {
            Step::Leaf { operand } => match self.options.fixed.operands.get(*operand) {
                Some(Some(fixed)) => {
                    let labels = self.tree.nodes[node].labels.clone();
                    Ok(TensorPlacement::At(self.push(labels, fixed.clone(), Source::Operand(*operand), 0.0)))
                }
                _ => Ok(TensorPlacement::Free),
            },
            Step::Unary { input, op } => match self.placed[*input] {
                // A sum down to a scalar leaves no dimension to cut, so its input is cut instead.
                TensorPlacement::Free if !self.tree.nodes[node].labels.is_empty() || self.machine.ranks == 1 => {
                    Ok(TensorPlacement::Free)
                }
                TensorPlacement::Free => {
                    let wanted = self.context.preferred(&self.tree.nodes[*input].labels);
                    let value = self.materialise(*input, &wanted)?;
                    self.unary(node, value, *op).map(TensorPlacement::At)
                }
                TensorPlacement::At(value) => self.unary(node, value, *op).map(TensorPlacement::At),
            },
            Step::Contract { left, right, .. } => self.contract(node, *left, *right).map(TensorPlacement::At),
        }
    }

    fn push(&mut self, labels: Vec<Label>, distribution: Distribution, source: Source, seconds: f64) -> usize {
        let shape = self.tree.shape(&labels);
        let (lasts, considered) = (ReuseScope::Slice, Vec::new());
        self.values.push(Value { labels, shape, distribution, source, seconds, lasts, considered });
        self.values.len() - 1
    }

    /// Adds the values of a free node and of the steps below it, such that the node has the wanted distribution.
    fn materialise(&mut self, node: NodeId, wanted: &Distribution) -> Result<usize, PlanError> {
        let mut chain = vec![(node, wanted.clone())];
        // Down to the operand: the distribution that each step requires of its input. Values are then added bottom-up.
        loop {
            let (node, wanted) = chain[chain.len() - 1].clone();
            let Step::Unary { input, .. } = self.tree.nodes[node].step else { break };
            let from = &self.tree.nodes[input].labels;
            let wanted = required(&wanted, &self.tree.nodes[node].labels, from);
            chain.push((input, wanted));
        }
        let mut below = None;
        for (node, wanted) in chain.into_iter().rev() {
            let labels = self.tree.nodes[node].labels.clone();
            let (source, seconds) = match (&self.tree.nodes[node].step, below) {
                (Step::Unary { input, op }, Some(value)) => {
                    let from = &self.tree.nodes[*input].labels;
                    (Source::Unary { input: value, op: *op }, self.context.cost.unary(from, &labels, &wanted))
                }
                (Step::Leaf { operand }, _) => (Source::Operand(*operand), 0.0),
                // Only operands and unary steps over them are free.
                _ => unreachable!("a free node is an operand or a unary step over a free node"),
            };
            below = Some(self.push(labels, wanted, source, seconds));
        }
        // The chain has at least the node itself.
        Ok(below.unwrap_or_default())
    }

    /// Adds a unary step over a value, with a redistribution before it if the step cannot carry the distribution, and
    /// one after it if the results are partial sums.
    fn unary(&mut self, node: NodeId, mut input: usize, op: UnaryOp) -> Result<usize, PlanError> {
        let out = self.tree.nodes[node].labels.clone();
        let carry = |value: &Value| carried(&value.distribution, &value.labels, &out);
        let distribution = match carry(&self.values[input]) {
            Some(distribution) => distribution,
            None => {
                let wanted = self.context.preferred(&self.values[input].labels);
                input = self.redistribute(input, wanted, &self.tree.step_text(node))?;
                // The preferred distribution cuts no diagonal, so the step carries it.
                carry(&self.values[input]).unwrap_or_else(Distribution::single)
            }
        };
        let seconds = self.context.cost.unary(&self.values[input].labels, &out, &distribution);
        let partial = distribution.summands() > 1;
        let value = self.push(out.clone(), distribution, Source::Unary { input, op }, seconds);
        if !partial {
            return Ok(value);
        }
        let wanted = self.context.preferred(&out);
        self.redistribute(value, wanted, &self.tree.step_text(node))
    }

    fn redistribute(&mut self, input: usize, wanted: Distribution, node: &str) -> Result<usize, PlanError> {
        let Value { labels, distribution, .. } = self.values[input].clone();
        if distribution == wanted {
            return Ok(input);
        }
        if self.options.forbid_redistribution {
            let names: Vec<&str> = labels.iter().map(|&label| self.tree.name(label)).collect();
            return Err(PlanError::Redistribution {
                node: node.to_owned(),
                tensor: self.tree.term(&labels),
                from: distribution.describe(&names),
                to: wanted.describe(&names),
            });
        }
        let seconds = self.context.cost.redistribution(&labels, &distribution, &wanted);
        Ok(self.push(labels, wanted, Source::Redistribute { input }, seconds))
    }

    fn contract(&mut self, node: NodeId, left: NodeId, right: NodeId) -> Result<usize, PlanError> {
        let tree = self.tree;
        let Step::Contract { kinds, .. } = &tree.nodes[node].step else {
            unreachable!("called for contractions only");
        };
        let text = tree.step_text(node);
        let Choice { algorithm: Some(algorithm), considered } = std::mem::take(&mut self.chosen[node]) else {
            unreachable!("every contraction has an algorithm")
        };
        let input_distributions = [left, right].map(|input| match self.placed[input] {
            TensorPlacement::Free => None,
            TensorPlacement::At(value) => Some(&self.values[value].distribution),
        });
        let group = self.groups[node].clone();
        let (needs, seconds) = match &group {
            None => self.context.contraction(node, [left, right], &algorithm, input_distributions),
            Some(group) => {
                let machine = self.machine.part(group.clone());
                let cost = Cost { machine: &machine, ..self.context.cost };
                let context = PlanningContext { machine: &machine, cost, ..self.context };
                let (Distributions { left: l, right: r, out }, seconds) =
                    context.contraction(node, [left, right], &algorithm, [None, None]);
                let [left, right, out] = [l, r, out].map(|distribution| distribution.moved(0, group.start));
                (Distributions { left, right, out }, seconds)
            }
        };
        let left = self.bring(left, needs.left, &text)?;
        let right = self.bring(right, needs.right, &text)?;
        let source = Source::Contract { left, right, kinds: kinds.clone(), algorithm, group };
        let value = self.push(tree.nodes[node].labels.clone(), needs.out, source, seconds);
        self.values[value].considered = considered;
        Ok(value)
    }

    fn bring(&mut self, node: NodeId, wanted: Distribution, consumer: &str) -> Result<usize, PlanError> {
        match self.placed[node] {
            TensorPlacement::Free => self.materialise(node, &wanted),
            TensorPlacement::At(value) => self.redistribute(value, wanted, consumer),
        }
    }
}

/// The distribution of a unary step's input that gives the result the wanted distribution without communication: cut
/// like the result. If the cut dimension is part of a diagonal, each rank that needs the input holds it whole along
/// that axis.
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
