//! Elements of the result from operands in double precision: as one sum, or by way of intermediates along the tree.
//!
//! Invariant: of what it holds at a time `cost` knows. Every tensor has those labels last that the step that takes it sums, so that the
//! innermost loop goes from neighbour to neighbour.

use einsum_dist::dims::Label;
use einsum_dist::tree::{Step, Tree};

use super::super::Result;
use super::budget::memory;
use super::cost::{Evaluation, distinct, inputs};
use super::fetch::Source;
use super::nest::Nest;
use super::select::Selection;
use super::sum::{Term, Tracked};

/// Computes elements.
pub struct Evaluator<'a> {
    tree: &'a Tree,
    sources: Vec<Source<'a>>,
    /// Labels of each node, in the order in which it is stored.
    layouts: Vec<Vec<Label>>,
    evaluation: Evaluation,
    complex: bool,
}

impl<'a> Evaluator<'a> {
    /// One source per operand.
    pub fn new(tree: &'a Tree, sources: Vec<Source<'a>>, evaluation: Evaluation, complex: bool) -> Evaluator<'a> {
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
        Evaluator { tree, sources, layouts, evaluation, complex }
    }

    /// The largest absolute value of each operand. Reads all of them.
    ///
    /// # Errors
    /// There is no memory, or a file cannot be read again.
    pub fn largest_operands(&self) -> Result<Vec<f64>> {
        self.sources.iter().map(Source::largest).collect()
    }

    /// The elements of the result of a selection, in row-major order; `alone` where other threads have work of their own.
    ///
    /// # Errors
    /// There is no memory, or a file cannot be read.
    pub fn elements(&self, selection: &Selection, alone: bool) -> Result<Vec<Tracked>> {
        let len = |label: Label| selection.len(label);
        let mut terms: Vec<Option<Term>> = vec![None; self.tree.nodes.len()];
        if self.evaluation == Evaluation::Directly {
            let leaves = (0..self.tree.nodes.len()).filter(|&id| matches!(self.tree.nodes[id].step, Step::Leaf { .. }));
            let leaves = leaves.map(|id| self.term(id, &mut terms, selection)).collect::<Result<Vec<_>>>()?;
            return memory(Nest::new(&leaves, &self.tree.nodes[self.tree.root()].labels, len, self.complex).all(alone));
        }
        for (id, node) in self.tree.nodes.iter().enumerate() {
            if let Step::Leaf { .. } = node.step {
                continue;
            }
            let taken = inputs(&node.step).into_iter().flatten();
            let taken = taken.map(|input| self.term(input, &mut terms, selection)).collect::<Result<Vec<_>>>()?;
            let layout = &self.layouts[id];
            let values = memory(Nest::new(&taken, layout, len, self.complex).all(alone))?;
            let shape: Vec<usize> = layout.iter().map(|&label| len(label)).collect();
            terms[id] = Some(Term::dense(values, layout, &shape));
        }
        Ok(terms.pop().flatten().unwrap_or_default().values)
    }

    /// A tensor for the step that takes it, the only one that does: an operand is fetched now.
    fn term(&self, id: usize, terms: &mut [Option<Term>], selection: &Selection) -> Result<Term> {
        let node = &self.tree.nodes[id];
        match node.step {
            Step::Leaf { operand } => self.sources[operand].fetch(&node.labels, selection, &self.layouts[id]),
            _ => Ok(terms[id].take().unwrap_or_default()),
        }
    }
}
