//! Files: .npy headers and data, outputs that appear whole or not at all, random operands.

mod npy;
mod pending;
mod random;
