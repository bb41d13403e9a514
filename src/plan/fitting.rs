//! Finds slices with which a plan fits into a memory limit.
//!
//! Dimensions are sliced one after the other until the busiest rank fits: of those that help, the one that adds the least to
//! the cost. The result is whole where that fits and costs little; else it leaves in parts, if the caller can take them and
//! that is cheaper or the only way. Deliberately absent: a search over combinations of dimensions.

use std::cell::RefCell;

use super::lanes::{SideBySide, side_by_side};
use super::layout::{self, Prices};
use super::{Held, Options, Packing, Plan, PlanError, Slice, Source, Value, distribute};
use crate::dims::Label;
use crate::machine::Machine;
use crate::tree::Tree;

/// Intermediates whose dimensions are tried, the largest ones.
const LOOKED_AT: usize = 4;

/// What a slice costs, as a share of all operations: its tensors are smaller, and it may have to add onto out.
const PER_SLICE: f64 = 0.01;

/// A whole result that costs so many times what it costs without slices is held as such.
const SLIGHTLY_MORE: f64 = 1.1;

/// Plans a tree, in slices if it does not fit otherwise.
pub fn fitting(expression: &str, tree: &Tree, machine: &Machine, options: &Options) -> Result<Plan, PlanError> {
    let prices = RefCell::new(Prices::new());
    if let Some(limit) = options.memory_limit.filter(|_| machine.ranks > 1) {
        // What fits anyway need not be told of the limit.
        let free = Options { memory_limit: None, ..options.clone() };
        let plan = laid_out(expression, tree, machine, &free, &[], &mut prices.borrow_mut())?.0;
        if busiest(&plan).0 <= limit {
            return Ok(Plan { memory_limit: Some(limit), ..plan });
        }
    }
    let whole = laid_out(expression, tree, machine, options, &[], &mut prices.borrow_mut())?;
    let split = if machine.ranks == 1 { side_by_side(&whole.1, machine.workers) } else { None };
    if let Some(SideBySide { tree, lanes }) = split {
        let planned = distribute::distribute(expression, &tree, machine, options, &[], &lanes)?.lasting(false);
        let (least, most) = (busiest(&whole.0).0, busiest(&planned).0);
        if most <= LANES_MEMORY * least && options.memory_limit.is_none_or(|limit| most <= limit) {
            return Ok(Plan { path: whole.0.path, ..planned });
        }
    }
    let whole = whole.0;
    let Some(limit) = options.memory_limit else { return Ok(whole) };
    if !whole.constant.is_empty() && busiest(&whole).0 > limit {
        // Slices are dearer than computing once more what was promised not to change.
        let forgetful = Plan { constant: Vec::new(), ..whole.clone() }.lasting(false);
        if busiest(&forgetful).0 <= limit {
            return Ok(forgetful);
        }
    }
    let search = Search { expression, tree, machine, options, limit, prices: &prices };
    let quickest = search.fitted(whole);
    if machine.ranks == 1 || quickest.as_ref().is_ok_and(|plan| plan.slice_count() == 1) {
        return quickest;
    }
    // What is quickest may leave much on one rank, which then needs more slices than others would.
    let options = Options { spread: true, ..options.clone() };
    let search = Search { options: &options, ..search };
    let Ok((whole, _)) = laid_out(expression, tree, machine, &options, &[], &mut prices.borrow_mut()) else {
        return quickest;
    };
    match (quickest, search.fitted(whole)) {
        (Ok(quickest), Ok(spread)) => Ok(if cost(&spread) < cost(&quickest) { spread } else { quickest }),
        (Err(PlanError::Memory { .. }), spread) => spread,
        (quickest, _) => quickest,
    }
}

/// How often less memory is tried than there is.
const LEANER: usize = 6;

/// How many times the memory subtrees side by side may take.
const LANES_MEMORY: u64 = 2;

/// Lays intermediates out, then distributes; with the tree that it has become.
fn laid_out(
    expression: &str,
    tree: &Tree,
    machine: &Machine,
    options: &Options,
    uncut: &[Label],
    prices: &mut Prices,
) -> Result<(Plan, Tree), PlanError> {
    let target = options.target.filter(|_| options.layout);
    let arranged = target.map_or_else(|| tree.clone(), |target| layout::arrange(tree, options.dtype, &target, prices));
    let plan = distribute::distribute(expression, &arranged, machine, options, uncut, &[])?;
    Ok((plan.lasting(false), arranged))
}

/// The peak of the busiest rank, and which it is; of very many ranks, of those that reports look at.
fn busiest(plan: &Plan) -> (u64, usize) {
    let mut packing = Packing::new(plan);
    let peaks = plan.looked_at().into_iter().map(|rank| (packing.peak_bytes(&plan.schedule(rank)), rank));
    // Even tiles come larger first, but relays may make another rank than the first the busiest.
    peaks.max_by_key(|&(peak, rank)| (peak, std::cmp::Reverse(rank))).unwrap_or_default()
}

