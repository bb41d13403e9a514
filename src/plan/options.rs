//! What a user fixes of a plan.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Fixed, PathChoice};
use crate::algorithm::Reorder;
use crate::dtype::Dtype;
use crate::local_plan::Target;

/// An algorithm by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlgorithmName {
    /// All of it on rank 0.
    Local,
    /// All three tensors cut along the same c: nothing moves.
    BatchParallel,
    /// left and out cut along m, blocks of right travel the ring; or mirrored.
    RingMn,
    /// left and right cut along k, partial sums of out travel the ring.
    RingK,
    /// Tensors lie anyhow; pieces of two travel to where the third one is.
    Slicing,
    /// A grid of ranks over all dimensions.
    Grid,
    /// A square grid of ranks; operands are shifted past out.
    Cannon,
    /// All of it on rank 0, which hands out parts.
    MasterWorker,
}

impl AlgorithmName {
    /// All of them.
    pub const ALL: [AlgorithmName; 8] = [
        AlgorithmName::Local,
        AlgorithmName::BatchParallel,
        AlgorithmName::RingMn,
        AlgorithmName::RingK,
        AlgorithmName::Slicing,
        AlgorithmName::Grid,
        AlgorithmName::Cannon,
        AlgorithmName::MasterWorker,
    ];

    /// On the command line, in plans and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AlgorithmName::Local => "local",
            AlgorithmName::BatchParallel => "c",
            AlgorithmName::RingMn => "ring-mn",
            AlgorithmName::RingK => "ring-k",
            AlgorithmName::Slicing => "slicing",
            AlgorithmName::Grid => "grid",
            AlgorithmName::Cannon => "cannon",
            AlgorithmName::MasterWorker => "master-worker",
        }
    }

    /// What a contraction must have for it.
    pub const fn needs(self) -> &'static str {
        match self {
            AlgorithmName::Local | AlgorithmName::Slicing | AlgorithmName::Grid => "nothing",
            AlgorithmName::Cannon => "a dimension of each of the kinds m, n and k",
            AlgorithmName::MasterWorker => "a dimension of kind c, m or n",
            AlgorithmName::BatchParallel => "a dimension of kind c, in both operands and in the output",
            AlgorithmName::RingMn => "a dimension of kind m and one of kind n",
            AlgorithmName::RingK => "a dimension of kind k, and one of kind m or n",
        }
    }
}

impl FromStr for AlgorithmName {
    type Err = String;

    fn from_str(text: &str) -> Result<AlgorithmName, String> {
        by_name("algorithm", &["auto"], &AlgorithmName::ALL, AlgorithmName::name, text)
    }
}

/// What contracts on each rank, by its name on the command line. Every rank finds out for itself what that is on its
/// machine, so a plan names the choice and not what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelChoice {
    /// Whatever is best on the machine: our own, and LIBXSMM for batches of small products if the build has it.
    #[default]
    Auto,
    /// Micro-kernels that LIBXSMM generates.
    Xsmm,
    /// Our own, on the widest instructions of the machine.
    Portable,
    /// Our own, on x86-64 with AVX2 and FMA.
    Avx2,
    /// Our own, on x86-64 with AVX-512.
    Avx512,
    /// Our own, on AArch64.
    Neon,
    /// One product after the other in double precision, to compare with.
    Reference,
}

impl KernelChoice {
    /// All of them.
    pub const ALL: [KernelChoice; 7] = [
        KernelChoice::Auto,
        KernelChoice::Xsmm,
        KernelChoice::Portable,
        KernelChoice::Avx2,
        KernelChoice::Avx512,
        KernelChoice::Neon,
        KernelChoice::Reference,
    ];

    /// On the command line, in plans and in JSON.
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

impl FromStr for KernelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<KernelChoice, String> {
        by_name("kernel", &[], &KernelChoice::ALL, KernelChoice::name, text)
    }
}

impl FromStr for Reorder {
    type Err = String;

    fn from_str(text: &str) -> Result<Reorder, String> {
        by_name("order", &[], &Reorder::ALL, Reorder::name, text)
    }
}

/// The choice of this name; `also` are names that whoever asks knows.
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

