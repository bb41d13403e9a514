//! Defines the types of a report. Fields are in the order in which JSON prints them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::plan::{PathMethod, Plan, SearchedTree, Source};

/// Planned and measured numbers of bytes. `measured` is `None` before a run.
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

/// Planned and measured number of bytes, either on one rank or on the rank with the most bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// Computed from the schedules.
    pub planned: u64,
    /// Counted during the run.
    pub measured: Option<u64>,
}

/// Numbers of bytes received from ranks on the same host and from ranks on other hosts.
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
    /// The step as an expression, such as `mk,kn->mn`.
    pub expression: String,
    /// `contract`, `permute`, `sum`, `diagonal` or `redistribute`.
    pub op: &'static str,
    /// For a contraction, the kind of each dimension (`c`, `m`, `n` or `k`), keyed by the dimension's name.
    pub kinds: BTreeMap<String, &'static str>,
    /// For a contraction, the command-line name of its algorithm.
    pub algorithm: Option<&'static str>,
    /// For a contraction, the number of ranks along each cut dimension. Empty on one rank.
    pub grid: BTreeMap<String, usize>,
    /// Number of operations in units of 10^9. A multiply-add counts as 2 (8 for complex numbers).
    pub gflop: f64,
    /// Measured seconds of the step on the slowest rank, summed over slices. The time starts with the first work task
    /// of the step or at the end of its first transfer, whichever is earlier. The time of a step without work starts
    /// when its first transfer is posted. The time ends with the last task of the step, and includes waiting for other
    /// ranks.
    pub seconds: Option<f64>,
    /// Maximum and mean number of bytes that a rank receives for this step.
    pub bytes_received: Bytes,
    /// Minimum number of bytes that the busiest rank must receive with any algorithm that divides the work and the
    /// tensors evenly among the ranks ([`Plan::lower_bound_bytes`](crate::Plan::lower_bound_bytes)).
    pub lower_bound_bytes: Option<f64>,
    /// Seconds that the cost model predicts for this step.
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
    /// Number of bytes that the rank receives in all steps and slices.
    pub bytes_received: Peak,
    /// The measured numbers of bytes received from the same host and from other hosts.
    pub bytes_by_link: Option<ByLink>,
    /// Peak number of bytes in the blocks of operands and output, in intermediates, and in packing workspace.
    pub peak_bytes: Peak,
    /// Seconds of the run during which no work task ran.
    pub idle_seconds: Option<f64>,
    /// The fraction (0 to 1) of the rank's receiving time during which its workers computed. `None` if the rank
    /// received nothing. A receive starts when its dependencies are complete, so the receiving time includes waiting
    /// for the sender.
    pub hidden_share: Option<f64>,
}

/// Minimum, median and maximum time of the timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds {
    /// Seconds of the fastest run.
    pub min: f64,
    /// Median time of a run in seconds. For an even number of runs, this is the mean of the middle two.
    pub median: f64,
    /// Seconds of the slowest run.
    pub max: f64,
    /// Number of timed runs.
    pub runs: usize,
}

/// The result of comparing output elements with reference values computed in double precision. The error of an element
/// is its difference from the reference value, divided by the sum of the absolute values of its products.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckReport {
    /// Number of elements that were compared.
    pub checked: u64,
    /// Maximum error among these elements.
    pub max_error: f64,
    /// Bound for the error that rounding can cause ([`Plan::roundings`](crate::Plan::roundings)).
    pub bound: f64,
    /// Whether `max_error` is within `bound`.
    pub ok: bool,
}

/// The result of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputReport {
    /// Shape of the complete result, over all slices and ranks.
    pub shape: Vec<usize>,
    /// Number of parts in which a run delivers the result, or 1 if it delivers the complete result in memory.
    pub parts: usize,
    /// The Frobenius norm of the result; `None` if double precision cannot represent it.
    pub norm: Option<f64>,
    /// The decimal logarithm of the norm, if the norm is positive and finite.
    pub log10_norm: Option<f64>,
    /// If a scale was kept apart, its exponent: the result is 2 to this power times the elements.
    pub exponent: Option<i64>,
    /// `overflow` or `underflow` if the result left the range of its type.
    pub out_of_range: Option<&'static str>,
}

