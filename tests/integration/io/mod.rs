//! Files: .npy headers and data, output files that appear completely or not at all, and random operands.

mod npy;
mod pending;
mod random;
