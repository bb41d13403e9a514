//! Kernels.
mod element;
pub use element::Element;
