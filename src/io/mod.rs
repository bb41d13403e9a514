//! Input and output: blocks of `.npy` files, reproducible random operands, and output files of any kind.
//!
//! Elements are passed as little-endian bytes on every machine, with their [`Dtype`](crate::dtype::Dtype). Blocks are
//! dense and in C order. A block is identified by one range per dimension of the whole tensor, so each process can
//! read, write or fill its blocks without the others. Deliberately absent: ranks, communication and schedules. Several
//! processes may write disjoint blocks of one file. Their callers agree on which process writes which block, and on
//! when all are done.

pub mod npy;
pub mod output;
pub mod random;
