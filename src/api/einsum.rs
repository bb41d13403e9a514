//! The one-line way in.

use ndarray::ArrayD;

use super::{Operand, Problem, Result, World};
use crate::kernel::Element;
use crate::machine::Machine;
use crate::plan::Options;

/// Contracts whole operands in this process, on the current rayon pool; never communicates.
///
/// # Errors
/// The text is no expression, or the operands do not fit it.
///
/// ```
/// use ndarray::array;
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 1.0], [0.0, 1.0]]);
/// let c = einsum_dist::einsum("mk,kn->mn", &[&a, &b])?;
/// assert_eq!(c, array![[1.0, 3.0], [3.0, 7.0]].into_dyn());
/// # Ok::<(), einsum_dist::Error>(())
/// ```
pub fn einsum<T: Element>(expression: &str, operands: &[&dyn Operand<T>]) -> Result<ArrayD<T>> {
    let shapes: Vec<Vec<usize>> = operands.iter().map(|operand| operand.view_dyn().shape().to_vec()).collect();
    let options = Options { dtype: T::DTYPE, ..Options::default() };
    let machine = Machine::new(1, rayon::current_num_threads());
    let plan = Problem::parse(expression)?.shapes(&shapes)?.plan(&machine, &options)?;
    World::single().compile::<T>(&plan)?.run(operands)
}
