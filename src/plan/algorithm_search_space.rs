//! The choices, with prices, in one search for algorithms and distributions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::mem::discriminant;
use std::rc::Rc;

use xxhash_rust::xxh3::Xxh3Default;

use super::candidates::{Candidates, SearchArguments};
use super::error::PlanError;
use super::options::PlanOptions;
use crate::algorithm::{
    Algorithm, AlgorithmName, Contraction, Cost, Distributions, Objective, Price, Residency, Tensor, carried,
};
use crate::dims::{Kinds, Label};
use crate::distribution::{Axis, Distribution, Owners, Role};
use crate::machine::Machine;
use crate::tree::{NodeId, Step, Tree};

const MAX_EXPLAINED_NODES: usize = 64;

/// The distributions around a unary step.
pub struct UnaryPlacement {
    /// `None` if the step can keep the input's distribution.
    pub before: Option<Distribution>,
    pub step: Distribution,
    /// `None` unless the result is partial sums.
    pub after: Option<Distribution>,
    /// Of the redistribution before, the step, and that after.
    pub prices: [Price; 3],
}

pub struct SearchSpace<'a> {
    pub tree: &'a Tree,
    pub machine: &'a Machine,
    pub options: &'a PlanOptions,
    pub arguments: SearchArguments<'a>,
    pub cost: Cost<'a>,
    known: Rc<Known>,
}

#[derive(Default)]
struct Known {
    candidates: RefCell<HashMap<NodeId, Vec<Algorithm>>>,
    /// By [`pair_up_to_names`].
    redistributions: RefCell<HashMap<u128, Price>>,
}

