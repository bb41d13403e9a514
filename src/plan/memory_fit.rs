//! Finds slices with which a plan fits into a memory limit.
//!
//! A model of the tree ([`slice_model`](super::slice_model)) says which dimensions to slice, and a complete plan whether the
//! busiest rank fits then; if not, the model has to do with less. Of small trees, dimensions are also sliced one after the other,
//! each with a complete plan, and the cheaper of both stands. The result is whole where that fits and costs little; else it
//! leaves in parts, if the caller can take them and that is cheaper or the only way. Deliberately absent: other orders of
//! contraction, which may be better for slices.

use std::cell::RefCell;

use super::lanes::{SideBySide, side_by_side};
use super::layout::{self, Prices};
use super::slice::{MOST_SLICES, divisors, slice_count};
use super::slice_model::{Model, State};
use super::slice_search::slices;
use super::{Options, Packing, Plan, PlanError, ResultResidency, Slice, Source, Value, distribute};
use crate::dims::Label;
use crate::machine::Machine;
use crate::tree::{Step, Tree};

/// Intermediates whose dimensions are tried, the largest ones.
const LOOKED_AT: usize = 4;

/// Contractions of trees whose dimensions are also sliced one after the other, with a complete plan for each that is tried.
const FEW_CONTRACTIONS: usize = 24;

/// Complete plans of slices that the model finds, at most.
const MOST_PLANS: usize = 12;

/// Of these, how many look for fewer slices than the first that fit.
const MOST_RAISED: usize = 3;

/// Nodes of a tree times dimensions to slice up to which complete plans look for larger pieces.
const COARSENED: usize = 20_000;

/// How little less memory is not worth another plan, as a share.
const NEAR: f64 = 0.02;

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
    let search = MemoryFit { expression, tree, machine, options, limit, prices: &prices };
    let quickest = search.fitted(whole);
    if machine.ranks == 1 || quickest.as_ref().is_ok_and(|plan| plan.slice_count() == 1) {
        return quickest;
    }
    // What is quickest may leave much on one rank, which then needs more slices than others would.
    let options = Options { spread: true, ..options.clone() };
    let search = MemoryFit { options: &options, ..search };
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
    let peaks = plan.sampled_ranks().into_iter().map(|rank| (packing.peak_bytes(&plan.schedule(rank)), rank));
    // Even tiles come larger first, but relays may make another rank than the first the busiest.
    peaks.max_by_key(|&(peak, rank)| (peak, std::cmp::Reverse(rank))).unwrap_or_default()
}

/// Operations of a plan, and what its slices cost beside them; less is better.
fn cost(plan: &Plan) -> f64 {
    priced(plan.total_gflop(), plan.slice_count() as f64)
}

fn priced(gflop: f64, slices: f64) -> f64 {
    // Of plans without operations, the one with the fewest slices.
    gflop.max(f64::MIN_POSITIVE) * (1.0 + PER_SLICE * slices)
}

struct MemoryFit<'a> {
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