/// Whether there is to be a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PipelineChoice {
    /// Where it takes clearly less time.
    #[default]
    Auto,
    /// Never.
    Off,
    /// So many batches through so many groups of ranks, where steps have a dimension for it.
    Of {
        /// Even tiles of one dimension.
        batches: usize,
        /// From 2 to as many as there are contractions and ranks.
        groups: usize,
    },
}

/// PlanningContext of a plan; the default is float32 and lets the cost model choose.
///
/// ```
/// use einsum_dist::plan::AlgorithmName;
/// use einsum_dist::{Dtype, Machine, Options, Problem};
///
/// let options = Options { dtype: Dtype::Float64, algorithm: Some(AlgorithmName::RingMn), ..Options::default() };
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![60, 40], vec![40, 50]])?;
/// let plan = shaped.plan(&Machine::new(2, 1), &options)?;
/// assert_eq!([0, 1].map(|operand| plan.placement(plan.operand(operand))), ["m/2", "n/2"]);
/// // Half of right travels to either rank.
/// assert_eq!(plan.schedule(0).bytes_received(), 40 * 50 / 2 * 8);
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Of all operands, intermediates and the result.
    pub dtype: Dtype,
    /// For every contraction, an error where it does not apply; `None` chooses for each.
    pub algorithm: Option<AlgorithmName>,
    /// Where operands and result lie, if not where the planner likes.
    pub fixed: Fixed,
    /// Names of one or two dimensions that algorithms must cut, in contractions that have them.
    pub cut: Vec<String>,
    /// Plan for an output that holds values and is added onto. Without it, a program that is run with a beta that is
    /// not 0 compiles a second plan at that time.
    pub accumulate: bool,
    /// Operands, by number, that hold the same in all runs of a program: what is made of these alone is computed in the first
    /// run and kept ([`crate::api::Program::renew`] computes it once more), but for the result, for what has a sliced dimension,
    /// and where a plan fits into the memory limit only if nothing is kept.
    pub constant: Vec<usize>,
    /// Bytes that each rank may take: blocks of operands and result, intermediates, and what contractions pack into. A
    /// plan that needs more runs in slices; where none help, an error says how much is missing.
    pub memory_limit: Option<u64>,
    /// The result may leave in parts where it does not fit as a whole ([`ResultResidency::InParts`](super::ResultResidency)): for callers of
    /// [`Program::run_part`](crate::Program::run_part).
    pub in_parts: bool,
    /// No tensor is on one rank alone where there is another way: for plans that have to do with little memory.
    pub spread: bool,
    /// `cannon` runs on any number of ranks: those beyond the largest square are idle.
    pub idle: bool,
    /// In which order ranks go through what `slicing` gives them.
    pub reorder: Reorder,
    /// Redistribution of an intermediate is an error.
    pub forbid_redistribution: bool,
    /// Whether steps work on batches one behind another, each with ranks of its own ([`Pipeline`](super::Pipeline)).
    pub pipeline: PipelineChoice,
    /// Every contraction gets the algorithm that is cheapest for it alone, wherever its inputs lie and whatever uses its result: what
    /// plans of whole trees are compared with.
    pub step_by_step: bool,
    /// What contracts on each rank. One that a rank lacks is an error when the plan is compiled there.
    pub kernel: KernelChoice,
    /// In which order einsums of several operands are contracted.
    pub path: PathChoice,
    /// Seconds that the search for an order may take, on a core of some 3 GHz: a number of steps, so that all ranks and all runs
    /// find the same order. `None`: 10 for [`PathChoice::Optimal`], for `Auto` a share of the predicted run time, for others as
    /// long as they take.
    pub path_seconds: Option<f64>,
    /// Intermediates may have their dimensions in another order than the expression says, where that is cheaper.
    pub layout: bool,
    /// Instructions, caches and threads of a rank, which say what contractions pack into. `None`: those of the machine that
    /// plans, where there is one.
    pub target: Option<Target>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dtype: Dtype::Float32,
            algorithm: None,
            fixed: Fixed::default(),
            cut: Vec::new(),
            accumulate: false,
            constant: Vec::new(),
            memory_limit: None,
            in_parts: false,
            spread: false,
            idle: false,
            reorder: Reorder::Direct,
            forbid_redistribution: false,
            pipeline: PipelineChoice::Auto,
            step_by_step: false,
            kernel: KernelChoice::Auto,
            path: PathChoice::Auto,
            path_seconds: None,
            layout: true,
            target: None,
        }
    }
}
