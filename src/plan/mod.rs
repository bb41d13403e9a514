//! Turns a contraction tree into a plan: a distribution for every tensor and an algorithm for every contraction.
//!
//! A [`Plan`] is a plain value without data: print it ([`Plan::explain`]), compare it ([`Plan::fingerprint`]), turn it
//! into the schedule of any rank ([`Plan::schedule`]), prove it ([`Plan::verify`]), run it ([`crate::api::World`]).
//!
//! | pass | file |
//! |---|---|
//! | contraction order | `path` |
//! | memory layout of intermediates | `layout` |
//! | subtrees that run concurrently on one rank | `branches` |
//! | candidate algorithms of a node | `candidates` |
//! | choice of the algorithms of all nodes together | `context`, `algorithm_selection` |
//! | predicted time, communication lower bound | `cost`, `bound` |
//! | distributions, redistributions between nodes | `distribute`, `fixed` |
//! | tasks of one rank | `lower` |
//! | batches that flow through groups of ranks | `pipeline` |
//! | subtrees on disjoint groups of ranks | `groups` |
//! | idle ranks | `idle` |
//! | workspace for packing | `packing` |
//! | slicing under a memory limit | `slice`, `slice_model`, `slice_search`, `memory_fit` |
//! | results that later slices and runs reuse | `reuse` |
//! | simulated run time, without data | `simulate` |
//! | summation order, error growth | `order`, `rounding` |
//! | proofs for thousands of ranks | `proof` |
//! | text and JSON | `explain`, `report` |
//!
//! Invariants: values come after their inputs; every input of a contraction has the distribution that its algorithm
//! requires. Deliberately absent: more replicas of a tensor than the user requests or a diagonal needs; grids gather
//! shared tiles instead.

#![warn(missing_docs)]

mod algorithm_selection;
mod bound;
mod branches;
mod candidates;
mod context;
mod cost;
mod distribute;
mod error;
mod explain;
mod fixed;
mod groups;
mod idle;
mod layout;
mod lower;
mod memory_fit;
mod options;
mod order;
mod packing;
mod path;
mod pipeline;
mod proof;
mod report;
mod reuse;
mod rounding;
mod simulate;
mod slice;
mod slice_model;
mod slice_search;

pub use crate::algorithm::AlgorithmName;
pub use bound::words as lower_bound_words;
pub use error::PlanError;
pub use explain::Explain;
pub use fixed::FixedDistributions;
pub use options::{KernelChoice, Options, PipelineChoice};
use packing::Packing;
pub use path::{PathChoice, PathReport, SearchLimit};
pub use pipeline::Pipeline;
pub use proof::{Classes, MAX_FULL_PROOF_RANKS, Step};
pub use report::{ByLink, Bytes, CheckReport, Measured, NodeReport, OutputReport, Peak, RankReport, Report, Seconds};
pub use simulate::MAX_SIMULATED_RANKS;
pub use slice::{ResultResidency, Slice};

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::algorithm::Algorithm;
use crate::dims::{Kinds, Label};
use crate::distribution::Distribution;
use crate::dtype::Dtype;
use crate::local_plan::Target;
use crate::machine::Machine;
use crate::schedule::verify::{self, Order, Origin, Spec, VerifyError};
use crate::schedule::{ReuseScope, Schedule};
use crate::tree::{self, EinsumSource, Einsums, Tree, UnaryOp};

/// The step that produces a value of a plan; inputs are indices into [`Plan::values`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields are named for what they are")]
pub enum Source {
    /// The operand with this index.
    Operand(usize),
    /// A contraction of two values on a range of ranks, which the algorithm numbers from 0; `None`: on all ranks.
    Contract { left: usize, right: usize, kinds: Kinds, algorithm: Algorithm, group: Option<Range<usize>> },
    /// A step with one input.
    Unary { input: usize, op: UnaryOp },
    /// The same tensor in another distribution.
    Redistribute { input: usize },
}

/// A tensor of a plan: an operand, or the result of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Its dimensions, the slowest first.
    pub labels: Vec<Label>,
    /// Its extents in one slice; [`Plan::whole_shape`] returns the extents over all slices.
    pub shape: Vec<usize>,
    /// Its distribution over the ranks.
    pub distribution: Distribution,
    /// The step that produces it.
    pub source: Source,
    /// Seconds of that step in one slice, predicted by the cost model.
    pub seconds: f64,
    /// How long it stays valid: later slices and runs skip the steps of values that still are.
    pub lasts: ReuseScope,
    /// The cheapest candidates of a contraction, cheapest first. For display only: neither serialised nor in the
    /// fingerprint.
    #[serde(skip)]
    pub considered: Vec<Candidate>,
}

