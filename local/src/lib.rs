//! Plans and runs the contractions of one process, for the crate `einsum-dist`. Anything may change in any version.
//!
//! Kernels take most of a build, and as a crate of their own they are compiled only when they change.

#[warn(missing_docs)]
pub mod dims;
#[warn(missing_docs)]
pub mod dtype;
pub mod kernel;
pub mod local_plan;
