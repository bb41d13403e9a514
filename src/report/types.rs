//! Defines the values of a report, in the order of the JSON object.

use std::collections::BTreeMap;

use serde::Serialize;

/// Planned and measured numbers of bytes. `measured` is `None` without a measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bytes {
    /// Computed from the schedules.
    pub planned: MaxMean,
    /// Counted by the transports during the run.
    pub measured: Option<MaxMean>,
}

/// Maximum and mean number of bytes across ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MaxMean {
    /// Number of bytes on the busiest rank.
    pub max: u64,
    /// Mean number of bytes across all ranks.
    pub mean: f64,
}

impl MaxMean {
    pub(super) fn of(bytes: &[u64]) -> MaxMean {
        let sum: u64 = bytes.iter().sum();
        MaxMean { max: bytes.iter().copied().max().unwrap_or(0), mean: sum as f64 / bytes.len().max(1) as f64 }
    }
}

/// Planned and measured number of bytes on one rank, or on the rank with the most bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// Computed from the schedules.
    pub planned: u64,
    /// Counted during the run.
    pub measured: Option<u64>,
}

/// Number of bytes received, by the class of the link.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct ByLink {
    /// Number of bytes from ranks on the same host.
    pub same_node: u64,
    /// Number of bytes from ranks on other hosts.
    pub other_nodes: u64,
}

/// One step of the plan. Operations, seconds and bytes are summed over all slices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// The step as an expression: `mk,kn->mn`.
    pub expression: String,
    /// `contract`, `permute`, `sum`, `diagonal` or `redistribute`.
    pub op: &'static str,
    /// For a contraction, the kind of each dimension (`c`, `m`, `n` or `k`), keyed by the dimension's name.
    pub kinds: BTreeMap<String, &'static str>,
    /// For a contraction, the command-line name of its algorithm.
    pub algorithm: Option<&'static str>,
    /// Number of ranks along each cut dimension; empty on one rank.
    pub grid: BTreeMap<String, usize>,
    /// Number of operations in units of 10^9. A multiply-add counts as 2 (8 for complex numbers).
    pub gflop: f64,
    /// Measured seconds of the step on the slowest rank, summed over slices. A step starts at the start of its first
    /// work task or at the end of its first transfer, whichever is earlier, and ends at the end of its last task. A
    /// step without work starts when its first transfer is posted. Time spent waiting for other ranks in between is
    /// included.
    pub seconds: Option<f64>,
    /// Number of bytes received by a rank.
    pub bytes_received: Bytes,
    /// Minimum number of bytes that the busiest rank must receive with any algorithm
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
    /// Hardware threads on which the rank's threads may run, as numbered by the operating system.
    pub cpus: Option<Vec<usize>>,
    /// The NUMA domain that contains `cpus`; `None` if they are in several domains, or if the domain is unknown.
    pub numa: Option<usize>,
    /// Number of bytes received in all steps and slices.
    pub bytes_received: Peak,
    /// The measured number of bytes received, by link class.
    pub bytes_by_link: Option<ByLink>,
    /// Peak number of bytes in the blocks of operands and output, in intermediates, and in packing workspace.
    pub peak_bytes: Peak,
    /// Seconds of the run during which no work task ran.
    pub idle_seconds: Option<f64>,
    /// The fraction of receive time during which workers computed, from 0 to 1; `None` if there are no receives. A
    /// receive starts when its dependencies are complete, so receive time includes waiting for the sender.
    pub hidden_share: Option<f64>,
}

/// Seconds per run, over the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds {
    /// Seconds of the fastest run.
    pub min: f64,
    /// Median over all runs; for an even number of runs, the mean of the middle two.
    pub median: f64,
    /// Seconds of the slowest run.
    pub max: f64,
    /// Number of timed runs.
    pub runs: usize,
}

/// A comparison of output elements with reference values that are computed in double precision. The error of an element
/// is relative to the sum of the absolute values of its products.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckReport {
    /// Number of elements that were compared.
    pub checked: u64,
    /// Maximum error among these elements.
    pub max_error: f64,
    /// Bound on the error caused by rounding ([`Plan::roundings`](crate::Plan::roundings)).
    pub bound: f64,
    /// Whether the largest error is within the bound.
    pub ok: bool,
}

/// The result of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputReport {
    /// Shape of the whole result, over all slices and ranks.
    pub shape: Vec<usize>,
    /// Number of parts in which the result is returned; 1 if the whole result is in memory.
    pub parts: usize,
    /// The Frobenius norm of the result.
    pub norm: Option<f64>,
}

/// Everything that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The version of this object's format, which is 1.
    pub schema: u32,
    /// The expression in canonical form.
    pub expression: String,
    /// NumPy's name for the element type.
    pub dtype: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of compute threads on each rank.
    pub workers: usize,
    /// The transport between ranks.
    pub transport: Option<String>,
    /// The kernel for local contractions; the requested kernel if the plan was not resolved on a machine.
    pub kernel: String,
    /// [`Plan::fingerprint`](crate::Plan::fingerprint) in hexadecimal digits.
    pub plan_fingerprint: String,
    /// Number of times that the schedule runs to compute one result.
    pub slices: usize,
    /// [`Plan::path`](crate::Plan::path).
    pub path: Vec<[usize; 2]>,
    /// Full extents, not those of a single slice, keyed by the names of dimensions.
    pub dims: BTreeMap<String, usize>,
    /// The steps, in the order in which they run.
    pub nodes: Vec<NodeReport>,
    /// Reports of at most the first 64 ranks.
    pub per_rank: Vec<RankReport>,
    /// Seconds spent on planning.
    pub plan_seconds: Option<f64>,
    /// Seconds spent on compiling the plan.
    pub compile_seconds: Option<f64>,
    /// Seconds per run on the slowest rank. A run starts when all operands are in place, and ends when the output is
    /// complete.
    pub seconds: Option<Seconds>,
    /// Number of operations divided by the median time, in units of 10^9 per second.
    pub gflops: Option<f64>,
    /// Peak number of bytes on the rank that needs the most memory.
    pub peak_bytes: Peak,
    /// The comparison with double precision, if it was requested.
    pub check: Option<CheckReport>,
    /// The result.
    pub output: OutputReport,
}

/// Measurements of one rank in a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct Measured {
    /// Name of the host.
    pub node_name: String,
    /// Hardware threads on which the rank's threads may run.
    pub cpus: Vec<usize>,
    /// The NUMA domain that contains all of `cpus`, if there is one.
    pub numa: Option<usize>,
    /// Number of bytes received for each value of the plan.
    pub received: Vec<u64>,
    /// The total number of bytes received, by link class.
    pub by_link: ByLink,
    /// Seconds for each value of the plan, summed over slices. A value's time starts at the start of its first work
    /// task or at the end of its first transfer, whichever is earlier, and ends at the end of its last task.
    pub seconds: Vec<f64>,
    /// Peak number of bytes in the blocks of operands and output, in intermediates, and in packing workspace.
    pub peak_bytes: u64,
    /// Seconds of the run during which no work task ran.
    pub idle_seconds: f64,
    /// Seconds during which a receive was in flight. A receive starts when its dependencies are complete, so time spent
    /// waiting for the sender is included.
    pub receiving_seconds: f64,
    /// The fraction of `receiving_seconds` during which workers computed; `None` if there were no receives.
    pub hidden_share: Option<f64>,
}
