//! Contracts operands in a single call.

use std::cell::RefCell;

use ndarray::{ArrayD, ArrayViewD};
use smallvec::SmallVec;

use super::{Operand, ProgramCache, Result};
use crate::kernel::Element;
use crate::plan::PlanOptions;

/// Contracts whole operands in this process on the current rayon pool. Returns a new row-major array.
/// `docs/expressions.md` describes expressions.
///
/// Cost: The first call parses, plans and compiles. Later calls with the same text, shapes, element type and number of
/// threads reuse it, from a [`ProgramCache`](crate::ProgramCache) per thread, of up to 256 programs and 16 MiB of
/// buffers; a [`Program`] that you compile yourself is never evicted. Operands may have any strides. Intermediates and
/// packing need memory.
///
/// # Errors
/// If the text is not an expression ([`Error::Parse`]), or the operands do not match it ([`Error::Shape`]). Both
/// contain the position in the text.
///
/// ```
/// use ndarray::array;
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 1.0], [0.0, 1.0]]);
/// let c = einsum_dist::einsum("mk,kn->mn", &[&a, &b.t()])?;
/// assert_eq!(c, array![[3.0, 2.0], [7.0, 4.0]].into_dyn());
///
/// match einsum_dist::einsum("mk,kn->mn", &[&a, &array![[1.0], [2.0], [3.0]]]) {
///     Err(einsum_dist::Error::Shape(error)) => println!("{}", error.render()),
///     other => panic!("expected an error, got {other:?}"),
/// }
/// # Ok::<(), einsum_dist::Error>(())
/// ```
///
/// [`Program`]: crate::Program
/// [`Error::Parse`]: crate::Error::Parse
/// [`Error::Shape`]: crate::Error::Shape
pub fn einsum<T: Element>(expression: &str, operands: &[&dyn Operand<T>]) -> Result<ArrayD<T>> {
    thread_local! {
        static CACHE: RefCell<Option<ProgramCache>> = const { RefCell::new(None) };
    }
    let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| operand.view_dyn()).collect();
    let shapes: SmallVec<[&[usize]; 4]> = views.iter().map(|view| view.shape()).collect();
    // The cache is not in its place during the run: a worker that waits may steal a task that calls this function.
    let mut cache = CACHE.take().unwrap_or_default();
    let out = cache.run::<T, _>(expression, &shapes, &PlanOptions::default(), |program| program.run(operands));
    CACHE.set(Some(cache));
    out
}
