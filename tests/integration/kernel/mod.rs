//! Compares the kernels of a single process with the reference.

mod case;
mod check;
mod contract;
mod contract_fixed;
mod coverage;
mod expected;
mod long_sums;
mod permute;
mod prefetch;
mod products;
mod stream;
mod targets;
mod tensor;
mod unary;
