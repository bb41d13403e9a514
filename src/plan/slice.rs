//! Slicing: the same steps for one piece of some dimensions after the other, where the whole does not fit into memory.
//!
//! ```text
//! ab,bc->ac with b in 3 pieces: out = a b0, b0 c      of a dimension of out, each slice writes its part;
//!                               out += a b1, b1 c     of a summed one, each but the first adds onto out
//!                               out += a b2, b2 c
//! ```
//!
//! Invariants: pieces of a dimension are equal, so that one schedule serves all slices; no tensor is cut over ranks along a
//! sliced dimension. Deliberately absent: keeping between slices what is the same in all of them.

use serde::{Deserialize, Serialize};

use super::layout::{self, Prices};
use super::{Options, Packing, Plan, PlanError, Source, Value, distribute};
use crate::dims::Label;
use crate::machine::Machine;
use crate::tree::Tree;

/// Intermediates whose dimensions are tried, the largest ones.
const LOOKED_AT: usize = 4;

/// A dimension of which each slice has one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    pub label: Label,
    /// Of the whole dimension, a multiple of the piece.
    pub extent: usize,
    pub piece: usize,
}

/// Plans a tree, in slices if it does not fit otherwise.
pub fn fitting(expression: &str, tree: &Tree, machine: &Machine, options: &Options) -> Result<Plan, PlanError> {
    let mut search = Search { expression, tree, machine, options, prices: Prices::new() };
    let whole = search.laid_out(tree, options, &[])?;
    let Some(limit) = options.memory_limit else { return Ok(whole) };
    let (rank, least) = users(&whole);
    if least > limit {
        let place = "for operands and result alone".to_owned();
        return Err(PlanError::Memory { rank, needed: least, limit, place });
    }
    let (mut peak, mut plan) = (busiest(&whole), whole);
    let mut slices: Vec<Slice> = Vec::new();
    while peak.0 > limit {
        let (next, plan_next, peak_next) = search.next(&plan, &slices, peak.0)?.ok_or_else(|| {
            let (needed, rank) = peak;
            PlanError::Memory { rank, needed, limit, place: place(&plan, &slices) }
        })?;
        slices.push(next);
        (plan, peak) = (plan_next, peak_next);
    }
    // The last ones were cut finer than need be.
    for at in (0..slices.len()).rev() {
        let Slice { extent, piece, .. } = slices[at];
        for larger in divisors(extent).into_iter().rev().take_while(|&larger| larger > piece) {
            let mut coarser = slices.clone();
            coarser[at].piece = larger;
            let coarse = search.sliced(&coarser)?;
            if busiest(&coarse).0 <= limit {
                (slices, plan) = (coarser, coarse);
                break;
            }
        }
    }
    Ok(plan)
}

/// The divisors of a number from 1 on, ascending.
fn divisors(number: usize) -> Vec<usize> {
    let mut low: Vec<usize> = (1..=number.isqrt()).filter(|divisor| number.is_multiple_of(*divisor)).collect();
    let high: Vec<usize> = low.iter().rev().map(|low| number / low).filter(|high| high * high != number).collect();
    low.extend(high);
    low
}

struct Search<'a> {
    expression: &'a str,
    tree: &'a Tree,
    machine: &'a Machine,
    options: &'a Options,
    prices: Prices,
}

