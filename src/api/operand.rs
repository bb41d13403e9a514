//! The traits of operands and outputs.

use ndarray::{ArrayBase, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension};

use crate::kernel::Element;

/// A complete, not distributed operand: any `ndarray` array or view with any strides, read in place.
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
    /// The elements, with a dimension for each label in the operand's term.
    fn view_dyn(&self) -> ArrayViewD<'_, T>;
}

/// A complete, not distributed output: any `ndarray` array or mutable view, written in place if all ranks are in this
/// process. Gaps between elements are not accessed.
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
