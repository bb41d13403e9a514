//! The values of a report, in the order of the JSON object.

use std::collections::BTreeMap;

use serde::Serialize;

/// Planned and measured bytes; without a measurement, `measured` is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bytes {
    /// Computed from the schedules.
    pub planned: MaxMean,
    /// Counted by the transports during the run.
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

/// Planned and measured bytes of one rank, or of the rank with the most bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// Computed from the schedules.
    pub planned: u64,
    /// Counted in the run.
    pub measured: Option<u64>,
}

/// Received bytes by the class of their link.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct ByLink {
    /// Bytes from ranks of the same host.
    pub same_node: u64,
    /// Bytes from ranks of other hosts.
    pub other_nodes: u64,
}

/// One step of the plan. Operations, seconds and bytes are summed over all slices.
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
    /// Measured seconds of the step on the slowest rank, summed over slices. A step lasts from the start of its first
    /// work task or the end of its first transfer, whichever is earlier, to the end of its last task. A step without
    /// work starts when its first transfer is posted. Waiting for other ranks in between counts.
    pub seconds: Option<f64>,
    /// Bytes received by a rank.
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
    /// Hardware threads on which its threads may run, by the operating system's numbers.
    pub cpus: Option<Vec<usize>>,
    /// The NUMA domain of `cpus`; `None` if they belong to several domains, or if the domain is unknown.
    pub numa: Option<usize>,
    /// Bytes received in all steps and slices.
    pub bytes_received: Peak,
    /// The measured bytes by link class.
    pub bytes_by_link: Option<ByLink>,
    /// Bytes of the blocks of operands and output, intermediates, and packing workspace.
    pub peak_bytes: Peak,
    /// Seconds of the run during which no work task ran.
    pub idle_seconds: Option<f64>,
    /// The fraction of receive time during which workers computed, from 0 to 1; `None` without receives. A receive
    /// starts when its dependencies are complete, so receive time includes waiting for the sender.
    pub hidden_share: Option<f64>,
}

/// Seconds over the timed runs.
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

/// A comparison of output elements with their values in double precision. The error of an element is relative to the
/// sum of its |products|.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckReport {
    /// Number of elements that were compared.
    pub checked: u64,
    /// Maximum error of these elements.
    pub max_error: f64,
    /// Bound on the error caused by rounding ([`Plan::roundings`](crate::Plan::roundings)).
    pub bound: f64,
    /// Whether the largest error is within the bound.
    pub ok: bool,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputReport {
    /// Shape of the whole result, over all slices and ranks.
    pub shape: Vec<usize>,
    /// Number of parts in which the result is returned; 1 if the whole result is in memory.
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
    /// Number of ranks.
    pub ranks: usize,
    /// Number of compute threads of each rank.
    pub workers: usize,
    /// The transport between ranks.
    pub transport: Option<String>,
    /// The kernel of local contractions; the requested kernel if the plan was not resolved on a machine.
    pub kernel: String,
    /// [`Plan::fingerprint`](crate::Plan::fingerprint) in hexadecimal digits.
    pub plan_fingerprint: String,
    /// Number of times that the schedule runs for one result.
    pub slices: usize,
    /// [`Plan::path`](crate::Plan::path).
    pub path: Vec<[usize; 2]>,
    /// Extents by name, over all slices.
    pub dims: BTreeMap<String, usize>,
    /// Steps, in the order in which they run.
    pub nodes: Vec<NodeReport>,
    /// Reports of at most the first 64 ranks.
    pub per_rank: Vec<RankReport>,
    /// Seconds spent on planning.
    pub plan_seconds: Option<f64>,
    /// Seconds spent on compiling the plan.
    pub compile_seconds: Option<f64>,
    /// Seconds of a run, from operands in place to output in place, on the slowest rank.
    pub seconds: Option<Seconds>,
    /// All operations divided by the median of the seconds, in units of 10^9 per second.
    pub gflops: Option<f64>,
    /// Peak bytes of the rank that needs the most memory.
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
    /// Hardware threads on which its threads may run.
    pub cpus: Vec<usize>,
    /// The NUMA domain that contains all of `cpus`, if there is one.
    pub numa: Option<usize>,
    /// Bytes received for each value of the plan.
    pub received: Vec<u64>,
    /// The same bytes, by link class.
    pub by_link: ByLink,
    /// Seconds for each value of the plan, summed over slices: from the start of its first work task or the end of its
    /// first transfer, whichever is earlier, to the end of its last task.
    pub seconds: Vec<f64>,
    /// Bytes of the blocks of operands and output, intermediates, and packing workspace.
    pub peak_bytes: u64,
    /// Seconds of the run during which no work task ran.
    pub idle_seconds: f64,
    /// Seconds during which a receive is in flight. A receive starts when its dependencies are complete, so waiting for
    /// the sender counts.
    pub receiving_seconds: f64,
    /// The fraction of these seconds during which workers computed; `None` without receives.
    pub hidden_share: Option<f64>,
}
