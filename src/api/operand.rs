//! What can be contracted and what can be written into: every ndarray array and view.

use ndarray::{ArrayBase, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension};

use crate::kernel::Element;

/// A whole operand: any `ndarray` array or view, of any number of dimensions and any strides, negative ones and
/// repeated elements among them. It is borrowed and read where it lies.
///
/// Operands of one call may differ in everything but the element type:
///
/// ```
/// use ndarray::{Array1, Array3, Axis, arr1, s};
///
/// let stack = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (12 * i + 4 * j + k) as f64);
/// // Every second column of a slice, transposed and backwards: a view, of which nothing is copied.
/// let view = stack.slice(s![1, .., ..;-2]).reversed_axes();
/// let ones = Array1::from_elem(1, 1.0);
/// let sums = einsum_dist::einsum("kj,j->k", &[&view, &ones.broadcast(3).unwrap()])?;
/// assert_eq!(sums, arr1(&[15.0 + 19.0 + 23.0, 13.0 + 17.0 + 21.0]).into_dyn());
/// # Ok::<(), einsum_dist::Error>(())
/// ```
pub trait Operand<T: Element>: Sync {
    /// The elements, as a view of as many dimensions as the term of the operand has labels.
    fn view_dyn(&self) -> ArrayViewD<'_, T>;
}

/// A whole output: any `ndarray` array or mutable view, of any strides. Where all ranks are in this process it is
/// written where it lies; nothing outside its elements is touched.
pub trait Output<T: Element> {
    /// The elements, as a view of as many dimensions as the result has.
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