impl Search<'_> {
    /// Lays intermediates out, then distributes.
    fn laid_out(&mut self, tree: &Tree, options: &Options, uncut: &[Label]) -> Result<Plan, PlanError> {
        let target = options.target.filter(|_| options.layout);
        let arranged = target.map(|target| layout::arrange(tree, options.dtype, &target, &mut self.prices));
        distribute::distribute(self.expression, arranged.as_ref().unwrap_or(tree), self.machine, options, uncut)
    }

    /// The dimension to slice next: of those that make the peak lower, the one that adds the fewest operations.
    #[expect(clippy::type_complexity, reason = "used once")]
    fn next(
        &mut self,
        plan: &Plan,
        slices: &[Slice],
        peak: u64,
    ) -> Result<Option<(Slice, Plan, (u64, usize))>, PlanError> {
        let mut best: Option<(f64, Slice, Plan, (u64, usize))> = None;
        for label in candidates(plan) {
            let slice = Slice { label, extent: self.tree.extent(label), piece: 1 };
            let sliced = self.sliced(&[slices, &[slice]].concat())?;
            let lower = busiest(&sliced);
            let gflop = sliced.total_gflop();
            if lower.0 < peak && best.as_ref().is_none_or(|(least, ..)| gflop < *least) {
                best = Some((gflop, slice, sliced, lower));
            }
        }
        Ok(best.map(|(_, slice, plan, peak)| (slice, plan, peak)))
    }

    /// The plan of one slice.
    fn sliced(&mut self, slices: &[Slice]) -> Result<Plan, PlanError> {
        let mut tree = self.tree.clone();
        slices.iter().for_each(|slice| tree.extents[slice.label.0 as usize] = slice.piece);
        let output = &tree.nodes[tree.root()].labels;
        let mut slices: Vec<Slice> = slices.iter().filter(|slice| slice.piece < slice.extent).copied().collect();
        // Those that are summed vary fastest: an element of out is finished before the next one is begun.
        slices.sort_by_key(|slice| !output.contains(&slice.label));
        let adds = slices.iter().any(|slice| !output.contains(&slice.label));
        let options = Options { accumulate: self.options.accumulate || adds, ..self.options.clone() };
        let uncut: Vec<Label> = slices.iter().map(|slice| slice.label).collect();
        let plan = self.laid_out(&tree, &options, &uncut)?;
        Ok(Plan { slices, ..plan })
    }
}

/// What takes the most memory where nothing can be sliced any more.
fn place(plan: &Plan, slices: &[Slice]) -> String {
    let largest = (0..plan.values.len()).max_by_key(|&id| plan.values[id].shape.iter().product::<usize>());
    let step = largest.map_or(String::new(), |id| format!(" of `{}`", plan.step_text(&plan.values[id])));
    let names: Vec<String> = slices.iter().map(|slice| format!("`{}`", plan.name(slice.label))).collect();
    if names.is_empty() {
        return format!("and nothing{step} can be sliced");
    }
    format!("sliced along {} as it is, and nothing else{step} can be sliced", names.join(", "))
}

/// The dimensions of the largest intermediates that have more than one element.
fn candidates(plan: &Plan) -> Vec<Label> {
    let last = plan.values.len() - 1;
    let is_between = |(id, value): &(usize, &Value)| *id < last && !matches!(value.source, Source::Operand(_));
    let mut between: Vec<&Value> = plan.values.iter().enumerate().filter(is_between).map(|(_, value)| value).collect();
    between.sort_by_key(|value| std::cmp::Reverse(value.shape.iter().product::<usize>()));
    // Without intermediates it is packing that is too much.
    let mut looked_at: Vec<&Value> = between.into_iter().take(LOOKED_AT).collect();
    if looked_at.is_empty() {
        looked_at = plan.values.iter().collect();
    }
    let mut labels: Vec<Label> = Vec::new();
    for &label in looked_at.iter().flat_map(|value| &value.labels) {
        if !labels.contains(&label) && plan.extents[label.0 as usize] > 1 {
            labels.push(label);
        }
    }
    labels
}

/// The peak of the busiest rank, and which it is: even tiles come larger first, but relays may make another rank the busiest.
fn busiest(plan: &Plan) -> (u64, usize) {
    let mut packing = Packing::new(plan);
    let peaks = (0..plan.ranks()).map(|rank| (packing.peak_bytes(&plan.schedule(rank)) + outside(plan, rank), rank));
    peaks.max_by_key(|&(peak, rank)| (peak, std::cmp::Reverse(rank))).unwrap_or_default()
}

