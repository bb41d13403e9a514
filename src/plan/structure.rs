//! A plan as a value: tensors and the steps that produce them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::options::KernelChoice;
use crate::algorithm::{Algorithm, Objective, Price, Tensor};
use crate::dims::{Kinds, Label};
use crate::distribution::{Bounds, Distribution, tile_bounds};
use crate::dtype::Dtype;
use crate::local_plan::Target;
use crate::machine::Machine;
use crate::schedule::ReuseScope;
use crate::tree::{self, UnaryOp};

/// The step that produces a value; inputs are indices into [`Plan::values`].
#[derive(Debug, Clone, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields are named for what they are")]
pub enum Source {
    /// The operand with this index.
    Operand(usize),
    /// `group` is the range of ranks that contract, which the algorithm numbers from 0; `None` means all.
    Contract { left: usize, right: usize, kinds: Kinds, algorithm: Algorithm, group: Option<Range<usize>> },
    /// A step with one input.
    Unary { input: usize, op: UnaryOp },
    /// The same tensor in a different distribution.
    Redistribute { input: usize },
}

impl Source {
    pub(super) fn inputs(&self) -> Vec<usize> {
        match *self {
            Source::Operand(_) => vec![],
            Source::Contract { left, right, .. } => vec![left, right],
            Source::Unary { input, .. } | Source::Redistribute { input } => vec![input],
        }
    }

    pub(super) fn with_inputs(mut self, place: impl Fn(usize) -> usize) -> Source {
        match &mut self {
            Source::Operand(_) => {}
            Source::Contract { left, right, .. } => (*left, *right) = (place(*left), place(*right)),
            Source::Unary { input, .. } | Source::Redistribute { input } => *input = place(*input),
        }
        self
    }
}

/// An operand or the result of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The dimensions, slowest first.
    pub labels: Vec<Label>,
    /// The extents in one slice; [`Plan::whole_shape`] has those over all slices.
    pub shape: Vec<usize>,
    pub distribution: Distribution,
    pub source: Source,
    /// Predicted seconds of the step in one slice.
    pub seconds: f64,
    /// Later slices and runs may skip its step.
    pub lasts: ReuseScope,
    /// The best candidates, cheapest first. For display only, so neither in the fingerprint nor serialised.
    #[serde(skip)]
    pub considered: Vec<Candidate>,
}

/// A considered algorithm for a contraction.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The algorithm with its cut dimensions, such as `ring-mn(m, n)`.
    pub how: String,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Of the contraction alone, in one slice.
    pub contraction: Price,
    /// With all steps below it and redistributions.
    pub whole: Price,
    /// Whether it is used. It may cost more if later steps cost less.
    pub chosen: bool,
    /// Whether it receives the fewest bytes, over 2 % fewer than the chosen one.
    pub fewest_bytes: bool,
}

/// The work of every rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The expression in canonical form.
    pub expression: String,
    /// The element type.
    pub dtype: Dtype,
    /// What the planner minimised.
    #[serde(default, skip_serializing_if = "is_default")]
    pub objective: Objective,
    /// The planned machine.
    pub machine: Machine,
    /// Names of dimensions, by label.
    pub names: Vec<String>,
    /// Extents in one slice, by label.
    pub extents: Vec<usize>,
    /// Sliced dimensions; the loop over the first is outermost.
    pub slices: Vec<Slice>,
    /// Groups of ranks with disjoint sets of slices; 1 if all ranks work on every slice.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub slice_groups: usize,
    /// Whether the result is whole in memory.
    pub result: ResultResidency,
    /// The number of operands.
    pub operands: usize,
    /// Operands in parts, by index, ascending. Each has a sliced dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands_in_parts: Vec<usize>,
    /// The index of each operand in `values`.
    pub leaves: Vec<usize>,
    /// Operands, by index, that are constant between runs.
    pub constant: Vec<usize>,
    /// Conjugated operands, by index, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conjugate: Vec<usize>,
    /// Operands and results of steps, in order; the last is the result.
    pub values: Vec<Value>,
    /// The values of each branch: consecutive ranges from the first on.
    #[serde(rename = "lanes")]
    pub branches: Vec<Range<usize>>,
    /// The pipeline, if any.
    pub pipeline: Option<Pipeline>,
    /// With a pipeline or groups, the predicted seconds without.
    pub ungrouped: Option<f64>,
    /// Whether the result is added onto an output.
    pub accumulate: bool,
    /// The contraction order in opt_einsum's format, the left operand's position first. Branches run in another order.
    pub path: Vec<[usize; 2]>,
    /// Maximum bytes on each rank.
    pub memory_limit: Option<u64>,
    /// The kernel.
    pub kernel: KernelChoice,
    /// Instructions, caches and threads of a rank.
    pub target: Option<Target>,
}

