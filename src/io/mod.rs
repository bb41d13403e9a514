//! Blocks of `.npy` files, reproducible random operands, checkpoints and output files.
//!
//! Elements are passed as little-endian bytes on every machine. Blocks are dense, in C order, and given by one range
//! per dimension. Processes may write disjoint blocks of one file if they agree on them and on when all are written.

pub mod checkpoint;
pub mod npy;
pub mod output;
pub mod random;
