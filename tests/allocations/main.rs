//! Tests that count allocations. They form a separate program, because the allocator counts for all threads. Only one
//! test runs at a time.

mod counting;
mod kernel;
#[path = "../common/kernels.rs"]
mod kernels;
mod memory;
mod repeated;
mod steps;

#[path = "../integration/kernel/targets.rs"]
mod targets;