/// An algorithm that was considered for a contraction.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The algorithm with the dimensions that it cuts: `ring-mn(m, n)`.
    pub how: String,
    /// Predicted seconds of the contraction by itself.
    pub contraction: f64,
    /// Predicted seconds with all steps below it and the redistributions of its inputs.
    pub whole: f64,
    /// Whether the plan uses it. It may be dearer here if its consumers then cost less.
    pub chosen: bool,
}

/// The work of every rank as a plain value, which can be printed, compared and verified without data.
///
/// ```
/// use einsum_dist::{Machine, Options, Problem};
///
/// let shaped = Problem::parse("[ap,pbq->abq],qc->abc")?.shapes(&[vec![30, 8], vec![8, 30, 40], vec![40, 2]])?;
/// let plan = shaped.plan(&Machine::new(1, 1), &Options::default())?;
/// // Every rank runs tasks on buffers, which a verifier can follow without any data.
/// plan.verify()?;
/// assert_eq!(plan.step_text(plan.output()), "abq,qc->abc");
/// println!("{}", plan.explain());
///
/// // Half of the memory: the same steps for one piece of some dimensions after the other.
/// let options = Options { memory_limit: Some(plan.peak_bytes(0) / 2), ..Options::default() };
/// let sliced = shaped.plan(&Machine::new(1, 1), &options)?;
/// assert!(sliced.peak_bytes(0) <= plan.peak_bytes(0) / 2 && sliced.slice_count() > 1);
/// assert_eq!(sliced.output_shape(), [30, 30, 2]);
/// assert_eq!(sliced.report(None).slices, sliced.slice_count());
/// assert_ne!(sliced.fingerprint(), plan.fingerprint());
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The expression in canonical form.
    pub expression: String,
    /// The element type of all tensors.
    pub dtype: Dtype,
    /// The machine that it is planned for.
    pub machine: Machine,
    /// Names of dimensions, by label.
    pub names: Vec<String>,
    /// Extents of dimensions in one slice, by label.
    pub extents: Vec<usize>,
    /// Sliced dimensions, whose pieces are contracted one after another; usually none. The first varies slowest.
    pub slices: Vec<Slice>,
    /// Whether memory holds the whole result, or one part of it at a time.
    pub result: ResultResidency,
    /// The number of operands.
    pub operands: usize,
    /// By operand, the index of its value.
    pub leaves: Vec<usize>,
    /// Operands that the user promises to keep the same in all runs.
    pub constant: Vec<usize>,
    /// Operands and steps, in the order in which they run; the last one is the result.
    pub values: Vec<Value>,
    /// Branches that run concurrently on one rank: consecutive ranges of values, from the first value on. Empty: all
    /// steps run one after another.
    #[serde(rename = "lanes")]
    pub branches: Vec<Range<usize>>,
    /// Batches that follow each other through the steps; each step has ranks of its own.
    pub pipeline: Option<Pipeline>,
    /// If this plan has a pipeline or groups: predicted seconds of the plan in which all ranks share every step.
    pub ungrouped: Option<f64>,
    /// Whether the result is added onto an output that already holds values.
    pub accumulate: bool,
    /// Contraction order as positions in the list of operands, with results appended at its end (the format of
    /// opt_einsum). With branches, the steps run in another order.
    pub path: Vec<[usize; 2]>,
    /// The most bytes that each rank may use.
    pub memory_limit: Option<u64>,
    /// The kernel that contracts on each rank.
    pub kernel: KernelChoice,
    /// The instructions, caches and threads of a rank, as far as the planner knows them.
    pub target: Option<Target>,
}

impl Plan {
    /// Returns the contraction tree of an expression, in the order that the options select.
    ///
    /// # Errors
    /// An explicit path that does not fit the expression.
    pub fn tree(einsums: &Einsums, machine: &Machine, options: &Options) -> Result<Tree, PlanError> {
        Plan::searched_tree(einsums, machine, options).map(|(tree, _)| tree)
    }

    /// As [`Plan::tree`], with the limits that ended searches early, one for each einsum whose search was cut short.
    ///
    /// # Errors
    /// As [`Plan::tree`].
    pub fn searched_tree(
        einsums: &Einsums,
        machine: &Machine,
        options: &Options,
    ) -> Result<(Tree, Vec<SearchLimit>), PlanError> {
        let several = einsums.nodes.iter().filter(|node| matches!(node.source, EinsumSource::Of(_))).count();
        if let (true, PathChoice::Explicit(_)) = (several > 1, &options.path) {
            return Err(PlanError::Path("brackets are a path already; there cannot be another one".to_owned()));
        }
        let mut limits = Vec::new();
        let tree = Tree::new(einsums, |network| {
            let (order, limit) = path::order(network, options, machine)?;
            limits.extend(limit);
            Ok(order)
        })?;
        Ok((tree, limits))
    }