fn one() -> usize {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(number: &usize) -> bool {
    *number == 1
}

/// A sliced dimension, in pieces of equal extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The dimension.
    pub label: Label,
    /// Extent over all slices, a multiple of `piece`.
    pub extent: usize,
    /// Extent in one slice.
    pub piece: usize,
}

impl Slice {
    /// The number of pieces.
    pub fn pieces(&self) -> usize {
        self.extent / self.piece
    }
}

fn pieces<'a>(slices: impl IntoIterator<Item = &'a Slice>) -> usize {
    slices.into_iter().map(Slice::pieces).fold(1, usize::saturating_mul)
}

/// Whether a rank keeps its whole block of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultResidency {
    /// Throughout all slices.
    Whole,
    /// Only the part that the current slice writes.
    InParts,
}

pub(super) fn leaves(values: &[Value], operands: usize) -> Vec<usize> {
    let mut leaves = vec![0; operands];
    for (id, value) in values.iter().enumerate() {
        if let Source::Operand(index) = value.source {
            leaves[index] = id;
        }
    }
    leaves
}

/// See [`Plan::slice_starts`]; the loop over the last of `slices` is innermost.
fn starts(slices: &[Slice], slice: usize, labels: &[Label]) -> Vec<usize> {
    let mut starts = vec![0; labels.len()];
    let mut rest = slice;
    for sliced in slices.iter().rev() {
        for (start, _) in starts.iter_mut().zip(labels).filter(|(_, label)| **label == sliced.label) {
            *start = rest % sliced.pieces() * sliced.piece;
        }
        rest /= sliced.pieces();
    }
    starts
}

/// Batches of one dimension that pass through groups of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The batch dimension, which no step sums.
    pub label: Label,
    /// Number of batches, whose extents differ by at most 1.
    pub pieces: usize,
    /// Number of groups of ranks.
    pub groups: usize,
    /// Predicted seconds for a run.
    pub seconds: f64,
}

