//! Executes a [`SmallBatchPlan`] with LIBXSMM.
//!
//! A product that must be scaled or added goes through its share's buffer. Plain loops replace missing code.

use rayon::prelude::*;

use super::Element;
use super::gemm::Arguments;
use super::xsmm::Tile;
use crate::local_plan::SmallBatchPlan;

/// # Safety
/// `arguments` and `workspace` meet the requirements of [`super::gemm::run`] for this plan, and the element type is
/// real.
pub(super) unsafe fn run<T: Element>(plan: &SmallBatchPlan, arguments: Arguments<T>, workspace: &mut [T]) {
    let direct = arguments.alpha == T::ONE && arguments.beta == T::ZERO;
    let adds = arguments.alpha == T::ONE && arguments.beta == T::ONE;
    let [left, right, out] = plan.leads;
    let leads = if direct { plan.leads } else { [left, right, plan.extents[0]] };
    let code = Tile::<T::Real>::get(plan.extents, leads, plan.right_by_rows);
    let share = |number: usize, buffer: &mut [T]| {
        let products = plan.share(number);
        let mut next = products.start;
        while next < products.end {
            let (start, count, step) = plan.run(next);
            let count = count.min(products.end - next);
            let [mut a, mut b] = [0, 1].map(|t| arguments.operands[t].at(start[t]));
            let mut c = arguments.out.at(start[2]);
            for _ in 0..count {
                // SAFETY: guaranteed by the caller for products of the plan; the buffer has room for one.
                unsafe {
                    match code {
                        Some(code) if direct => code.call(a.cast(), b.cast(), c.cast()),
                        Some(code) => {
                            code.call(a.cast(), b.cast(), buffer.as_mut_ptr().cast());
                            match adds {
                                true => add(plan, buffer, c, out),
                                false => {
                                    let rows = plan.extents[0];
                                    merge(plan, &arguments, |row, column| buffer[column * rows + row], c, out);
                                }
                            }
                        }
                        None => merge(plan, &arguments, |row, column| sum(plan, a, b, row, column), c, out),
                    }
                }
                (a, b) = (a.wrapping_offset(step[0]), b.wrapping_offset(step[1]));
                c = c.wrapping_offset(step[2]);
            }
            next += count;
        }
    };
    if plan.shares == 1 {
        share(0, workspace);
    } else {
        let parts = workspace.par_chunks_exact_mut(plan.share_elements()).with_max_len(1);
        parts.enumerate().for_each(|(number, buffer)| share(number, buffer));
    }
}

/// # Safety
/// All elements of the product's operands may be read.
unsafe fn sum<T: Element>(plan: &SmallBatchPlan, a: *const T, b: *const T, row: usize, column: usize) -> T {
    let [left, right, _] = plan.leads;
    let across = if plan.right_by_rows { [right, 1] } else { [1, right] };
    // SAFETY: guaranteed by the caller.
    let term = |k: usize| unsafe { *a.add(k * left + row) * *b.add(k * across[0] + column * across[1]) };
    (0..plan.extents[2]).fold(T::ZERO, |sum, k| sum + term(k))
}

/// Adds a product to `out`.
///
/// # Safety
/// Same as for [`merge`]; `out` is initialised.
unsafe fn add<T: Element>(plan: &SmallBatchPlan, product: &[T], out: *mut T, lead: usize) {
    for (column, values) in product.chunks_exact(plan.extents[0]).enumerate() {
        for (row, &value) in values.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { *out.add(column * lead + row) += value };
        }
    }
}

/// Computes `out = alpha product + beta out`. If `beta` is 0, `out` is not read.
///
/// # Safety
/// The columns of `out` are `lead` elements apart. The elements of these columns may be written, and are initialised
/// unless `beta` is 0.
unsafe fn merge<T: Element>(
    plan: &SmallBatchPlan,
    arguments: &Arguments<T>,
    product: impl Fn(usize, usize) -> T,
    out: *mut T,
    lead: usize,
) {
    let [rows, columns, _] = plan.extents;
    for column in 0..columns {
        for row in 0..rows {
            let value = arguments.alpha * product(row, column);
            // SAFETY: guaranteed by the caller.
            unsafe {
                let to = out.add(column * lead + row);
                *to = if arguments.beta == T::ZERO { value } else { value + arguments.beta * *to };
            }
        }
    }
}