/// The JSON object that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The version of the format of this object, which is 1.
    pub schema: u32,
    /// The expression in canonical form.
    pub expression: String,
    /// NumPy's name for the element type.
    pub dtype: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of compute threads on each rank.
    pub workers: usize,
    /// The transport that moves data between ranks.
    pub transport: Option<String>,
    /// The kernel family for local contractions. If the plan was not resolved on a machine, this is the requested
    /// family.
    pub kernel: String,
    /// The [`Plan::fingerprint`](crate::Plan::fingerprint) in hexadecimal digits.
    pub plan_fingerprint: String,
    /// Number of slices, which is how often the schedule runs to compute one result.
    pub slices: usize,
    /// Number of groups of ranks that take disjoint sets of slices; 1 if all ranks work on every slice.
    pub slice_groups: usize,
    /// The contraction order, as [`Plan::path`](crate::Plan::path) defines it.
    pub path: Vec<[usize; 2]>,
    /// What the path search did; `None` if the report was made from a plan alone.
    pub path_search: Option<PathSearchReport>,
    /// The extent of each dimension, keyed by its name. Extents of sliced dimensions are those of the complete tensors.
    pub dims: BTreeMap<String, usize>,
    /// The steps, in the order in which they run.
    pub nodes: Vec<NodeReport>,
    /// Reports of single ranks, at most 64. If there are measurements, these are the first ranks. Otherwise, they are a
    /// few sampled ranks.
    pub per_rank: Vec<RankReport>,
    /// Seconds spent on planning.
    pub plan_seconds: Option<f64>,
    /// Seconds spent on compiling the plan.
    pub compile_seconds: Option<f64>,
    /// Seconds per run on the slowest rank. A run starts when all operands are distributed, and ends when the output is
    /// complete.
    pub seconds: Option<Seconds>,
    /// Number of operations divided by the median time of a run, in units of 10^9 per second.
    pub gflops: Option<f64>,
    /// Peak number of bytes in use, on the rank that needs the most memory.
    pub peak_bytes: Peak,
    /// The comparison with double precision, if it was requested.
    pub check: Option<CheckReport>,
    /// The result of the run.
    pub output: OutputReport,
}

/// What the search for the contraction order did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathSearchReport {
    /// The method that found the order. For nested expressions, this is the method of the longest search.
    pub method: PathMethod,
    /// Seconds that the search took.
    pub seconds: f64,
    /// Number of operations of the plan over all slices, in units of 10^9.
    pub gflop: f64,
    /// Number of elements of the largest intermediate or result in one slice.
    pub largest_elements: f64,
    /// Seconds after which the order was found.
    pub found_at_seconds: f64,
    /// Whether an earlier search found the order, which was kept in a cache.
    pub cached: bool,
}

impl PathSearchReport {
    /// Describes the searches for a plan, which took `seconds`.
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

/// Measurements of one rank in a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct Measured {
    /// Name of the host.
    pub node_name: String,
    /// Hardware threads on which the rank's threads may run.
    pub cpus: Vec<usize>,
    /// The NUMA domain that contains all of `cpus`, if there is one.
    pub numa: Option<usize>,
    /// Number of bytes that the rank received for each value of the plan (the tensor of an operand or step).
    pub received: Vec<u64>,
    /// The total numbers of bytes received from the same host and from other hosts.
    pub by_link: ByLink,
    /// Seconds for each value of the plan, summed over slices. The time for a value starts with its first work task or
    /// at the end of its first transfer, whichever is earlier. It ends with the last task for the value.
    pub seconds: Vec<f64>,
    /// Peak number of bytes in the blocks of operands and output, in intermediates, and in packing workspace.
    pub peak_bytes: u64,
    /// Seconds of the run during which no work task ran.
    pub idle_seconds: f64,
    /// Seconds during which at least one receive was in flight. A receive starts when its dependencies are complete, so
    /// this time includes waiting for the sender.
    pub receiving_seconds: f64,
    /// The fraction of `receiving_seconds` during which workers computed, or `None` if there were no receives.
    pub hidden_share: Option<f64>,
}
