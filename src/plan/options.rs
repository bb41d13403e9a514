//! The options of the planner.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::fixed::FixedDistributions;
use super::path::PathChoice;
use crate::algorithm::{AlgorithmName, Objective, Reorder};
use crate::dtype::Dtype;
use crate::local_plan::Target;
use crate::tree::Order;

/// The contraction kernel. A plan records this choice, which every rank resolves on its own machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelChoice {
    /// Our own; LIBXSMM, if built in, for batches of small products.
    #[default]
    Auto,
    /// Micro-kernels from LIBXSMM.
    Xsmm,
    /// Our own, with the machine's widest instructions.
    Portable,
    /// Our own, for x86-64 with AVX2 and FMA.
    Avx2,
    /// Our own, for x86-64 with AVX-512.
    Avx512,
    /// Our own, for AArch64.
    Neon,
    /// One product at a time in double precision.
    Reference,
}

impl KernelChoice {
    /// All choices.
    pub const ALL: [KernelChoice; 7] = [
        KernelChoice::Auto,
        KernelChoice::Xsmm,
        KernelChoice::Portable,
        KernelChoice::Avx2,
        KernelChoice::Avx512,
        KernelChoice::Neon,
        KernelChoice::Reference,
    ];

    /// The name on the command line, in plans and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            KernelChoice::Auto => "auto",
            KernelChoice::Xsmm => "xsmm",
            KernelChoice::Portable => "portable",
            KernelChoice::Avx2 => "avx2",
            KernelChoice::Avx512 => "avx512",
            KernelChoice::Neon => "neon",
            KernelChoice::Reference => "reference",
        }
    }
}

macro_rules! by_name {
    ($($type:ident: $what:literal, $also:expr;)*) => {$(
        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<$type, String> {
                by_name($what, $also, &$type::ALL, $type::name, text)
            }
        }
    )*}
}

by_name! {
    AlgorithmName: "algorithm", &["auto"];
    KernelChoice: "kernel", &[];
    Objective: "objective", &[];
    Reorder: "order", &[];
}

fn by_name<T: Copy>(
    what: &str,
    also: &[&str],
    all: &[T],
    name: fn(T) -> &'static str,
    text: &str,
) -> Result<T, String> {
    all.iter().copied().find(|&choice| name(choice) == text).ok_or_else(|| {
        let known: Vec<&str> = also.iter().copied().chain(all.iter().map(|&choice| name(choice))).collect();
        format!("unknown {what} `{text}` (known: {})", known.join(", "))
    })
}

/// Whether a plan has a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PipelineChoice {
    /// If a pipeline is predicted to be clearly faster.
    #[default]
    Auto,
    /// Never.
    Off,
    /// If the steps share a suitable dimension.
    Of {
        /// Batches into which one dimension is cut evenly.
        batches: usize,
        /// At least 2, and at most the number of contractions and of ranks.
        groups: usize,
    },
}

