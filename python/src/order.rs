//! The order in memory of a new result's axes, as NumPy chooses it with `order="K"`: close to that of the operands.
//!
//! NumPy's iterator sorts the axes by the operands' strides, and keeps the order of the output where the strides do not
//! decide it (`npyiter_find_best_axis_ordering` in nditer_constr.c). The results of both libraries therefore have the
//! same strides, unless an operand is broadcast (has a stride of 0).

use einsum_dist::ndarray::ArrayViewD;
use einsum_dist::{Label, Plan};
use smallvec::SmallVec;

/// The axes of the output, outermost first.
pub type Axes = SmallVec<[usize; 8]>;

/// The nonzero strides of a label, by operand in ascending order.
type Strides = SmallVec<[(usize, usize); 4]>;

/// NumPy has no more labels. Larger expressions get results in row-major order, because the order would take longer to
/// find than many of them take to compute.
const MAX_LABELS: usize = 52;

/// Returns the order for the result of a plan.
pub fn axis_order<T>(plan: &Plan, operands: &[ArrayViewD<T>]) -> Axes {
    let output = &plan.output().labels;
    let in_order = (0..output.len()).collect();
    if output.len() < 2 {
        return in_order;
    }
    let mut labels: Vec<Label> = output.clone();
    for operand in 0..operands.len() {
        for &label in &plan.operand(operand).labels {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        if labels.len() > MAX_LABELS {
            return in_order;
        }
    }
    labels[output.len()..].sort_by_key(|&label| plan.name(label));
    let strides: Vec<Strides> = labels.iter().map(|&label| strides(plan, operands, label)).collect();
    // The innermost axis comes first, as in NumPy.
    let mut order: Vec<usize> = (0..labels.len()).rev().collect();
    for place in 1..order.len() {
        let outer = &strides[order[place]];
        let mut insert = place;
        for before in (0..place).rev() {
            match is_inside(outer, &strides[order[before]]) {
                None => {}
                Some(true) => insert = before,
                Some(false) => break,
            }
        }
        order[insert..=place].rotate_right(1);
    }
    order.into_iter().rev().filter(|&axis| axis < output.len()).collect()
}

fn strides<T>(plan: &Plan, operands: &[ArrayViewD<T>], label: Label) -> Strides {
    let stride = |operand: usize| {
        let view = &operands[operand];
        let dims = plan.operand(operand).labels.iter().zip(view.shape()).zip(view.strides());
        let sum: isize = dims.filter(|((l, extent), _)| **l == label && **extent > 1).map(|(_, &stride)| stride).sum();
        (operand, sum.unsigned_abs())
    };
    (0..operands.len()).map(stride).filter(|&(_, stride)| stride != 0).collect()
}

/// Whether an axis has the smaller stride in all operands that have both. `None` if there is no such operand.
fn is_inside(axis: &Strides, other: &Strides) -> Option<bool> {
    let mut inside = None;
    for &(operand, stride) in axis {
        let Some(&(_, theirs)) = other.iter().find(|&&(theirs, _)| theirs == operand) else { continue };
        // If operands disagree, the order of the output wins.
        inside = Some(inside != Some(false) && theirs > stride);
    }
    inside
}