/// Operations of a plan, and what its slices cost beside them; less is better.
fn cost(plan: &Plan) -> f64 {
    priced(plan.total_gflop(), plan.slice_count())
}

fn priced(gflop: f64, slices: usize) -> f64 {
    // Of plans without operations, the one with the fewest slices.
    gflop.max(f64::MIN_POSITIVE) * (1.0 + PER_SLICE * slices as f64)
}

struct Search<'a> {
    expression: &'a str,
    tree: &'a Tree,
    machine: &'a Machine,
    options: &'a Options,
    limit: u64,
    /// Of contractions that were looked at before.
    prices: &'a RefCell<Prices>,
}

/// A plan, and what it was made with.
struct Sliced {
    slices: Vec<Slice>,
    plan: Plan,
    peak: u64,
    /// Whose peak that is.
    rank: usize,
}

impl Sliced {
    fn new(slices: Vec<Slice>, plan: Plan) -> Sliced {
        let (peak, rank) = busiest(&plan);
        Sliced { slices, plan, peak, rank }
    }
}

impl Search<'_> {
    /// The plan, the one with leaner grids, or one in slices, that fits.
    fn fitted(&self, whole: Plan) -> Result<Plan, PlanError> {
        let whole = self.leaner(whole);
        let held = self.fit(whole.clone());
        if !self.options.in_parts || held.as_ref().is_ok_and(|held| cost(held) <= SLIGHTLY_MORE * cost(&whole)) {
            return held;
        }
        match (held, self.fit(Plan { result: Held::InParts, ..whole })) {
            (Ok(held), Ok(in_parts)) if cost(&in_parts) < cost(&held) => Ok(in_parts),
            (Err(PlanError::Memory { .. }), in_parts) => in_parts,
            (held, _) => held,
        }
    }

    /// Grids fill the memory that there is with pieces, and what is packed comes on top: the plan that has to do with so much
    /// less, if that fits.
    fn leaner(&self, whole: Plan) -> Plan {
        let (mut told, mut peak) = (self.limit, busiest(&whole).0);
        for _ in 0..LEANER {
            if peak <= self.limit || self.machine.ranks == 1 {
                break;
            }
            told = told.saturating_sub((peak - self.limit).max(told / 8));
            let options = Options { memory_limit: Some(told), ..self.options.clone() };
            let planned =
                laid_out(self.expression, self.tree, self.machine, &options, &[], &mut self.prices.borrow_mut());
            let Ok((plan, _)) = planned else { break };
            peak = busiest(&plan).0;
            if peak <= self.limit {
                return Plan { memory_limit: Some(self.limit), ..plan };
            }
        }
        whole
    }

    /// Slices a plan until it fits.
    fn fit(&self, whole: Plan) -> Result<Plan, PlanError> {
        let (limit, result) = (self.limit, whole.result);
        let (rank, needed) = whole.users_bytes();
        if needed > limit {
            let of = if result == Held::Whole { "operands and result" } else { "operands" };
            return Err(PlanError::Memory { rank, needed, limit, place: format!("for {of} alone") });
        }
        let mut found = Sliced::new(Vec::new(), whole);
        while found.peak > limit {
            match self.next(&found) {
                Some(next) => found = next,
                None => {
                    let Sliced { peak: needed, rank, .. } = found;
                    return Err(PlanError::Memory { rank, needed, limit, place: self.place(&found) });
                }
            }
        }
        // The first ones were cut finer than need be.
        for at in (0..found.slices.len()).rev() {
            let larger = larger_pieces(found.slices[at]);
            found = self.coarsest(found, at, &larger);
        }
        if found.plan.part_count() > 1 && result == Held::InParts {
            return Ok(found.plan);
        }
        let plan = Plan { result: Held::Whole, ..found.plan };
        // Memory that is left keeps what is the same in all slices; parts of a result have no slice in common.
        let keeping = plan.clone().lasting(true);
        Ok(if busiest(&keeping).0 <= limit { keeping } else { plan })
    }

    /// With one more dimension sliced; `None` where none makes the peak lower.
    fn next(&self, now: &Sliced) -> Option<Sliced> {
        let mut best: Option<Sliced> = None;
        for label in candidates(&now.plan) {
            let mut slices = now.slices.clone();
            slices.push(Slice { label, extent: self.tree.extent(label), piece: 1 });
            // A forced algorithm or cut may need a dimension whole.
            let Ok(mut next) = self.sliced(slices, now.plan.result) else { continue };
            let least = best.as_ref().map_or(f64::INFINITY, |best| cost(&best.plan));
            if next.peak <= self.limit {
                // Another dimension adds operations, or none.
                let at = now.slices.len();
                let cheapest = |pieces: usize| priced(now.plan.total_gflop(), now.plan.slice_count() * pieces);
                let mut larger = larger_pieces(next.slices[at]);
                larger.retain(|piece| cheapest(next.slices[at].extent / piece) < least);
                next = self.coarsest(next, at, &larger);
            }
            if next.peak < now.peak && cost(&next.plan) < least {
                best = Some(next);
            }
        }
        best
    }

    /// With the largest of these pieces, in ascending order, of one of its dimensions that fit; of a plan that fits.
    fn coarsest(&self, mut found: Sliced, at: usize, pieces: &[usize]) -> Sliced {
        // Larger pieces take more memory. Often none fits.
        let (mut fit, mut do_not, mut middle) = (0, pieces.len(), 0);
        while fit < do_not {
            let mut slices = found.slices.clone();
            slices[at].piece = pieces[middle];
            match self.sliced(slices, found.plan.result) {
                Ok(coarse) if coarse.peak <= self.limit => (found, fit) = (coarse, middle + 1),
                _ => do_not = middle,
            }
            middle = usize::midpoint(fit, do_not);
        }
        found
    }

    /// The plan of one slice.
    fn sliced(&self, slices: Vec<Slice>, result: Held) -> Result<Sliced, PlanError> {
        let mut tree = self.tree.clone();
        slices.iter().for_each(|slice| tree.extents[slice.label.0 as usize] = slice.piece);
        let output = &tree.nodes[tree.root()].labels;
        let mut cut: Vec<Slice> = slices.iter().filter(|slice| slice.piece < slice.extent).copied().collect();
        // Those that are summed vary fastest: an element of out is finished before the next one is begun.
        cut.sort_by_key(|slice| !output.contains(&slice.label));
        let adds = cut.iter().any(|slice| !output.contains(&slice.label));
        let options = Options { accumulate: self.options.accumulate || adds, ..self.options.clone() };
        let uncut: Vec<Label> = cut.iter().map(|slice| slice.label).collect();
        let (plan, _) =
            laid_out(self.expression, &tree, self.machine, &options, &uncut, &mut self.prices.borrow_mut())?;
        Ok(Sliced::new(slices, Plan { slices: cut, result, ..plan }.lasting(false)))
    }

    /// What takes the most memory where nothing can be sliced any more.
    fn place(&self, found: &Sliced) -> String {
        let plan = &found.plan;
        let steps = plan.values.iter().filter(|value| !matches!(value.source, Source::Operand(_)));
        let largest = steps.max_by_key(|value| value.shape.iter().product::<usize>());
        let step = largest.map_or(String::new(), |value| format!(" of `{}`", plan.step_text(value)));
        let names: Vec<String> = found.slices.iter().map(|slice| format!("`{}`", plan.name(slice.label))).collect();
        if names.is_empty() {
            return format!("and nothing{step} can be sliced");
        }
        format!("sliced along {} as it is, and nothing else{step} can be sliced", names.join(", "))
    }
}

