//! The machine that a plan is for: a plain value.
//!
//! Plans depend on a machine only through this value, so a laptop plans for a cluster. Deliberately absent: probing and
//! calibration; the default rates are of one common server core and its memory, and only their ratios matter to a choice.

mod file;

use serde::{Deserialize, Serialize};

/// Ranks, workers and rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Members of a run.
    pub ranks: usize,
    /// Compute threads of each rank.
    pub workers: usize,
    /// Operations per second of one worker in single precision; double precision runs at half of it.
    pub flops: f64,
    /// Bytes per second that one worker reads or writes in memory.
    pub memory_bandwidth: f64,
    /// Bytes per second that one rank receives.
    pub link_bandwidth: f64,
    /// Seconds that a transfer takes whatever its size.
    pub link_latency: f64,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine { ranks: 1, workers: 1, flops: 8e10, memory_bandwidth: 1e10, link_bandwidth: 4e9, link_latency: 1e-5 }
    }
}

impl Machine {
    /// This many ranks of this many workers, with default rates.
    pub fn new(ranks: usize, workers: usize) -> Machine {
        Machine { ranks, workers, ..Machine::default() }
    }
}
