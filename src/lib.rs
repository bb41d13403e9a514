//! einsum-dist

pub mod comm;
pub mod dims;
pub mod dtype;
pub mod kernel;
pub mod memory;
