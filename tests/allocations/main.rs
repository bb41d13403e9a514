//! Tests that count allocations, in a program of their own because the allocator counts for all its threads. One test runs at a time.

mod counting;
mod kernel;
mod memory;
mod repeated;
mod steps;

#[path = "../integration/kernel/targets.rs"]
mod targets;
