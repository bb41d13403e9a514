//! Computes elements of the result from the operands in double precision, each as a single sum or along the contraction
//! tree.
//!
//! The last labels in every tensor's layout are those that its reader sums, so that the innermost loop runs over
//! adjacent elements.

use einsum_dist::dims::Label;
use einsum_dist::tree::{Step, Tree};

use super::super::Result;
use super::super::failure::memory;
use super::cost::{Evaluation, distinct, inputs};
use super::fetch::Source;
use super::limits::Limits;
use super::nest::Nest;
use super::select::Selection;
use super::sum::{Rounding, Term, Tracked};

pub struct Evaluator<'a> {
    tree: &'a Tree,
    /// Labels of each node, in storage order.
    layouts: Vec<Vec<Label>>,
    evaluation: Evaluation,
    complex: bool,
    /// The rounding errors of the checked run in each step, all in the last step of a direct evaluation.
    roundings: Vec<Rounding>,
    /// Operand `i` is divided by 2^`exponents[i]`, so that products stay in the range of double precision.
    exponents: Vec<i32>,
}

impl<'a> Evaluator<'a> {
    pub fn new(tree: &'a Tree, limits: &Limits, evaluation: Evaluation, exponents: Vec<i32>) -> Evaluator<'a> {
        let root = tree.root();
        let mut kept: Vec<&[Label]> = vec![&tree.nodes[root].labels; tree.nodes.len()];
        if evaluation == Evaluation::AlongTree {
            for node in &tree.nodes {
                inputs(&node.step).into_iter().flatten().for_each(|input| kept[input] = &node.labels);
            }
        }
        let layout = |(id, kept): (usize, &&[Label])| {
            let mut labels = distinct(&tree.nodes[id].labels);
            if id != root {
                labels.sort_by_key(|label| (!kept.contains(label), *label));
            }
            labels
        };
        let layouts = kept.iter().enumerate().map(layout).collect();
        let roundings = limits.roundings(tree, evaluation, &exponents);
        Evaluator { tree, layouts, evaluation, complex: limits.complex, roundings, exponents }
    }

    /// Returns the sum of all exponents; computed elements are divided by 2 to this power.
    pub fn exponent(&self) -> i32 {
        self.exponents.iter().fold(0, |sum, exponent| sum.saturating_add(*exponent))
    }

    /// Returns the selected elements of the result, in row-major order; `single_threaded` if other threads compute
    /// others. `sources` has one entry per operand.
    ///
    /// # Errors
    /// If there is too little memory, or a file cannot be read.
    pub fn elements(
        &self,
        sources: &[Source<'_>],
        selection: &Selection,
        single_threaded: bool,
    ) -> Result<Vec<Tracked>> {
        let len = |label: Label| selection.len(label);
        let mut terms: Vec<Option<Term>> = vec![None; self.tree.nodes.len()];
        if self.evaluation == Evaluation::Directly {
            let leaves = (0..self.tree.nodes.len()).filter(|&id| matches!(self.tree.nodes[id].step, Step::Leaf { .. }));
            let leaves = leaves.map(|id| self.term(id, sources, &mut terms, selection)).collect::<Result<Vec<_>>>()?;
            let root = self.tree.root();
            let out = &self.tree.nodes[root].labels;
            return memory(Nest::new(&leaves, out, len, self.complex, self.roundings[root]).all(single_threaded));
        }
        for (id, node) in self.tree.nodes.iter().enumerate() {
            if let Step::Leaf { .. } = node.step {
                continue;
            }
            let taken = inputs(&node.step).into_iter().flatten();
            let taken =
                taken.map(|input| self.term(input, sources, &mut terms, selection)).collect::<Result<Vec<_>>>()?;
            let layout = &self.layouts[id];
            let values = memory(Nest::new(&taken, layout, len, self.complex, self.roundings[id]).all(single_threaded))?;
            let shape: Vec<usize> = layout.iter().map(|&label| len(label)).collect();
            terms[id] = Some(Term::dense(values, layout, &shape));
        }
        Ok(terms.pop().flatten().unwrap_or_default().values)
    }

    /// Returns node `id` as an input: an operand from its source, or an intermediate moved out of `terms`.
    fn term(
        &self,
        id: usize,
        sources: &[Source<'_>],
        terms: &mut [Option<Term>],
        selection: &Selection,
    ) -> Result<Term> {
        let node = &self.tree.nodes[id];
        let Step::Leaf { operand } = node.step else { return Ok(terms[id].take().unwrap_or_default()) };
        let mut term = sources[operand].fetch(&node.labels, selection, &self.layouts[id])?;
        if self.exponents[operand] != 0 {
            term.values.iter_mut().for_each(|value| *value = value.divided(self.exponents[operand]));
        }
        Ok(term)
    }
}
