//! The order in memory of a new result's axes, as NumPy chooses it with `order="K"`: close to that of the operands.
//!
//! NumPy's iterator sorts the axes by the operands' strides, and keeps the order of the output where the strides do not
//! decide it (`npyiter_find_best_axis_ordering` in nditer_constr.c). The results of both libraries therefore have the
//! same strides, unless an operand is broadcast (has a stride of 0).

use einsum_dist::Plan;
use einsum_dist::ndarray::ArrayViewD;
use smallvec::SmallVec;

/// The axes of the output, outermost first.
pub type Axes = SmallVec<[usize; 8]>;

/// Returns the order for the result of a plan.
pub fn axis_order<T>(plan: &Plan, operands: &[ArrayViewD<T>]) -> Axes {
    let output = &plan.output().labels;
    let mut summed: Vec<_> = (0..operands.len()).flat_map(|index| plan.operand(index).labels.clone()).collect();
    summed.retain(|label| !output.contains(label));
    summed.sort_by_key(|&label| plan.name(label));
    summed.dedup();
    let labels: Vec<_> = output.iter().copied().chain(summed).collect();
    let stride = |operand: usize, label| -> usize {
        let view = &operands[operand];
        let dims = plan.operand(operand).labels.iter().zip(view.shape()).zip(view.strides());
        let sum: isize = dims.filter(|((l, extent), _)| **l == label && **extent > 1).map(|(_, &stride)| stride).sum();
        sum.unsigned_abs()
    };
    // The innermost axis comes first, as in NumPy.
    let mut order: Vec<usize> = (0..labels.len()).rev().collect();
    for place in 1..order.len() {
        let outer = order[place];
        let mut insert = place;
        for before in (0..place).rev() {
            let both = (0..operands.len())
                .map(|operand| (stride(operand, labels[outer]), stride(operand, labels[order[before]])));
            let mut decided =
                both.filter(|&(outer, inner)| outer != 0 && inner != 0).map(|(outer, inner)| inner > outer);
            // If operands disagree, the order of the output wins.
            let Some(swap) = decided.next().map(|first| first && decided.all(|swap| swap)) else { continue };
            if !swap {
                break;
            }
            insert = before;
        }
        order[insert..=place].rotate_right(1);
    }
    order.into_iter().rev().filter(|&axis| axis < output.len()).collect()
}