/// The bytes of the user's whole blocks of the busiest rank.
fn users(plan: &Plan) -> (usize, u64) {
    let bytes = |rank| plan.users(rank).map(|value| plan.block_bytes(value, rank, &plan.whole_shape(value))).sum();
    let all = (0..plan.ranks()).map(|rank| (rank, bytes(rank)));
    all.max_by_key(|&(rank, bytes)| (bytes, std::cmp::Reverse(rank))).unwrap_or_default()
}

/// The bytes of the user's blocks of which a slice has only a part.
fn outside(plan: &Plan, rank: usize) -> u64 {
    let beyond = |value: &Value| {
        plan.block_bytes(value, rank, &plan.whole_shape(value)) - plan.block_bytes(value, rank, &value.shape)
    };
    if plan.slices.is_empty() { 0 } else { plan.users(rank).map(beyond).sum() }
}

impl Plan {
    /// How many times the schedule runs for one result.
    pub fn slice_count(&self) -> usize {
        self.slices.iter().map(|slice| slice.extent / slice.piece).product()
    }

    /// The extent of a dimension over all slices.
    pub fn whole_extent(&self, label: Label) -> usize {
        let sliced = self.slices.iter().find(|slice| slice.label == label);
        sliced.map_or(self.extents[label.0 as usize], |slice| slice.extent)
    }

    /// The extents of all dimensions over all slices, by label.
    pub fn whole_extents(&self) -> impl Iterator<Item = usize> {
        (0..self.extents.len() as u32).map(|label| self.whole_extent(Label(label)))
    }

    /// The shape of a value over all slices.
    pub fn whole_shape(&self, value: &Value) -> Vec<usize> {
        self.whole_dims(value).collect()
    }

    /// As [`Plan::whole_shape`], without a list.
    pub fn whole_dims<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = usize> + Clone + 'a {
        value.labels.iter().map(|&label| self.whole_extent(label))
    }

    /// The shape of an operand.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn operand_shape(&self, index: usize) -> Vec<usize> {
        self.whole_shape(self.operand(index))
    }

    pub fn output_shape(&self) -> Vec<usize> {
        self.whole_shape(self.output())
    }

    /// Where a slice begins in each of these dimensions.
    pub fn slice_starts(&self, slice: usize, labels: &[Label]) -> Vec<usize> {
        let mut starts = vec![0; labels.len()];
        let mut rest = slice;
        for Slice { label, extent, piece } in self.slices.iter().rev() {
            let pieces = extent / piece;
            for (start, _) in starts.iter_mut().zip(labels).filter(|(_, l)| *l == label) {
                *start = rest % pieces * piece;
            }
            rest /= pieces;
        }
        starts
    }

    /// Whether a slice is the first that writes its part of the output.
    pub fn begins(&self, slice: usize) -> bool {
        let output = &self.output().labels;
        let mut rest = slice;
        self.slices.iter().rev().all(|Slice { label, extent, piece }| {
            let pieces = extent / piece;
            let at = rest % pieces;
            rest /= pieces;
            at == 0 || output.contains(label)
        })
    }

    /// Bytes of the operands' and the output's blocks of a rank, of which a slice has only a part: what schedules do not
    /// count.
    pub fn bytes_outside(&self, rank: usize) -> u64 {
        outside(self, rank)
    }

    /// Bytes that a rank needs: its blocks of operands and output, intermediates, and what it packs into.
    pub fn peak_bytes(&self, rank: usize) -> u64 {
        Packing::new(self).peak_bytes(&self.schedule(rank)) + outside(self, rank)
    }

    /// The values that are the user's and of which a rank has a block.
    fn users(&self, rank: usize) -> impl Iterator<Item = &Value> {
        let values = self.leaves.iter().map(|&leaf| &self.values[leaf]).chain([self.output()]);
        values.filter(move |value| value.distribution.block(&value.shape, rank).is_some())
    }

    fn block_bytes(&self, value: &Value, rank: usize, shape: &[usize]) -> u64 {
        (value.distribution.block_or_empty(shape, rank).volume() * self.dtype.size()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_divisors() {
        assert_eq!(divisors(1), [1]);
        assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
        assert_eq!(divisors(1021), [1, 1021]);
    }
}