/// The dimensions of what takes the most memory, as far as they have more than one element: of a result in parts, whose
/// first ones are best as parts of it are then in one piece, and of the largest intermediates.
fn candidates(plan: &Plan) -> Vec<Label> {
    let last = plan.values.len() - 1;
    let is_between = |(id, value): &(usize, &Value)| *id < last && !matches!(value.source, Source::Operand(_));
    let mut between: Vec<&Value> = plan.values.iter().enumerate().filter(is_between).map(|(_, value)| value).collect();
    between.sort_by_key(|value| std::cmp::Reverse(value.shape.iter().product::<usize>()));
    between.truncate(LOOKED_AT);
    // Without intermediates it is packing that is too much.
    let others: Vec<&Value> = if between.is_empty() { plan.values.iter().collect() } else { between };
    let result = (plan.result == Held::InParts).then(|| plan.output());
    let mut labels: Vec<Label> = Vec::new();
    for &label in result.into_iter().chain(others).flat_map(|value| &value.labels) {
        if !labels.contains(&label) && plan.extents[label.0 as usize] > 1 {
            labels.push(label);
        }
    }
    labels
}

/// Pieces of a dimension that are larger than those it has, up to all of it.
fn larger_pieces(slice: Slice) -> Vec<usize> {
    divisors(slice.extent).into_iter().filter(|&piece| piece > slice.piece).collect()
}

/// The divisors of a number from 1 on, ascending.
fn divisors(number: usize) -> Vec<usize> {
    let mut low: Vec<usize> = (1..=number.isqrt()).filter(|divisor| number.is_multiple_of(*divisor)).collect();
    let high: Vec<usize> = low.iter().rev().map(|low| number / low).filter(|high| high * high != number).collect();
    low.extend(high);
    low
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
