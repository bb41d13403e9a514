//! What can be contracted and what can be written into: every ndarray array and view.

use ndarray::{ArrayBase, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension};

use crate::kernel::Element;

/// A whole operand: any `ndarray` array or view, of any rank and strides; never copied on one rank.
pub trait Operand<T: Element>: Sync {
    fn view_dyn(&self) -> ArrayViewD<'_, T>;
}

/// A whole output: any `ndarray` array or mutable view.
pub trait Output<T: Element> {
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