    /// Plans a tree for a machine.
    ///
    /// # Errors
    /// An impossible machine, or more ranks than the planner supports; a forced algorithm or cut that does not apply, a
    /// redistribution that is forbidden, a tensor too large for any address space, a memory limit that the plan does
    /// not fit, or a constant operand that does not exist.
    pub fn new(expression: &str, tree: &Tree, machine: &Machine, options: &Options) -> Result<Plan, PlanError> {
        if let Some(&operand) = options.constant.iter().find(|&&operand| operand >= tree.operands) {
            return Err(PlanError::Constant { operand, operands: tree.operands });
        }
        distribute::possible(tree, machine, options)?;
        memory_fit::fitting(expression, tree, machine, options)
    }

    /// Returns the plan that moves one tensor from one distribution to another.
    pub fn redistribution(shape: &[usize], dtype: Dtype, from: &Distribution, to: &Distribution, ranks: usize) -> Plan {
        let labels: Vec<Label> = (0..shape.len() as u32).map(Label).collect();
        let value = |distribution: &Distribution, source| Value {
            labels: labels.clone(),
            shape: shape.to_vec(),
            distribution: distribution.clone(),
            source,
            seconds: 0.0,
            lasts: ReuseScope::Slice,
            considered: Vec::new(),
        };
        Plan {
            expression: "redistribute".to_owned(),
            dtype,
            machine: Machine::new(ranks, 1),
            names: (0..shape.len()).map(|dim| format!("d{dim}")).collect(),
            extents: shape.to_vec(),
            slices: Vec::new(),
            result: ResultResidency::Whole,
            operands: 1,
            leaves: vec![0],
            constant: Vec::new(),
            values: vec![value(from, Source::Operand(0)), value(to, Source::Redistribute { input: 0 })],
            branches: Vec::new(),
            pipeline: None,
            ungrouped: None,
            accumulate: false,
            path: Vec::new(),
            memory_limit: None,
            kernel: KernelChoice::Auto,
            target: None,
        }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.machine.ranks
    }

    /// The last value, which is the result of the plan.
    pub fn output(&self) -> &Value {
        // A tree has a root, and its root is a step.
        &self.values[self.values.len() - 1]
    }

    /// The value of an operand.
    ///
    /// # Panics
    /// If there is no operand with this index.
    pub fn operand(&self, index: usize) -> &Value {
        &self.values[self.leaves[index]]
    }

    /// Returns the tasks of one rank in one slice. Cost: linear in the tasks of that rank; for some steps also in the
    /// number of ranks.
    pub fn schedule(&self, rank: usize) -> Schedule {
        lower::lower(self, rank)
    }

    /// Returns the specification that the verifier checks schedules against.
    pub fn spec(&self) -> Spec {
        let Spec { mut values, output, accumulate } = self.spec_without_order();
        for (id, value) in values.iter_mut().enumerate() {
            value.order = order::order(self, id);
        }
        Spec { values, output, accumulate }
    }

    /// As [`Plan::spec`], without the order of sums, which depends on all ranks.
    fn spec_without_order(&self) -> Spec {
        let values = self.values.iter().map(|value| verify::Value {
            labels: value.labels.clone(),
            shape: value.shape.clone(),
            distribution: value.distribution.clone(),
            origin: match value.source {
                Source::Operand(index) => Origin::Operand(index),
                Source::Contract { left, right, .. } => Origin::Contract { left, right },
                Source::Unary { input, .. } => Origin::Unary { input },
                Source::Redistribute { input } => Origin::Same { input },
            },
            order: Order::Ascending,
        });
        Spec { values: values.collect(), output: self.values.len() - 1, accumulate: self.accumulate }
    }

    /// Proves the schedules of all ranks: transfers match, nothing deadlocks or is read before it is written, every
    /// element of the result contains each product once, and memory stays within the limit. Cost: linear in the number
    /// of tasks of all ranks.
    ///
    /// # Errors
    /// The first fault found, which is a bug in an algorithm.
    pub fn verify(&self) -> Result<(), VerifyError> {
        let schedules: Vec<Schedule> = (0..self.ranks()).map(|rank| self.schedule(rank)).collect();
        verify::whole(&schedules, &self.spec(), self.memory_limit)
    }

    /// A hash that, for all practical purposes, two plans share only if they are equal. Ranks compare it before the
    /// first transfer.
    pub fn fingerprint(&self) -> u64 {
        // Predicted times may differ in their last bits between processors; the plans are still equal.
        let mut plan = self.clone();
        plan.values.iter_mut().for_each(|value| value.seconds = 0.0);
        plan.pipeline.iter_mut().for_each(|pipeline| pipeline.seconds = 0.0);
        plan.ungrouped = None;
        // A plan consists of numbers, strings and enums; serialising those as JSON into memory cannot fail.
        let text = serde_json::to_vec(&plan).unwrap_or_default();
        xxhash_rust::xxh3::xxh3_64(&text)
    }

