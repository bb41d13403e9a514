//! einsum-dist

pub mod algorithm;
pub mod comm;
pub mod dims;
pub mod dist;
pub mod dtype;
pub mod io;
pub mod kernel;
pub mod memory;
pub mod schedule;
pub mod tree;
