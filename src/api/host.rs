//! Collects the functions that describe this process's host, which are its name, cores and topology.
//!
//! This module only re-exports functions from other modules, and those modules do not depend on this one.

pub use super::cores::{cpus, processors};
pub use super::hostname::name;
pub use super::topology::{allowed, topology};
