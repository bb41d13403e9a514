//! The host of this process: name, cores, topology.
//!
//! Deliberately absent: definitions, so that what these functions depend on need not depend on this module.

pub use super::cores::{cpus, processors};
pub use super::hostname::name;
pub use super::topology::{allowed, topology};
