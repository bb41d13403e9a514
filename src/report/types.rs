//! The types of a report, with fields in the order of its JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::plan::{PathMethod, Plan, SearchedTree, Source};

/// Planned and, after a run, measured bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bytes {
    /// Bytes according to the schedules.
    pub planned: MaxMean,
    /// Bytes counted by the transports.
    pub measured: Option<MaxMean>,
}

/// Maximum and mean bytes across ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MaxMean {
    /// Bytes on the busiest rank.
    pub max: u64,
    /// Mean bytes of all ranks.
    pub mean: f64,
}

impl MaxMean {
    pub(super) fn of(bytes: &[u64]) -> MaxMean {
        let sum: u64 = bytes.iter().sum();
        MaxMean { max: bytes.iter().copied().max().unwrap_or(0), mean: sum as f64 / bytes.len().max(1) as f64 }
    }
}

/// Bytes on one rank, or the rank with the most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// Bytes according to the schedules.
    pub planned: u64,
    /// Bytes counted during the run.
    pub measured: Option<u64>,
}

/// Bytes received from the same host and from others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct ByLink {
    /// Bytes from the same host.
    pub same_node: u64,
    /// Bytes from other hosts.
    pub other_nodes: u64,
}

/// A candidate that receives fewer bytes than the chosen algorithm, which is predicted to be faster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FewestBytes {
    /// The algorithm's name on the command line.
    pub algorithm: &'static str,
    /// The ranks along each cut dimension.
    pub grid: BTreeMap<String, usize>,
    /// Bytes that the busiest rank would receive.
    pub bytes: f64,
    /// Predicted seconds.
    pub predicted_seconds: f64,
}

/// One step, with sums over all slices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// Its expression, such as `mk,kn->mn`.
    pub expression: String,
    /// `contract`, `permute`, `sum`, `diagonal` or `redistribute`.
    pub op: &'static str,
    /// Names and kinds (`c`, `m`, `n` or `k`) of a contraction's dimensions.
    pub kinds: BTreeMap<String, &'static str>,
    /// The command-line name of a contraction's algorithm.
    pub algorithm: Option<&'static str>,
    /// A contraction's ranks along each cut dimension; empty on one rank.
    pub grid: BTreeMap<String, usize>,
    /// Operations in units of 10^9.
    pub gflop: f64,
    /// Measured seconds on the slowest rank, with waiting for others, from the step's first work task or the end of its
    /// first transfer, whichever is earlier (without work, from the posting of the first transfer), to its last task.
    pub seconds: Option<f64>,
    /// Bytes that a rank receives for this step.
    pub bytes_received: Bytes,
    /// [`Plan::lower_bound_bytes`](crate::Plan::lower_bound_bytes).
    pub lower_bound_bytes: Option<f64>,
    /// Predicted seconds.
    pub predicted_seconds: f64,
    /// If some candidate receives over 2 % fewer bytes.
    pub fewest_bytes: Option<FewestBytes>,
}

/// One rank's plan and measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankReport {
    /// The host's name.
    pub node_name: Option<String>,
    /// Hardware threads, by the operating system's numbers.
    pub cpus: Option<Vec<usize>>,
    /// The NUMA domain of `cpus`; `None` if unknown or several.
    pub numa: Option<usize>,
    /// Bytes received in all steps and slices.
    pub bytes_received: Peak,
    /// Measured bytes by link.
    pub bytes_by_link: Option<ByLink>,
    /// Peak bytes of operands, output, intermediates and packing workspace.
    pub peak_bytes: Peak,
    /// Seconds without a work task.
    pub idle_seconds: Option<f64>,
    /// The fraction (0 to 1) of the receiving time, with waiting for the sender, during which workers computed; `None`
    /// if the rank received nothing.
    pub hidden_share: Option<f64>,
}

/// Times of the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds {
    /// Seconds of the fastest run.
    pub min: f64,
    /// Median seconds; of an even number of runs, the mean of the middle two.
    pub median: f64,
    /// Seconds of the slowest run.
    pub max: f64,
    /// The number of timed runs.
    pub runs: usize,
}

/// Compares elements with references in double precision. An error is the difference, divided by the sum of the
/// absolute values of the element's products.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckReport {
    /// The elements compared.
    pub checked: u64,
    /// Their maximum error.
    pub max_error: f64,
    /// The error that rounding can cause ([`Plan::roundings`](crate::Plan::roundings)).
    pub bound: f64,
    /// Whether `max_error` is within `bound`.
    pub ok: bool,
}

