//! Input and output of elements: blocks of `.npy` files and reproducible random numbers; and how files of any kind are
//! written.
//!
//! Elements are bytes here, little endian on every machine, of a [`Dtype`](crate::dtype::Dtype); blocks are dense and
//! in C order. A block is named by one range per dimension of the whole tensor, so that each holder of a block can
//! read, write or fill it alone. Deliberately absent: ranks, communication and schedules. Several processes share a
//! file by touching disjoint blocks of it; the callers agree on which process touches which, and on when all are done.

pub mod npy;
pub mod output;
pub mod random;
