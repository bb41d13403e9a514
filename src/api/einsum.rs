//! Contracts operands in a single call; defines the traits of operands and outputs.

use std::cell::RefCell;

use ndarray::{ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension};
use smallvec::SmallVec;

use super::{ProgramCache, Result};
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

/// A complete operand that is not distributed: any `ndarray` array or view with any dimensions and strides, read in
/// place.
///
/// The operands in a call have the same element type, but may differ otherwise:
///
/// ```
/// use ndarray::{Array1, Array3, Axis, arr1, s};
///
/// let stack = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (12 * i + 4 * j + k) as f64);
/// // A view of every second column of a slice, transposed and in reverse order. No element is copied.
/// let view = stack.slice(s![1, .., ..;-2]).reversed_axes();
/// let ones = Array1::from_elem(1, 1.0);
/// let sums = einsum_dist::einsum("kj,j->k", &[&view, &ones.broadcast(3).unwrap()])?;
/// assert_eq!(sums, arr1(&[15.0 + 19.0 + 23.0, 13.0 + 17.0 + 21.0]).into_dyn());
/// # Ok::<(), einsum_dist::Error>(())
/// ```
pub trait Operand<T: Element>: Sync {
    /// The elements, with one dimension for each label in the operand's term.
    fn view_dyn(&self) -> ArrayViewD<'_, T>;
}

/// A complete output that is not distributed: any `ndarray` array or mutable view, written in place if all ranks are in
/// this process. Memory between its elements is not accessed.
pub trait Output<T: Element> {
    /// The elements, with the result's dimensions.
    fn view_dyn_mut(&mut self) -> ArrayViewMutD<'_, T>;
}

impl<T: Element, S: Data<Elem = T> + Sync, D: Dimension> Operand<T> for ArrayBase<S, D> {
    fn view_dyn(&self) -> ArrayViewD<'_, T> {
        self.view().into_dyn()
    }
}

impl<T: Element, S: DataMut<Elem = T>, D: Dimension> Output<T> for ArrayBase<S, D> {
    fn view_dyn_mut(&mut self) -> ArrayViewMutD<'_, T> {
        self.view_mut().into_dyn()
    }
}
