//! Computes how far a correct element may differ from its double-precision reference (`docs/check.md`).
//!
//! Invariant: limits depend only on the plan, the operands and the element, not on the rank.

use einsum_dist::dims::{Label, distinct};
use einsum_dist::kernel::error_bound;
use einsum_dist::tree::{Step, Tree, inputs};
use einsum_dist::{Dtype, Plan};

use super::super::norm::scaled;
use super::cost::Evaluation;
use super::sum::{Reference, Rounding};

/// Largest error relative to the estimated random one.
const CONFIDENCE_FACTOR: f64 = 4.0;

/// Upper limit for a step's estimated underflow loss, with a finite square.
const MAX_LOSS: f64 = 1e140;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Allowed error relative to the sum of absolute products.
    pub relative: f64,
    /// Allowed error due to underflow in all steps, or only the last before the operands are examined.
    pub absolute: f64,
    pub largest: f64,
    /// Allowed error due to underflow of one product.
    pub smallest: f64,
    pub complex: bool,
    /// Whether infinite or NaN parts depend on the order of factors, which may differ between run and reference.
    pub unordered: bool,
}

impl Limits {
    pub fn new(plan: &Plan, tree: &Tree) -> Limits {
        let (largest, smallest) = match plan.dtype {
            Dtype::Float32 | Dtype::Complex64 => (f64::from(f32::MAX), f64::from(f32::from_bits(1))),
            Dtype::Float64 | Dtype::Complex128 => (f64::MAX, f64::from_bits(1)),
        };
        let smallest = smallest * if plan.dtype.is_complex() { 8.0 } else { 2.0 };
        // The reference is rounded too, in its products and a dozen additions per step.
        let steps = tree.nodes.len() as u64;
        let own = if largest > 1e100 { 2 * plan.operands as u64 + 14 * steps } else { 0 };
        let (real, parts, more) = match plan.dtype {
            Dtype::Complex64 => (Dtype::Float32, std::f64::consts::SQRT_2, steps),
            Dtype::Complex128 => (Dtype::Float64, std::f64::consts::SQRT_2, steps),
            real => (real, 1.0, 0),
        };
        let roundings = plan.roundings().saturating_add(own + more);
        let relative = parts * error_bound(real, roundings, plan.operands as u32);
        let last = terms(tree, tree.root()) * smallest;
        let complex = plan.dtype.is_complex();
        let unordered = complex && plan.operands > 2;
        Limits { relative, absolute: last, largest, smallest, complex, unordered }
    }

    /// The limits of a run that scales all values to at least 2^-24, or 2^-200 in double precision.
    pub fn scaled(self) -> Limits {
        let factor = 2f64.powi(if self.largest > 1e100 { 400 } else { 48 });
        Limits { absolute: self.absolute * factor, smallest: self.smallest * factor, ..self }
    }

    pub fn tolerance(&self, want: &Reference) -> f64 {
        let worst_case = self.relative * want.magnitude.min(f64::MAX) + self.absolute;
        // Without a finite spread, only the worst case limits the error.
        if want.spread.is_finite() { worst_case.min(CONFIDENCE_FACTOR * want.spread) } else { worst_case }
    }

    /// The run's rounding errors in each step, with operands divided by 2 to these exponents.
    pub fn roundings(&self, tree: &Tree, evaluation: Evaluation, exponents: &[i32]) -> Vec<Rounding> {
        let rounding = |id: usize, terms: f64, exponent: i32| {
            let absolute = (terms * scaled(self.smallest, -i64::from(exponent))).min(MAX_LOSS);
            let relative = self.relative.powi(2) * terms.max(1.0);
            Rounding { relative, absolute: absolute.powi(2), is_last: id == tree.root(), step: id as u64 }
        };
        if evaluation == Evaluation::Directly {
            let out = &tree.nodes[tree.root()].labels;
            let summed = (0..tree.extents.len() as u32).map(Label).filter(|label| !out.contains(label));
            let terms = summed.map(|label| tree.extent(label) as f64).product();
            return vec![rounding(tree.root(), terms, exponents.iter().sum()); tree.nodes.len()];
        }
        let mut below: Vec<i32> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            below.push(match node.step {
                Step::Leaf { operand } => exponents[operand],
                ref step => inputs(step).into_iter().flatten().fold(0, |sum, input| below[input].saturating_add(sum)),
            });
        }
        let each = below.iter().enumerate();
        each.map(|(id, &exponent)| rounding(id, terms(tree, id), exponent)).collect()
    }
}

pub fn steps(tree: &Tree) -> usize {
    (0..tree.nodes.len())
        .filter(|&id| match tree.nodes[id].step {
            Step::Leaf { .. } => false,
            Step::Unary { .. } => terms(tree, id) > 1.0,
            Step::Contract { .. } => true,
        })
        .count()
}

pub fn products(tree: &Tree) -> f64 {
    (0..tree.nodes.len()).map(|id| terms(tree, id)).product()
}

fn terms(tree: &Tree, node: usize) -> f64 {
    let out = &tree.nodes[node].labels;
    let extents = |labels: &mut dyn Iterator<Item = Label>| -> f64 {
        labels.filter(|label| !out.contains(label)).map(|label| tree.extent(label) as f64).product()
    };
    match &tree.nodes[node].step {
        Step::Leaf { .. } => 1.0,
        Step::Unary { input, .. } => extents(&mut distinct(&tree.nodes[*input].labels).into_iter()),
        Step::Contract { kinds, .. } => extents(&mut kinds.iter().map(|(label, _)| label)),
    }
}

/// Limits from the operands, computed only if an element may be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperandLimits {
    /// An element's largest error due to underflow, summed over all steps.
    pub absolute: f64,
    /// An upper bound on all steps' sums of absolute products.
    pub largest: f64,
    pub finite: bool,
}

impl OperandLimits {
    /// `operands`: each operand's largest absolute value.
    pub fn new(tree: &Tree, limits: &Limits, operands: &[f64]) -> OperandLimits {
        let finite = operands.iter().all(|largest| largest.is_finite());
        let mut below: Vec<(f64, f64)> = Vec::with_capacity(tree.nodes.len());
        for (id, node) in tree.nodes.iter().enumerate() {
            let own = terms(tree, id).ln();
            below.push(match &node.step {
                Step::Leaf { operand } => (0.0, operands[*operand].ln()),
                Step::Unary { input, .. } => (below[*input].0 + own, below[*input].1),
                Step::Contract { left, right, .. } => {
                    (below[*left].0 + below[*right].0 + own, below[*left].1 + below[*right].1)
                }
            });
        }
        let inner = |id: &usize| !matches!(tree.nodes[*id].step, Step::Leaf { .. });
        let sums = (0..tree.nodes.len()).filter(inner).map(|id| below[id].0 + below[id].1);
        let largest = sums.fold(f64::NEG_INFINITY, f64::max).exp();
        let (all_terms, all) = below[tree.root()];
        let lost = |id: usize| {
            // `later` is NaN if the step has an operand of zeros only. Then nothing is lost to underflow.
            let later = if id == tree.root() { 0.0 } else { all - below[id].1 };
            if later.is_nan() { 0.0 } else { (all_terms + later + limits.smallest.ln()).exp() }
        };
        let absolute = (0..tree.nodes.len()).filter(inner).map(lost).sum::<f64>().max(limits.absolute);
        OperandLimits { absolute, largest, finite }
    }
}
