//! Tests .npy headers and data, output files (which appear completely or not at all), and random operands.

mod npy;
mod pending;
mod random;
