//! The values of a report, in the order of the JSON object.

use std::collections::BTreeMap;

use serde::Serialize;

/// Planned and measured bytes; without a measurement, `measured` is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bytes {
    /// From the schedules.
    pub planned: MaxMean,
    /// Counted as bytes moved.
    pub measured: Option<MaxMean>,
}

/// Maximum and mean of bytes over ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MaxMean {
    /// Bytes of the busiest rank.
    pub max: u64,
    /// Mean over all ranks.
    pub mean: f64,
}

impl MaxMean {
    pub(super) fn of(bytes: &[u64]) -> MaxMean {
        let sum: u64 = bytes.iter().sum();
        MaxMean { max: bytes.iter().copied().max().unwrap_or(0), mean: sum as f64 / bytes.len().max(1) as f64 }
    }
}

/// Planned and measured bytes of one rank, or of the busiest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// From the schedules.
    pub planned: u64,
    /// Counted in the run.
    pub measured: Option<u64>,
}

/// Bytes by the class of the link over which they came.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct ByLink {
    /// From ranks of the same host.
    pub same_node: u64,
    /// From other hosts.
    pub other_nodes: u64,
}

/// One step of the plan; operations, seconds and bytes are summed over all slices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// The step as an expression: `mk,kn->mn`.
    pub expression: String,
    /// `contract`, `permute`, `sum`, `diagonal` or `redistribute`.
    pub op: &'static str,
    /// For a contraction, the kind of every dimension, by name: `c`, `m`, `n` or `k`.
    pub kinds: BTreeMap<String, &'static str>,
    /// For a contraction, the command-line name of its algorithm.
    pub algorithm: Option<&'static str>,
    /// Ranks per cut dimension; empty on one rank.
    pub grid: BTreeMap<String, usize>,
    /// Operations in units of 10^9, 2 per multiply-add (8 for complex numbers).
    pub gflop: f64,
    /// From the start of the step's first work, or the end of its first transfer, to the end of its last task, on the
    /// slowest rank; summed over slices. Includes waiting for other ranks in between.
    pub seconds: Option<f64>,
    /// Bytes that a rank receives.
    pub bytes_received: Bytes,
    /// Bytes that the busiest rank must receive with any algorithm
    /// ([`Plan::lower_bound_bytes`](crate::Plan::lower_bound_bytes)).
    pub lower_bound_bytes: Option<f64>,
    /// Seconds predicted by the cost model.
    pub predicted_seconds: f64,
}

/// The plan and the measurements of one rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankReport {
    /// Name of the host.
    pub node_name: Option<String>,
    /// Cores that its threads may use, as the system numbers hardware threads.
    pub cpus: Option<Vec<usize>>,
    /// The NUMA domain of these cores; `None` if they belong to several, or if it is unknown.
    pub numa: Option<usize>,
    /// Bytes received in all steps and slices.
    pub bytes_received: Peak,
    /// The measured bytes by link class.
    pub bytes_by_link: Option<ByLink>,
    /// Bytes of the blocks of operands and output, intermediates, and packing workspace.
    pub peak_bytes: Peak,
    /// Seconds in which workers were idle.
    pub idle_seconds: Option<f64>,
    /// The share of the time with a receive under way during which workers computed, from 0 to 1; `None` without
    /// receives. A receive is under way from the moment it may begin, so waiting for the other rank counts, and
    /// computing meanwhile hides it.
    pub hidden_share: Option<f64>,
}

/// Seconds over the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds {
    /// Of the quickest run.
    pub min: f64,
    /// Of the run in the middle, or the mean of two.
    pub median: f64,
    /// Of the slowest run.
    pub max: f64,
    /// How many runs were timed.
    pub runs: usize,
}

/// A comparison of output elements with double precision; errors are relative to the sum of |products| of an element.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckReport {
    /// How many elements were compared.
    pub checked: u64,
    /// Largest error of all of them.
    pub max_error: f64,
    /// The largest error that rounding can explain ([`Plan::roundings`](crate::Plan::roundings)).
    pub bound: f64,
    /// Whether the largest error is within the bound.
    pub ok: bool,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputReport {
    /// Shape over all slices and ranks.
    pub shape: Vec<usize>,
    /// Number of parts in which it is delivered; 1 if it is held whole.
    pub parts: usize,
    /// The Frobenius norm.
    pub norm: Option<f64>,
}

/// Everything that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The version of this object: 1.
    pub schema: u32,
    /// The expression in canonical form.
    pub expression: String,
    /// NumPy's name of the element type.
    pub dtype: String,
    /// How many ranks there are.
    pub ranks: usize,
    /// Compute threads of each rank.
    pub workers: usize,
    /// How bytes move between ranks.
    pub transport: Option<String>,
    /// The kernel of local contractions; the requested one if the plan was not resolved on a machine.
    pub kernel: String,
    /// [`Plan::fingerprint`](crate::Plan::fingerprint) in hexadecimal digits.
    pub plan_fingerprint: String,
    /// How many times the schedule runs for one result.
    pub slices: usize,
    /// [`Plan::path`](crate::Plan::path).
    pub path: Vec<[usize; 2]>,
    /// Extents by name, over all slices.
    pub dims: BTreeMap<String, usize>,
    /// Steps, in the order in which they run.
    pub nodes: Vec<NodeReport>,
    /// The first 64 ranks at most.
    pub per_rank: Vec<RankReport>,
    /// Seconds that planning took.
    pub plan_seconds: Option<f64>,
    /// Seconds that compiling took.
    pub compile_seconds: Option<f64>,
    /// Seconds of a run, from operands in place to output in place, on the slowest rank.
    pub seconds: Option<Seconds>,
    /// All operations divided by the median of the seconds, in units of 10^9 per second.
    pub gflops: Option<f64>,
    /// Peak bytes of the busiest rank.
    pub peak_bytes: Peak,
    /// The comparison, if one was requested.
    pub check: Option<CheckReport>,
    /// The result.
    pub output: OutputReport,
}

/// Measurements of one rank in a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct Measured {
    /// Name of the host.
    pub node_name: String,
    /// Cores that its threads may use.
    pub cpus: Vec<usize>,
    /// The NUMA domain that contains all of them.
    pub numa: Option<usize>,
    /// Bytes received, per value of the plan.
    pub received: Vec<u64>,
    /// The same bytes by link class.
    pub by_link: ByLink,
    /// From the start of the first work, or the end of the first transfer, to the end of the last task, per value of
    /// the plan; summed over slices.
    pub seconds: Vec<f64>,
    /// Bytes of the blocks of operands and output, intermediates, and packing workspace.
    pub peak_bytes: u64,
    /// Seconds in which workers were idle.
    pub idle_seconds: f64,
    /// Seconds with a receive under way, from the moment it may begin: waiting for the other rank counts.
    pub receiving_seconds: f64,
    /// The share of these seconds during which workers computed; `None` without receives.
    pub hidden_share: Option<f64>,
}
