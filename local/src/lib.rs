//! Plans and runs the contractions of one process, for the crate `einsum-dist`. Anything may change in any version.
//!
//! As a crate of their own, kernels are compiled only when they change.

#[warn(missing_docs)]
pub mod dims;
#[warn(missing_docs)]
pub mod dtype;
pub mod kernel;
pub mod local_plan;
