//! einsum-dist

pub mod algorithm;
pub mod api;
pub mod comm;
pub mod dims;
pub mod dist;
pub mod dtype;
pub mod exec;
pub mod io;
pub mod kernel;
pub mod local;
pub mod machine;
pub mod memory;
pub mod plan;
pub mod schedule;
pub mod tree;

pub use api::{DistTensor, Error, Operand, Output, Problem, Program, Result, Shaped, World, einsum};
pub use dtype::Dtype;
pub use kernel::Element;
pub use machine::Machine;
pub use plan::{Options, Plan};