/// A run's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputReport {
    /// The shape of the complete result.
    pub shape: Vec<usize>,
    /// Parts of the result; 1 if it is complete in memory.
    pub parts: usize,
    /// The Frobenius norm; `None` beyond double precision.
    pub norm: Option<f64>,
    /// The norm's decimal logarithm, if positive and finite.
    pub log10_norm: Option<f64>,
    /// The result is 2 to this power times the elements, if kept apart.
    pub exponent: Option<i64>,
    /// `overflow` or `underflow` if the result left its type's range.
    pub out_of_range: Option<&'static str>,
}

/// What `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The format's version, 1.
    pub schema: u32,
    /// The canonical expression.
    pub expression: String,
    /// What was minimised: `time` or `bytes`.
    pub objective: &'static str,
    /// NumPy's name for the element type.
    pub dtype: String,
    /// Ranks.
    pub ranks: usize,
    /// Compute threads per rank.
    pub workers: usize,
    /// The transport between ranks.
    pub transport: Option<String>,
    /// The kernel family; the requested one if the plan was not resolved on a machine.
    pub kernel: String,
    /// Hexadecimal digits ([`Plan::fingerprint`](crate::Plan::fingerprint)).
    pub plan_fingerprint: String,
    /// The number of slices.
    pub slices: usize,
    /// [`Plan::slice_groups`](crate::Plan::slice_groups).
    pub slice_groups: usize,
    /// Maximum bytes per rank, from the user or because of too little free memory.
    pub memory_limit: Option<u64>,
    /// The contraction order ([`Plan::path`](crate::Plan::path)).
    pub path: Vec<[usize; 2]>,
    /// What the path search did; `None` for a plan alone.
    pub path_search: Option<PathSearchReport>,
    /// Extents by name, before slicing.
    pub dims: BTreeMap<String, usize>,
    /// The steps, in order.
    pub nodes: Vec<NodeReport>,
    /// At most 64 ranks: the first if measured, else sampled ones.
    pub per_rank: Vec<RankReport>,
    /// Seconds of planning.
    pub plan_seconds: Option<f64>,
    /// Seconds of compiling.
    pub compile_seconds: Option<f64>,
    /// Seconds per run on the slowest rank, from distributed operands to the output.
    pub seconds: Option<Seconds>,
    /// Operations divided by the median time, in units of 10^9 per second.
    pub gflops: Option<f64>,
    /// Bytes on the rank that needs the most.
    pub peak_bytes: Peak,
    /// The comparison with double precision, if requested.
    pub check: Option<CheckReport>,
    /// The run's result.
    pub output: OutputReport,
}

/// What the path search did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathSearchReport {
    /// The method that found the order; with several searches, of the longest.
    pub method: PathMethod,
    /// The search's seconds.
    pub seconds: f64,
    /// The plan's operations over all slices, in units of 10^9.
    pub gflop: f64,
    /// Elements of the largest intermediate or result in one slice.
    pub largest_elements: f64,
    /// Seconds until the order was found.
    pub found_at_seconds: f64,
    /// Whether the order is from a cache.
    pub cached: bool,
}

impl PathSearchReport {
    /// Describes searches that took `seconds`.
    pub fn of(plan: &Plan, searched: &SearchedTree, seconds: f64) -> PathSearchReport {
        let records = &searched.records;
        let longest = records.iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let nominal: f64 = records.iter().map(|record| record.seconds).sum();
        let found_at: f64 = records.iter().map(|record| record.found_at).sum();
        let steps = plan.values.iter().filter(|value| !matches!(value.source, Source::Operand(_)));
        let elements = steps.map(|value| value.shape.iter().map(|&extent| extent as f64).product::<f64>());
        PathSearchReport {
            method: longest.map_or(PathMethod::LeftToRight, |record| record.method),
            seconds,
            gflop: plan.total_gflop(),
            largest_elements: elements.fold(0.0, f64::max),
            cached: searched.cached,
            found_at_seconds: if nominal > 0.0 { seconds * found_at / nominal } else { seconds },
        }
    }
}

/// One rank's measurements of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct Measured {
    /// The host's name.
    pub node_name: String,
    /// The rank's hardware threads.
    pub cpus: Vec<usize>,
    /// The NUMA domain with all `cpus`, if any.
    pub numa: Option<usize>,
    /// Bytes received for each value of the plan.
    pub received: Vec<u64>,
    /// Total bytes received by link.
    pub by_link: ByLink,
    /// Seconds for each value, as in [`NodeReport::seconds`].
    pub seconds: Vec<f64>,
    /// Peak bytes of operands, output, intermediates and packing workspace.
    pub peak_bytes: u64,
    /// Seconds without a work task.
    pub idle_seconds: f64,
    /// Seconds with a receive in flight, including waiting for the sender.
    pub receiving_seconds: f64,
    /// As in [`RankReport::hidden_share`].
    pub hidden_share: Option<f64>,
}
