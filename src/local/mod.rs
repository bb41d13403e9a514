//! Decides how one process contracts two strided tensors; touches no data and knows no element type.
//!
//! [`plan_contract`] takes three [`Layout`]s and a thread count and returns a [`LocalContract`]: which dimensions form
//! the matrices of the inner product, which are loops around it, which tensors are packed first, how the work is cut
//! among threads and how much workspace that takes. [`crate::kernel`] carries it out. All of it is a plain value, so a
//! planner can ask for memory long before there is a tensor.
//!
//! Deliberately absent: measured rates. `cost` ranks alternatives for one contraction and promises nothing about
//! seconds.

mod access;
mod choose;
mod contract;
mod cost;
mod fold;
mod isa;
mod layout;
mod loops;

pub use access::Access;
pub use contract::{Body, Cut, GemmPlan, LocalContract, plan_contract};
pub use fold::{Dim, fold, partition};
pub use isa::Isa;
pub use layout::Layout;
pub use loops::{Any, Dots, Line, LoopPlan, Nest, Partials, Share, plan_loops};