impl MemoryFit<'_> {
    /// The plan, the one with leaner grids, or one in slices, that fits.
    fn fitted(&self, whole: Plan) -> Result<Plan, PlanError> {
        let whole = self.leaner(whole);
        let held = self.fit(whole.clone());
        let output = &self.tree.nodes[self.tree.root()].labels;
        let is_one_part = !self.options.in_parts || output.iter().all(|&label| self.tree.extent(label) == 1);
        if is_one_part || held.as_ref().is_ok_and(|held| cost(held) <= SLIGHTLY_MORE * cost(&whole)) {
            return held;
        }
        match (held, self.fit(Plan { result: ResultResidency::InParts, ..whole })) {
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
            let of = if result == ResultResidency::Whole { "operands and result" } else { "operands" };
            return Err(PlanError::Memory { rank, needed, limit, place: format!("for {of} alone") });
        }
        let whole = Sliced::new(Vec::new(), whole);
        let found = if whole.peak <= limit { whole } else { self.slice(whole)? };
        if found.plan.part_count() > 1 && result == ResultResidency::InParts {
            return Ok(found.plan);
        }
        let plan = Plan { result: ResultResidency::Whole, ..found.plan };
        // Memory that is left keeps what is the same in all slices; parts of a result have no slice in common.
        let keeping = plan.clone().lasting(true);
        Ok(if busiest(&keeping).0 <= limit { keeping } else { plan })
    }

    /// Slices what does not fit.
    fn slice(&self, whole: Sliced) -> Result<Sliced, PlanError> {
        let contractions = self.tree.nodes.iter().filter(|node| matches!(node.step, Step::Contract { .. })).count();
        let mut least: Option<Sliced> = None;
        let modelled = [false, true].into_iter().find_map(|packs| self.by_model(&whole, packs, &mut least));
        let modelled = modelled.map(|found| self.coarse(found));
        if contractions > FEW_CONTRACTIONS {
            let least = least.unwrap_or(whole);
            return modelled.ok_or_else(|| self.too_large(&least, "no slices that were found need less"));
        }
        match (self.one_by_one(whole), modelled) {
            (Ok(one), Some(other)) if cost(&one.plan) <= cost(&other.plan) => Ok(one),
            (_, Some(other)) => Ok(other),
            (one, None) => one,
        }
    }

    /// Slices that the model finds and with which the complete plan fits; else, in `least`, what comes closest.
    fn by_model(&self, whole: &Sliced, packs: bool, least: &mut Option<Sliced>) -> Option<Sliced> {
        let model = Model::new(self.tree, whole.plan.result, packs);
        let bytes = self.options.dtype.size() as f64;
        let live = |state: &State| bytes * model.figures(state, 0.0).peak;
        let mut failed = live(&model.whole());
        if failed == 0.0 {
            // Only packing is too much.
            return None;
        }
        let mut target = self.target(whole, failed).min(failed);
        // A target with which a plan fits.
        let mut fit = 0.0;
        let mut best: Option<Sliced> = None;
        let mut forbidden: Vec<Label> = Vec::new();
        let mut raised = 0;
        for _ in 0..MOST_PLANS {
            let found = slices(&model, target / bytes, &forbidden, &priced).into_iter().next();
            match found {
                // Packing may have had its share of what was too much.
                None => target = f64::midpoint(target, failed),
                Some(state) if state.slices.is_empty() => target = (1.0 - NEAR) * target.min(failed),
                Some(state) if best.as_ref().is_some_and(|best| best.slices == state.slices) => fit = target,
                Some(state) => match self.sliced(state.slices.clone(), whole.plan.result) {
                    // A forced algorithm or cut may need a dimension whole.
                    Err(_) => forbidden.push(self.refused(&state.slices, whole.plan.result)?),
                    Ok(planned) if planned.peak > self.limit => {
                        let live = live(&state);
                        failed = failed.min(live);
                        target = self.target(&planned, live).min((1.0 - NEAR) * live);
                        if least.as_ref().is_none_or(|least| planned.peak < least.peak) {
                            *least = Some(planned);
                        }
                    }
                    Ok(planned) => {
                        fit = target;
                        if best.as_ref().is_none_or(|best| cost(&planned.plan) < cost(&best.plan)) {
                            best = Some(planned);
                        }
                    }
                },
            }
            // Once some fit, others may have fewer slices for a little more memory.
            if best.is_some() {
                raised += 1;
                target = f64::midpoint(fit, failed);
                if raised > MOST_RAISED || failed - fit <= NEAR * failed {
                    break;
                }
            } else if failed - target <= NEAR * NEAR * failed {
                break;
            }
        }
        best
    }

    /// Bytes that the model may use, if it has counted `live` bytes where a plan took what it takes.
    fn target(&self, planned: &Sliced, live: f64) -> f64 {
        let users = planned.plan.users_bytes().1;
        let (room, used) = (self.limit.saturating_sub(users) as f64, planned.peak.saturating_sub(users) as f64);
        let shared = live * room / used.max(1.0);
        let excess = planned.peak.saturating_sub(self.limit) as f64;
        // Ranks share what is live; what one rank packs may be as much for smaller tensors.
        if self.machine.ranks > 1 { shared } else { (live - excess).max(shared / 2.0) }
    }

    /// The label of a set that cannot be sliced.
    fn refused(&self, slices: &[Slice], result: ResultResidency) -> Option<Label> {
        let alone = slices.iter().find(|slice| self.sliced(vec![**slice], result).is_err());
        alone.or(slices.last()).map(|slice| slice.label)
    }

    /// Slices one dimension after the other.
    fn one_by_one(&self, whole: Sliced) -> Result<Sliced, PlanError> {
        let mut found = whole;
        while found.peak > self.limit {
            found = self.next(&found).ok_or_else(|| self.too_large(&found, ""))?;
        }
        // The first ones were cut finer than need be.
        let coarse = self.coarse(found);
        if slice_count(&coarse.slices) > MOST_SLICES {
            return Err(PlanError::TooManySlices { limit: self.limit, most: MOST_SLICES as u64 });
        }
        Ok(coarse)
    }

    /// With larger pieces, as far as they fit.
    fn coarse(&self, mut found: Sliced) -> Sliced {
        if found.slices.len() * self.tree.nodes.len() > COARSENED {
            return found;
        }
        for at in (0..found.slices.len()).rev() {
            let larger = larger_pieces(found.slices[at]);
            found = self.coarsest(found, at, &larger);
        }
        found
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
                let cheapest =
                    |pieces: usize| priced(now.plan.total_gflop(), now.plan.slice_count() as f64 * pieces as f64);
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
    fn sliced(&self, slices: Vec<Slice>, result: ResultResidency) -> Result<Sliced, PlanError> {
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

    /// What does not fit, and `why` there are no more slices; without a reason there is none that can be sliced.
    fn too_large(&self, found: &Sliced, why: &str) -> PlanError {
        let Sliced { peak, rank, plan, .. } = found;
        let steps = plan.values.iter().filter(|value| !matches!(value.source, Source::Operand(_)));
        let largest = steps.max_by_key(|value| value.shape.iter().product::<usize>());
        let step = largest.map_or(String::new(), |value| format!(" of `{}`", plan.step_text(value)));
        let names: Vec<String> = found.slices.iter().map(|slice| format!("`{}`", plan.name(slice.label))).collect();
        let place = match (names.is_empty(), why.is_empty()) {
            (true, true) => format!("and nothing{step} can be sliced"),
            (true, false) => format!("and {why}"),
            (false, true) => {
                format!("sliced along {} as it is, and nothing else{step} can be sliced", names.join(", "))
            }
            (false, false) => format!("sliced along {} as it is, and {why}", names.join(", ")),
        };
        PlanError::Memory { rank: *rank, needed: *peak, limit: self.limit, place }
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
    let result = (plan.result == ResultResidency::InParts).then(|| plan.output());
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
