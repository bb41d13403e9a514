//! einsum-dist

pub mod dims;
pub mod dtype;
