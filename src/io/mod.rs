//! Reads and writes blocks of `.npy` files, generates reproducible random operands, and writes checkpoints and output
//! files of any kind.
//!
//! On every machine, elements are passed as little-endian bytes together with their [`Dtype`](crate::dtype::Dtype).
//! Blocks are dense and in C order. A block is identified by one range per dimension of the whole tensor. Each process
//! can therefore read, write or fill its blocks independently of other processes. This module does not depend on ranks,
//! communication or schedules. Several processes may write disjoint blocks of one file. The callers in these processes
//! must agree on which process writes which block, and on when all blocks are written.

pub mod checkpoint;
pub mod npy;
pub mod output;
pub mod random;