/// Planning options, with setters of the same names. By default, the type is float32 and the cost model chooses.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The element type of all tensors.
    pub dtype: Dtype,
    /// The algorithm of all contractions. Planning fails if it does not apply.
    pub algorithm: Option<AlgorithmName>,
    /// What to minimise.
    pub objective: Objective,
    /// Prescribed distributions.
    pub fixed: FixedDistributions,
    /// One or two dimensions that algorithms must cut in contractions that have them.
    pub cut: Vec<String>,
    /// Adds the result onto an output that has values. Otherwise, the first run with a nonzero `beta` compiles a second
    /// plan.
    pub accumulate: bool,
    /// Operands, by index, that are the same in all runs of a program. Values that depend only on them are kept from
    /// the first run ([`crate::api::Program::renew`] recomputes them), except the result, values with a sliced
    /// dimension, and all values if the plan otherwise exceeds the memory limit.
    pub constant: Vec<usize>,
    /// Operands, by index, to conjugate, with no effect for real types. This costs a pass only if nothing is
    /// contracted.
    pub conjugate: Vec<usize>,
    /// Maximum [`Plan::peak_bytes`](super::Plan::peak_bytes) of each rank. A plan that needs more runs in slices.
    pub memory_limit: Option<u64>,
    /// Bytes that each rank can allocate, if known ([`World::with_free_memory`](crate::World::with_free_memory)).
    /// Searches whose orders exceed it end early, so that they can go on with a limit.
    pub free_memory: Option<u64>,
    /// A result that does not fit into memory may be delivered in parts
    /// ([`Program::run_part`](crate::Program::run_part)).
    pub in_parts: bool,
    /// If no plan fits otherwise, a rank may keep only those parts of operands that a slice needs, read with
    /// [`OperandParts`](crate::OperandParts).
    pub operands_in_parts: bool,
    /// The algorithm `cannon` may run on any number of ranks, with those beyond the largest square number idle.
    pub idle: bool,
    /// The number of [`Plan::slice_groups`](super::Plan::slice_groups), at most that of ranks; by default, the planner
    /// chooses. Tensors in parts and prescribed distributions rule out groups.
    pub slice_groups: Option<usize>,
    /// The order of chunks in `slicing`.
    pub reorder: Reorder,
    /// Planning fails if a redistribution is required.
    pub forbid_redistribution: bool,
    /// Whether batches pass through groups of ranks ([`Pipeline`](super::Pipeline)).
    pub pipeline: PipelineChoice,
    /// Every contraction has the algorithm that is cheapest for it alone, as a baseline.
    pub step_by_step: bool,
    /// The kernel. Compiling fails on a rank that lacks it.
    pub kernel: KernelChoice,
    /// The contraction order.
    pub path: PathChoice,
    /// The dimensions to slice, each with its extent in one slice, a divisor of the whole extent. There are then no
    /// other slices.
    pub sliced: Vec<(String, usize)>,
    /// The time budget of the search for an order in seconds, converted to search steps with
    /// [`path_speed`](Self::path_speed), so that all ranks find the same order. `None` means 10 for
    /// [`PathChoice::Optimal`], at most 1 for `Anneal`, a fraction of the predicted time of all runs on all ranks for
    /// `Auto`, and otherwise no limit.
    pub path_seconds: Option<f64>,
    /// The order ([`PathChoice::Numbered`]) with which a search with a memory limit begins.
    pub path_start: Option<Order>,
    /// The speed of searches relative to a core of about 3 GHz.
    pub path_speed: f64,
    /// How often the plan will run: [`PathChoice::Auto`] and the choice of layouts take longer if it pays.
    pub runs: usize,
    /// Intermediates may have a cheaper order of dimensions than in the expression.
    pub layout: bool,
    /// Instructions, caches and threads of a rank, which determine its packing workspace. By default,
    /// [`Shaped::plan`](crate::Shaped::plan) uses those of the host that plans.
    pub target: Option<Target>,
}

macro_rules! setters {
    ($($field:ident: $type:ty;)*) => {
        impl PlanOptions {$(
            #[doc = concat!("Sets [`PlanOptions::", stringify!($field), "`](#structfield.", stringify!($field), ").")]
            #[must_use]
            pub fn $field(mut self, value: $type) -> PlanOptions {
                self.$field = value.into();
                self
            }
        )*}
    };
}

setters! {
    dtype: Dtype;
    algorithm: impl Into<Option<AlgorithmName>>;
    objective: Objective;
    fixed: FixedDistributions;
    cut: Vec<String>;
    accumulate: bool;
    constant: Vec<usize>;
    conjugate: Vec<usize>;
    memory_limit: impl Into<Option<u64>>;
    free_memory: impl Into<Option<u64>>;
    in_parts: bool;
    operands_in_parts: bool;
    idle: bool;
    slice_groups: impl Into<Option<usize>>;
    reorder: Reorder;
    forbid_redistribution: bool;
    pipeline: PipelineChoice;
    step_by_step: bool;
    kernel: KernelChoice;
    path: PathChoice;
    sliced: Vec<(String, usize)>;
    path_seconds: impl Into<Option<f64>>;
    path_start: impl Into<Option<Order>>;
    path_speed: f64;
    runs: usize;
    layout: bool;
    target: impl Into<Option<Target>>;
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions {
            dtype: Dtype::Float32,
            algorithm: None,
            objective: Objective::Time,
            fixed: FixedDistributions::default(),
            cut: Vec::new(),
            accumulate: false,
            constant: Vec::new(),
            conjugate: Vec::new(),
            memory_limit: None,
            free_memory: None,
            in_parts: false,
            operands_in_parts: false,
            idle: false,
            slice_groups: None,
            reorder: Reorder::Direct,
            forbid_redistribution: false,
            pipeline: PipelineChoice::Auto,
            step_by_step: false,
            kernel: KernelChoice::Auto,
            path: PathChoice::Auto,
            sliced: Vec::new(),
            path_seconds: None,
            path_start: None,
            path_speed: 1.0,
            runs: 1,
            layout: true,
            target: None,
        }
    }
}
