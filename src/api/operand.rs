//! The traits of operands and outputs.

use ndarray::{ArrayBase, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension};

use crate::kernel::Element;

/// A complete, not distributed operand: any `ndarray` array or view with any strides, read in place.
///
/// The operands in a call have the same element type, but may differ otherwise.
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