    /// The plan as text, like EXPLAIN of a database: one row per value, with the MB that the busiest rank receives and
    /// the predicted seconds, both over all slices. Printing costs as much as the schedules of all ranks (of 8 sampled
    /// ranks, if there are more than 256).
    pub fn explain(&self) -> Explain<'_> {
        Explain(self)
    }

    /// The name of a dimension.
    pub fn name(&self, label: Label) -> &str {
        &self.names[label.0 as usize]
    }

    /// Formats labels as a term: `mk`, or `[m0,k0]`.
    pub fn term(&self, labels: &[Label]) -> String {
        tree::term(&self.names, labels)
    }

    /// Formats a value's distribution with the names of its dimensions: `m/4`, or `rank 0`.
    pub fn placement(&self, value: &Value) -> String {
        let names: Vec<&str> = value.labels.iter().map(|&label| self.name(label)).collect();
        value.distribution.describe(&names)
    }

    /// Formats the step that produces a value as an expression: `mk,kn->mn`.
    pub fn step_text(&self, value: &Value) -> String {
        let term = |id: usize| self.term(&self.values[id].labels);
        let out = self.term(&value.labels);
        match &value.source {
            Source::Operand(_) => out,
            Source::Contract { left, right, .. } => format!("{},{}->{out}", term(*left), term(*right)),
            Source::Unary { input, .. } | Source::Redistribute { input } => format!("{}->{out}", term(*input)),
        }
    }

    /// The number of times that the first run of a program computes a value.
    pub fn times(&self, value: &Value) -> usize {
        if value.lasts == ReuseScope::Slice { self.slice_count() } else { 1 }
    }

    /// An upper bound on the number of additions that any term of an element of the result goes through. It counts the
    /// additions in each step, whose sums are blocked ([`longest_chain`](crate::local_plan::longest_chain)), those that
    /// combine the partial sums of threads, ranks, pieces and slices, and the addition onto an output. The error of an
    /// element is at most the [`error_bound`](crate::kernel::error_bound) for that many terms, with the operands as
    /// factors, times the sum of its absolute products. Cost: linear in the steps, plus, on several ranks, the cost of
    /// all of their schedules.
    ///
    /// ```
    /// use einsum_dist::{Machine, Options, Problem};
    /// let chain = Problem::parse("[ij,jk->ik],kl->il")?.shapes(&[vec![4, 10], vec![10, 7], vec![7, 3]])?;
    /// assert_eq!(chain.plan(&Machine::default(), &Options::default())?.roundings(), 10 + 7);
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    pub fn roundings(&self) -> u64 {
        rounding::roundings(self)
    }

    /// Predicted seconds of one run.
    pub fn seconds(&self) -> f64 {
        self.machine.startup_seconds
            + self.pipeline.as_ref().map_or_else(|| self.busiest_seconds(), |pipeline| pipeline.seconds)
    }

    /// Predicted seconds until the last rank finishes. A step begins when all of its ranks have finished their earlier
    /// steps.
    fn busiest_seconds(&self) -> f64 {
        let seconds = |value: &Value| value.seconds * self.times(value) as f64;
        let group = |value: &Value| match &value.source {
            Source::Contract { group: Some(group), .. } => Some(group.clone()),
            _ => None,
        };
        if self.values.iter().all(|value| group(value).is_none()) {
            return self.values.iter().map(seconds).sum();
        }
        let mut done = vec![0.0f64; self.ranks()];
        for value in self.values.iter().filter(|value| !matches!(value.source, Source::Operand(_))) {
            let ranks = group(value).unwrap_or_else(|| {
                // The ranks that hold part of the value or of its input.
                let input = match value.source {
                    Source::Unary { input, .. } | Source::Redistribute { input } => &self.values[input],
                    _ => value,
                };
                let spans = [value, input].map(|value| value.distribution.span());
                spans[0].start.min(spans[1].start)..spans[0].end.max(spans[1].end)
            });
            let end = done[ranks.clone()].iter().copied().fold(0.0, f64::max) + seconds(value);
            done[ranks].fill(end);
        }
        done.into_iter().fold(0.0, f64::max)
    }

    /// Operations of a value's step in all slices and on all ranks, in units of 10^9: 2 per multiply-add, 8 for complex
    /// numbers.
    pub fn gflop(&self, value: &Value) -> f64 {
        match &value.source {
            Source::Contract { kinds, .. } => {
                let products: f64 = kinds.iter().map(|(label, _)| self.extents[label.0 as usize] as f64).product();
                products * self.times(value) as f64 * self.dtype.flops_per_multiply_add() as f64 / 1e9
            }
            _ => 0.0,
        }
    }
}
