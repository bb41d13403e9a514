//! Computes result elements from the operands in double precision, as single sums or along the contraction tree.
//!
//! A tensor's layout ends with the labels that its reader sums, so that the innermost loop runs over adjacent elements.

use einsum_dist::dims::{Label, distinct};
use einsum_dist::tree::{Step, Tree, inputs};

use super::super::Result;
use super::super::failure::memory;
use super::cost::Evaluation;
use super::fetch::Source;
use super::limits::Limits;
use super::nest::Nest;
use super::select::Selection;
use super::sum::{Rounding, Term, Tracked};

pub struct Evaluator<'a> {
    tree: &'a Tree,
    layouts: Vec<Vec<Label>>,
    evaluation: Evaluation,
    complex: bool,
    /// The checked run's rounding errors in each step, all in the last step of a direct evaluation.
    roundings: Vec<Rounding>,
    /// Operand `i` is divided by 2^`exponents[i]`, so that products stay in the range of double precision.
    exponents: Vec<i32>,
    /// Whether intermediates are scaled too, as in a run with `--exponent`.
    is_scaled: bool,
}

impl<'a> Evaluator<'a> {
    pub fn new(
        tree: &'a Tree,
        limits: &Limits,
        evaluation: Evaluation,
        exponents: Vec<i32>,
        is_scaled: bool,
    ) -> Evaluator<'a> {
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
        let lost = if is_scaled { &vec![0; exponents.len()] } else { &exponents };
        let roundings = limits.roundings(tree, evaluation, lost);
        Evaluator { tree, layouts, evaluation, complex: limits.complex, roundings, exponents, is_scaled }
    }

    /// Computed elements are to be multiplied by 2 to this power, if the run keeps 2^`apart` apart.
    pub fn exponent(&self, apart: i64) -> i32 {
        let all = self.exponents.iter().fold(0, |sum: i32, exponent| sum.saturating_add(*exponent));
        if self.is_scaled { 0 } else { difference(all.into(), apart) }
    }

    /// The selected result elements in row-major order, divided by 2^`apart` if scaled; `single_threaded` if other
    /// threads compute others.
    pub fn elements(
        &self,
        sources: &[Source<'_>],
        selection: &Selection,
        single_threaded: bool,
        apart: i64,
    ) -> Result<Vec<Tracked>> {
        let len = |label: Label| selection.len(label);
        let mut terms: Vec<Option<Term>> = vec![None; self.tree.nodes.len()];
        // Each node's values are divided by 2 to this power.
        let mut units: Vec<i64> = Vec::with_capacity(self.tree.nodes.len());
        let finished = |mut values: Vec<Tracked>, unit: i64| {
            scale(&mut values, if self.is_scaled { difference(unit, apart) } else { 0 });
            values
        };
        if self.evaluation == Evaluation::Directly {
            let leaves = (0..self.tree.nodes.len()).filter(|&id| matches!(self.tree.nodes[id].step, Step::Leaf { .. }));
            let leaves = leaves.map(|id| self.term(id, sources, &mut terms, selection)).collect::<Result<Vec<_>>>()?;
            let root = self.tree.root();
            let out = &self.tree.nodes[root].labels;
            let values = memory(Nest::new(&leaves, out, len, self.complex, self.roundings[root]).all(single_threaded))?;
            return Ok(finished(values, self.exponents.iter().copied().map(i64::from).sum()));
        }
        for (id, node) in self.tree.nodes.iter().enumerate() {
            if let Step::Leaf { operand } = node.step {
                units.push(self.exponents[operand].into());
                continue;
            }
            let unit: i64 = inputs(&node.step).into_iter().flatten().map(|input| units[input]).sum();
            let taken = inputs(&node.step).into_iter().flatten();
            let taken =
                taken.map(|input| self.term(input, sources, &mut terms, selection)).collect::<Result<Vec<_>>>()?;
            let layout = &self.layouts[id];
            let mut values =
                memory(Nest::new(&taken, layout, len, self.complex, self.roundings[id]).all(single_threaded))?;
            let own = if self.is_scaled { exponent_of(&values) } else { 0 };
            scale(&mut values, -own);
            units.push(unit + i64::from(own));
            let shape: Vec<usize> = layout.iter().map(|&label| len(label)).collect();
            terms[id] = Some(Term::dense(values, layout, &shape));
        }
        Ok(finished(terms.pop().flatten().unwrap_or_default().values, units.pop().unwrap_or(0)))
    }

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
            scale(&mut term.values, -self.exponents[operand]);
        }
        Ok(term)
    }
}

fn difference(one: i64, other: i64) -> i32 {
    // Beyond the range of double precision, all is equal.
    one.saturating_sub(other).clamp(-4000, 4000) as i32
}

fn scale(values: &mut [Tracked], exponent: i32) {
    if exponent != 0 {
        values.iter_mut().for_each(|value| *value = value.scaled(exponent));
    }
}

fn exponent_of(values: &[Tracked]) -> i32 {
    let largest = values.iter().fold(0.0, |most, Tracked { value, .. }| value.re.abs().max(value.im.abs()).max(most));
    if largest > 0.0 && largest.is_finite() { largest.log2().floor() as i32 } else { 0 }
}