impl Plan {
    /// Plans one redistribution.
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
        let values = vec![value(from, Source::Operand(0)), value(to, Source::Redistribute { input: 0 })];
        Plan {
            expression: "redistribute".to_owned(),
            names: (0..shape.len()).map(|dim| format!("d{dim}")).collect(),
            extents: shape.to_vec(),
            ..Plan::of_values(values, 1, dtype, Machine::new(ranks, 1))
        }
    }

    pub(super) fn of_values(values: Vec<Value>, operands: usize, dtype: Dtype, machine: Machine) -> Plan {
        Plan {
            expression: String::new(),
            dtype,
            objective: Objective::Time,
            machine,
            names: Vec::new(),
            extents: Vec::new(),
            slices: Vec::new(),
            slice_groups: 1,
            result: ResultResidency::Whole,
            operands,
            operands_in_parts: Vec::new(),
            leaves: leaves(&values, operands),
            constant: Vec::new(),
            conjugate: Vec::new(),
            values,
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

    /// The result.
    pub fn output(&self) -> &Value {
        &self.values[self.values.len() - 1]
    }

    /// The value of an operand.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn operand(&self, index: usize) -> &Value {
        &self.values[self.leaves[index]]
    }

    /// The name of a dimension.
    pub fn name(&self, label: Label) -> &str {
        &self.names[label.0 as usize]
    }

    /// A term such as `mk` or `[m0,k0]`.
    pub fn term(&self, labels: &[Label]) -> String {
        tree::term(&self.names, labels)
    }

    /// A distribution such as `m/4` or `rank 0`.
    pub fn placement(&self, value: &Value) -> String {
        let names: Vec<&str> = value.labels.iter().map(|&label| self.name(label)).collect();
        value.distribution.describe(&names)
    }

    /// A step such as `mk,kn->mn`.
    pub fn step_text(&self, value: &Value) -> String {
        let term = |id: usize| self.term(&self.values[id].labels);
        let out = self.term(&value.labels);
        match &value.source {
            Source::Operand(_) => out,
            Source::Contract { left, right, .. } => format!("{},{}->{out}", term(*left), term(*right)),
            Source::Unary { input, .. } | Source::Redistribute { input } => format!("{}->{out}", term(*input)),
        }
    }

    /// How often a rank computes a value in a program's first run.
    pub fn times(&self, value: &Value) -> usize {
        if value.lasts == ReuseScope::Slice { self.slice_rounds() } else { 1 }
    }

    /// Slices one after another; groups run several at once.
    pub fn slice_rounds(&self) -> usize {
        self.slice_count().div_ceil(self.slice_groups)
    }

    /// Predicted seconds for one run.
    pub fn seconds(&self) -> f64 {
        self.machine.startup_seconds
            + self.pipeline.as_ref().map_or_else(|| self.busiest_seconds(), |pipeline| pipeline.seconds)
    }

    /// Steps wait for earlier ones of their ranks.
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

    /// Operations in a value's step over all slices and ranks, in 10^9.
    pub fn gflop(&self, value: &Value) -> f64 {
        match &value.source {
            Source::Contract { kinds, .. } => {
                let products: f64 = kinds.iter().map(|(label, _)| self.extents[label.0 as usize] as f64).product();
                let times = if value.lasts == ReuseScope::Slice { self.slice_count() } else { self.slice_groups };
                products * times as f64 * self.dtype.flops_per_multiply_add() as f64 / 1e9
            }
            _ => 0.0,
        }
    }

    /// Operations in the whole plan, in 10^9.
    pub fn total_gflop(&self) -> f64 {
        self.values.iter().map(|value| self.gflop(value)).sum()
    }

    /// The ranks that reports sample: all up to 256, else 8.
    pub fn sampled_ranks(&self) -> Vec<usize> {
        let (ranks, few) = (self.ranks(), 8);
        if ranks <= 256 { (0..ranks).collect() } else { (0..few).map(|i| i * (ranks - 1) / (few - 1)).collect() }
    }

    /// The number of slices.
    pub fn slice_count(&self) -> usize {
        pieces(&self.slices)
    }

    /// The extent of a dimension over all slices.
    pub fn whole_extent(&self, label: Label) -> usize {
        let sliced = self.slices.iter().find(|slice| slice.label == label);
        sliced.map_or(self.extents[label.0 as usize], |slice| slice.extent)
    }

    /// [`Plan::whole_extent`] of each dimension.
    pub fn whole_extents(&self) -> impl Iterator<Item = usize> {
        (0..self.extents.len() as u32).map(|label| self.whole_extent(Label(label)))
    }

    /// The shape of a value over all slices.
    pub fn whole_shape(&self, value: &Value) -> Vec<usize> {
        self.whole_dims(value).collect()
    }

    /// [`Plan::whole_shape`] without a list.
    pub fn whole_dims<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = usize> + Clone + 'a {
        value.labels.iter().map(|&label| self.whole_extent(label))
    }

    /// The shape of an operand.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn operand_shape(&self, index: usize) -> Vec<usize> {
        self.whole_shape(self.operand(index))
    }

    /// The shape of an operand's part, or of the whole operand if it is not in parts.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn operand_part_shape(&self, index: usize) -> Vec<usize> {
        if self.operands_in_parts.contains(&index) {
            self.operand(index).shape.clone()
        } else {
            self.operand_shape(index)
        }
    }

    /// The index at which each part of an operand begins.
    ///
    /// # Panics
    /// If there is no such operand.
    pub(crate) fn operand_corners(&self, index: usize) -> impl ExactSizeIterator<Item = Vec<usize>> {
        let labels = &self.operand(index).labels;
        let own: Vec<Slice> = self.slices.iter().filter(|slice| labels.contains(&slice.label)).copied().collect();
        let parts = pieces(&own);
        (0..parts).map(move |part| starts(&own, part, labels))
    }

    /// How often a run reads every element of an operand. Consecutive slices with the same part share it.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn operand_reads(&self, index: usize) -> usize {
        let labels = &self.operand(index).labels;
        let has = |slice: &Slice| labels.contains(&slice.label) && self.operands_in_parts.contains(&index);
        let innermost = self.slices.iter().rposition(has).unwrap_or(0);
        let others = self.slices[..innermost].iter().filter(|slice| !has(slice));
        pieces(others)
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> Vec<usize> {
        self.whole_shape(self.output())
    }

    /// The index at which a slice starts in each given dimension; 0 if not sliced.
    pub fn slice_starts(&self, slice: usize, labels: &[Label]) -> Vec<usize> {
        starts(&self.slices, slice, labels)
    }

    /// Number of parts of the result; 1 if it is whole.
    pub fn part_count(&self) -> usize {
        match self.result {
            ResultResidency::Whole => 1,
            ResultResidency::InParts => self.slice_count() / self.slices_of_one_element(),
        }
    }

    /// The slices that produce a part of the result.
    pub fn slices_of_part(&self, part: usize) -> Range<usize> {
        let each = self.slice_count() / self.part_count();
        part * each..(part + 1) * each
    }

    /// The index ranges of a part in the result.
    pub fn part_bounds(&self, part: usize) -> Bounds {
        let starts = self.slice_starts(self.slices_of_part(part).start, &self.output().labels);
        starts.into_iter().zip(self.part_shape()).map(|(start, extent)| start..start + extent).collect()
    }

    /// The shape of each part of the result.
    pub fn part_shape(&self) -> Vec<usize> {
        match self.result {
            ResultResidency::Whole => self.output_shape(),
            ResultResidency::InParts => self.output().shape.clone(),
        }
    }

    /// Whether a slice is the first to write its part.
    pub fn begins(&self, slice: usize) -> bool {
        slice.is_multiple_of(self.slices_of_one_element())
    }

    fn slices_of_one_element(&self) -> usize {
        let output = &self.output().labels;
        let summed = self.slices.iter().filter(|slice| !output.contains(&slice.label));
        pieces(summed)
    }

    /// The rank with the most bytes of user tensors that are not in parts, and the bytes.
    pub(crate) fn max_user_bytes(&self) -> (usize, u64) {
        let bytes = |value: &Value, rank| self.block_bytes(value, rank, &self.whole_shape(value));
        let all = (0..self.ranks()).map(|rank| {
            (rank, self.users(rank, self.result, true).map(|v| bytes(v, rank)).fold(0, u64::saturating_add))
        });
        all.max_by_key(|&(rank, bytes)| (bytes, std::cmp::Reverse(rank))).unwrap_or_default()
    }

    /// The operands (with `reads`, those not in parts) and the result (unless in parts) of which this rank has a block.
    pub(super) fn users(&self, rank: usize, output: ResultResidency, reads: bool) -> impl Iterator<Item = &Value> {
        let output = (output == ResultResidency::Whole).then(|| self.output());
        let is_whole = move |index: &usize| !(reads && self.operands_in_parts.contains(index));
        let values = (0..self.operands).filter(is_whole).map(|index| self.operand(index)).chain(output);
        values.filter(move |value| value.distribution.block(&value.shape, rank).is_some())
    }

    pub(super) fn block_bytes(&self, value: &Value, rank: usize, shape: &[usize]) -> u64 {
        value.distribution.block_or_empty(shape, rank).volume().saturating_mul(self.dtype.size()) as u64
    }

    pub(super) fn pieces_of(&self, id: usize) -> usize {
        let has = |label| self.values[id].labels.contains(&label);
        self.pipeline.as_ref().filter(|pipeline| has(pipeline.label)).map_or(1, |pipeline| pipeline.pieces)
    }

    pub(super) fn pieces(&self, id: usize, piece: usize) -> Option<(usize, Range<usize>)> {
        let Value { labels, shape, .. } = &self.values[id];
        let pipeline = self.pipeline.as_ref()?;
        let dim = labels.iter().position(|&label| label == pipeline.label)?;
        Some((dim, tile_bounds(shape[dim], pipeline.pieces, piece)))
    }

    pub(super) fn tensor(&self, id: usize, piece: usize) -> Tensor {
        let Value { labels, shape, distribution, .. } = &self.values[id];
        let (labels, mut shape, distribution) = (labels.clone(), shape.clone(), distribution.clone());
        if let Some((dim, range)) = self.pieces(id, piece) {
            shape[dim] = range.len();
        }
        Tensor { node: id, labels, shape, distribution, buffer: None, window: None }
    }

    /// The values that store conjugates, ascending.
    pub(super) fn conjugated(&self) -> Vec<usize> {
        let mut conjugated: Vec<usize> = Vec::new();
        for (id, value) in self.values.iter().enumerate() {
            let is_conjugated = match value.source {
                Source::Operand(index) => self.conjugate.contains(&index),
                Source::Contract { .. } => false,
                Source::Unary { input, .. } | Source::Redistribute { input } => {
                    conjugated.binary_search(&input).is_ok()
                }
            };
            if is_conjugated {
                conjugated.push(id);
            }
        }
        conjugated
    }

    /// The value before the redistributions that end here.
    pub(super) fn unmoved(&self, mut id: usize) -> usize {
        while let Source::Redistribute { input } = self.values[id].source {
            id = input;
        }
        id
    }
}
