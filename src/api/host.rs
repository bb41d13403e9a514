//! Re-exports the functions that return the name, the cores and the topology of this process's host.

pub use super::cores::{cpus, processors};
pub use super::hostname::name;
pub use super::topology::{allowed, topology};
