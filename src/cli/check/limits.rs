//! How far a correct element may be from the one in double precision.
//!
//! # Rounding
//!
//! Let u be the unit roundoff (2^-24 in single, 2^-53 in double precision) and gamma_n = n u / (1 - n u). A sum of products of
//! p factors in which no term goes through more than c additions is off by at most gamma_(c+p) times the sum of the absolute
//! products (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 2002, section 3.1 and lemma 3.1).
//! Sums of this program are sums of blocks of at most b terms, of which pairs are added, pairs of these and so on: there
//! c = b + log2(k / b), not k (section 4.2). [`einsum_dist::local_plan::longest_chain`] has b for every kind of sum,
//! [`einsum_dist::Plan::roundings`] adds what threads, ranks and slices add up, along the tree: relative errors of steps
//! add up, since the absolute products of a step are products of those before it. Real and
//! imaginary parts of complex numbers are sums of as many products each, put together by one addition more, and
//! |a b| + |c d| <= |a + c i| |b + d i|; so their bound is sqrt(2) times that, for two parts.
//!
//! In single precision c is below 300 for sums that are one number, 700 for matrix products over one dimension and 1,100 for all
//! others, so the bound is below 2e-5, 5e-5 and 7e-5 for every k up to 10^9. Zeros instead of sums of k products of random signs are off by about
//! 1.3 / sqrt(k), the largest of several elements by more: 3e-3 where k is 200,000, and 1.3e-4 where it is 10^8.
//!
//! # Trees
//!
//! Along a tree of many steps absolute products outgrow the elements: a chain of ten products over 64 has elements of 1e-8 of
//! them, and rounding errors far below the bound above, which zeros would pass. There the bound is the smaller of it and
//! [`CONFIDENCE`] times what errors of random signs, as large as they can be in each step, come to: see [`super::sum`]. What a step may do
//! is gamma of the whole tree times the absolute products of its own two operands, as if all errors up to there pointed the same way. By the
//! inequality of Cauchy and Schwarz that is at most gamma sqrt(n) times the root of the sum of the squares of its n products.
//!
//! # Underflow
//!
//! A product below the normal numbers is off by at most half of the smallest subnormal number (section 2.1, equation 2.8; sums
//! are exact there), or four times that for the products of a complex one; the bound has twice this, as double
//! precision may lose as much. What a step of the tree loses is multiplied
//! by the operands that come later. So an element may be off by one such number for each of its products, times the largest
//! absolute values of the operands that are no part of the step, for all steps together.
//!
//! # Overflow
//!
//! What is beyond the largest number in double precision has to be infinite, with that sign. If an element in double
//! precision is a number and the result's is none, the absolute products may be too large for the type, or those of a step may be:
//! then it is an overflow, else it is wrong.
//!
//! Invariant: limits depend on the plan, the operands and the element only, and are the same on every rank.

use einsum_dist::dims::Label;
use einsum_dist::kernel::error_bound;
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{Dtype, Plan};

use super::cost::{Evaluation, distinct, inputs};
use super::sum::{Rounding, Wanted, scaled};

/// As many times what random errors come to may an element be off by.
const CONFIDENCE: f64 = 4.0;

/// A loss by underflow whose square is a number.
const LARGEST_LOSS: f64 = 1e140;

/// What a type can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Relative to the sum of absolute products.
    pub relative: f64,
    /// By underflow: in the last step, or in all of them once the operands are known.
    pub absolute: f64,
    pub largest: f64,
    /// What a product may lose to underflow.
    pub smallest: f64,
    pub complex: bool,
    /// Whether parts of complex numbers that are no numbers depend on the order of factors.
    pub unordered: bool,
}

impl Limits {
    pub fn new(plan: &Plan, tree: &Tree) -> Limits {
        let (largest, smallest) = match plan.dtype {
            Dtype::Float32 | Dtype::Complex64 => (f64::from(f32::MAX), f64::from(f32::from_bits(1))),
            Dtype::Float64 | Dtype::Complex128 => (f64::MAX, f64::from_bits(1)),
        };
        let smallest = smallest * if plan.dtype.is_complex() { 8.0 } else { 2.0 };
        // What double precision is compared with is rounded there, too: products, and a dozen additions in each step.
        let steps = tree.nodes.len() as u64;
        let own = if largest > 1e100 { 2 * plan.operands as u64 + 14 * steps } else { 0 };
        // Real and imaginary parts are two sums, put together by one more addition in each step.
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

    /// How far an element may be off.
    pub fn room(&self, want: &Wanted) -> f64 {
        let sure = self.relative * want.magnitude.min(f64::MAX) + self.absolute;
        // Numbers without a square have no such error.
        if want.spread.is_finite() { sure.min(CONFIDENCE * want.spread) } else { sure }
    }

    /// What a run rounds off in each step, of operands that are divided by powers of two.
    pub fn roundings(&self, tree: &Tree, evaluation: Evaluation, exponents: &[i32]) -> Vec<Rounding> {
        let rounding = |id: usize, terms: f64, exponent: i32| {
            let absolute = (terms * scaled(self.smallest, -exponent)).min(LARGEST_LOSS);
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

/// Contractions and sums of a tree.
pub fn steps(tree: &Tree) -> usize {
    (0..tree.nodes.len())
        .filter(|&id| match tree.nodes[id].step {
            Step::Leaf { .. } => false,
            Step::Unary { .. } => terms(tree, id) > 1.0,
            Step::Contract { .. } => true,
        })
        .count()
}

/// Products of operands in the sum of one element.
pub fn products(tree: &Tree) -> f64 {
    (0..tree.nodes.len()).map(|id| terms(tree, id)).product()
}

/// Products that a step sums, or numbers.
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

/// What depends on the operands: asked for only where an element may be wrong, as they have to be read for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// How far an element may be off by underflow.
    pub absolute: f64,
    /// The largest absolute sum of any step, at most.
    pub largest: f64,
    /// Whether all operands are numbers.
    pub finite: bool,
}

impl Reach {
    /// `operands`: the largest absolute value of each.
    pub fn new(tree: &Tree, limits: &Limits, operands: &[f64]) -> Reach {
        let finite = operands.iter().all(|largest| largest.is_finite());
        // Per node, as logarithms: terms of one element, and the largest product of the operands below.
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
            // Zeros lose nothing, whatever comes later.
            let later = if id == tree.root() { 0.0 } else { all - below[id].1 };
            if later.is_nan() { 0.0 } else { (all_terms + later + limits.smallest.ln()).exp() }
        };
        let absolute = (0..tree.nodes.len()).filter(inner).map(lost).sum::<f64>().max(limits.absolute);
        Reach { absolute, largest, finite }
    }
}