impl<'a> SearchSpace<'a> {
    pub fn new(
        tree: &'a Tree,
        machine: &'a Machine,
        options: &'a PlanOptions,
        arguments: SearchArguments<'a>,
    ) -> SearchSpace<'a> {
        let cost = Cost { machine, dtype: options.dtype, extents: &tree.extents };
        SearchSpace { tree, machine, options, arguments, cost, known: Rc::default() }
    }

    pub fn on<'b>(&'b self, machine: &'b Machine) -> SearchSpace<'b> {
        SearchSpace::new(self.tree, machine, self.options, self.arguments)
    }

    /// The search for the cheapest steps.
    pub fn step_by_step(&self) -> SearchSpace<'a> {
        let arguments = SearchArguments { step_by_step: true, ..self.arguments };
        SearchSpace { known: self.known.clone(), ..SearchSpace::new(self.tree, self.machine, self.options, arguments) }
    }

    /// [`Cost::redistribution`], computed once for distributions that differ only in names.
    pub fn redistribution(&self, labels: &[Label], from: &Distribution, to: &Distribution) -> Price {
        let price = || self.cost.redistribution(labels, from, to);
        let name = pair_up_to_names(&self.tree.shape(labels), [from, to]);
        *self.known.redistributions.borrow_mut().entry(name).or_insert_with(price)
    }

    /// Whether nothing restricts the choices, as groups and pipelines require.
    pub fn is_plain(&self) -> bool {
        let SearchArguments { memory, step_by_step, .. } = self.arguments;
        let PlanOptions { algorithm, fixed, forbid_redistribution, cut, .. } = self.options;
        let is_free = algorithm.is_none() && fixed.is_empty() && cut.is_empty() && !forbid_redistribution;
        is_free && memory.is_none() && !step_by_step
    }

    fn labels(&self, node: NodeId) -> &[Label] {
        &self.tree.nodes[node].labels
    }

    pub fn fixed(&self, node: NodeId) -> Option<Distribution> {
        match self.tree.nodes[node].step {
            Step::Leaf { operand } => self.options.fixed.operands.get(operand).cloned().flatten(),
            _ => None,
        }
    }

    /// Where a free node has its values before a consumer gets `wanted`: there, or, if replicas have to be sent, on one
    /// rank (an operand) or in its preferred distribution.
    pub fn before(&self, node: NodeId, wanted: &Distribution) -> Distribution {
        if wanted.replicas() == 1 || self.options.forbid_redistribution {
            return wanted.clone();
        }
        match self.tree.nodes[node].step {
            Step::Leaf { .. } => Distribution::single().owned_by(Owners::From(wanted.span().start)),
            _ => self.preferred(self.labels(node)),
        }
    }

    /// Cuts the longest dimension that is not part of a diagonal.
    pub fn preferred(&self, labels: &[Label]) -> Distribution {
        let once = |label: &Label| labels.iter().filter(|&l| l == label).count() == 1;
        let undistributed =
            self.machine.ranks == 1 || self.options.algorithm.map(AlgorithmName::residency) == Some(Residency::Alone);
        let longest = (0..labels.len())
            .filter(|&dim| once(&labels[dim]) && !self.arguments.uncut.contains(&labels[dim]))
            // The first of equal extents, because blocks cut along an outer dimension are dense.
            .min_by_key(|&dim| std::cmp::Reverse(self.tree.extent(labels[dim])));
        match longest {
            Some(dim) if !undistributed => Distribution::cut(dim, self.machine.ranks),
            _ => Distribution::single(),
        }
    }

    /// The input keeps its distribution `at` if that needs no communication; else it gets its preferred one, as do
    /// partial sums.
    pub fn unary(&self, input: &[Label], out: &[Label], at: &Distribution) -> UnaryPlacement {
        let redistributed = |labels: &[Label], from: &Distribution| {
            let wanted = self.preferred(labels);
            let price = self.cost.redistribution(labels, from, &wanted);
            (Some(wanted), price)
        };
        let stays = (None, Price::default());
        let (before, first) = if carried(at, input, out).is_some() { stays.clone() } else { redistributed(input, at) };
        // The preferred distribution cuts no diagonal, so `carried` returns `Some`.
        let step = carried(before.as_ref().unwrap_or(at), input, out).unwrap_or_else(Distribution::single);
        let own = Price::of_work(self.cost.unary(input, out, &step));
        let (after, last) = if step.summands() > 1 { redistributed(out, &step) } else { stays };
        UnaryPlacement { before, step, after, prices: [first, own, last] }
    }

    /// # Errors
    /// If the user forced an algorithm or a cut that the node does not support.
    pub fn candidates(&self, node: NodeId, kinds: &Kinds) -> Result<Vec<Algorithm>, PlanError> {
        if let Some(known) = self.known.candidates.borrow().get(&node) {
            return Ok(known.clone());
        }
        let SearchSpace { tree, machine, options, arguments, .. } = *self;
        let (names, extents) = (tree.names.as_slice(), tree.extents.as_slice());
        let candidates = Candidates { options, names, extents, machine, arguments, several: tree.operands > 2 };
        let all = candidates.of(&tree.step_text(node), kinds, self.labels(node))?;
        self.known.candidates.borrow_mut().insert(node, all.clone());
        Ok(all)
    }

    /// The distributions that an algorithm requires and produces, and its price. It may choose where
    /// `input_distributions` is `None`. In the first contraction of a subtree, the seconds include the first
    /// synchronisation, unless the algorithm runs on rank 0 alone.
    pub fn contraction(
        &self,
        node: NodeId,
        inputs: [NodeId; 2],
        algorithm: &Algorithm,
        input_distributions: [Option<&Distribution>; 2],
    ) -> (Distributions, Price) {
        let (needs, mut price) = self.by_itself(node, inputs, algorithm, input_distributions);
        let waits = algorithm.kind().residency() != Residency::Alone;
        let first = waits && inputs.into_iter().all(|input| self.is_given(input));
        if first {
            price.seconds += self.machine.sync_overhead;
        }
        (needs, price)
    }

    fn is_given(&self, mut node: NodeId) -> bool {
        while let Step::Unary { input, .. } = self.tree.nodes[node].step {
            node = input;
        }
        matches!(self.tree.nodes[node].step, Step::Leaf { .. })
    }

    fn by_itself(
        &self,
        node: NodeId,
        [left, right]: [NodeId; 2],
        algorithm: &Algorithm,
        inputs: [Option<&Distribution>; 2],
    ) -> (Distributions, Price) {
        let needs =
            algorithm.distributions(self.labels(left), self.labels(right), self.labels(node), self.machine.ranks);
        if let Some(needs) = needs {
            let seconds = self.cost.contraction(algorithm, self.labels(left), self.labels(right), self.labels(node));
            let words = if self.counts_words() { self.words(algorithm, [left, right, node], &needs) } else { None };
            let bytes = words.unwrap_or(0) as f64 * self.options.dtype.size() as f64;
            return (needs, Price { seconds, bytes });
        }
        // Inputs keep their distributions, unless they consist of partial sums.
        let in_place = |input: NodeId, at: Option<&Distribution>| {
            at.filter(|at| at.summands() == 1).cloned().unwrap_or_else(|| self.preferred(self.labels(input)))
        };
        let fixed = self.options.fixed.output.clone().filter(|at| node == self.tree.root() && at.summands() == 1);
        let out = fixed.unwrap_or_else(|| self.preferred(self.labels(node)));
        let needs = Distributions { left: in_place(left, inputs[0]), right: in_place(right, inputs[1]), out };
        let price = self.cost.slicing(algorithm, &self.tensors([left, right, node], &needs));
        (needs, price)
    }

    /// For explanations, those of large trees take too long.
    fn counts_words(&self) -> bool {
        let explains = self.tree.nodes.len() <= MAX_EXPLAINED_NODES;
        self.machine.ranks > 1 && (explains || self.options.objective == Objective::Bytes)
    }

    fn words(&self, algorithm: &Algorithm, nodes: [NodeId; 3], needs: &Distributions) -> Option<u64> {
        let [left, right, out] = self.tensors(nodes, needs);
        algorithm.most_words(&Contraction { left, right, out, onto: false }, self.machine.ranks)
    }

    fn tensors(&self, [left, right, out]: [NodeId; 3], needs: &Distributions) -> [Tensor; 3] {
        [(left, &needs.left), (right, &needs.right), (out, &needs.out)].map(|(node, at)| self.tensor(node, at))
    }

    fn tensor(&self, node: NodeId, distribution: &Distribution) -> Tensor {
        let labels = self.tree.nodes[node].labels.clone();
        let shape = self.tree.shape(&labels);
        Tensor { node, labels, shape, distribution: distribution.clone(), buffer: None, window: None }
    }
}

/// A hash of a tensor's two distributions. The order of dimensions does not change it.
fn pair_up_to_names(shape: &[usize], grids: [&Distribution; 2]) -> u128 {
    let mut hash = Xxh3Default::new();
    let mut cut: Vec<usize> = Vec::new();
    for grid in grids {
        (grid.axes().len(), grid.owners()).hash(&mut hash);
        for Axis { ranks, role } in grid.axes() {
            (ranks, discriminant(role)).hash(&mut hash);
            if let Role::Cut { dim, how } = role {
                let known = cut.iter().position(|known| known == dim);
                (known.unwrap_or(cut.len()), how).hash(&mut hash);
                if known.is_none() {
                    cut.push(*dim);
                }
            }
        }
    }
    cut.iter().for_each(|&dim| shape[dim].hash(&mut hash));
    let others = shape.iter().enumerate().filter(|(dim, _)| !cut.contains(dim));
    others.fold(1, |product: usize, (_, extent)| product.saturating_mul(*extent)).hash(&mut hash);
    hash.digest128()
}
