//! Chooses dimensions to slice so that a plan fits into memory.
//!
//! The path search's slices are tried first, then those that a model proposes ([`slice_model`](super::slice_model)),
//! then one dimension after another (`docs/trees.md`). Invariant: the contraction order does not change.

use super::candidates::SearchArguments;
use super::context::PlanningContext;
use super::distributed;
use super::error::PlanError;
use super::packing::busiest;
use super::reuse::lasting;
use super::slice::{MAX_SLICES, divisors, slice_count};
use super::slice_model::{Model, State, largest_step};
use super::slice_search::slices;
use super::structure::{Plan, ResultResidency, Slice, Source, Value};
use crate::dims::{Label, distinct};
use crate::tree::{Step, Tree};

/// Of intermediates and of operands in parts, the largest whose dimensions are tried.
const CANDIDATE_INTERMEDIATES: usize = 4;

/// Larger trees are not sliced with complete plans.
const MAX_TRIAL_CONTRACTIONS: usize = 24;

/// Dimensions that may be tried for that, each with a complete plan, if other slices are known.
const MAX_TRIALS: usize = 100;

const MAX_PLANS: usize = 12;

const MAX_RAISED_PLANS: usize = 3;

/// Maximum nodes x sliced dimensions for which larger pieces (extents in one slice) are tried.
const MAX_COARSENED: usize = 20_000;

/// The search ends when the largest target that fits is this close to one that does not.
const TARGET_TOLERANCE: f64 = 0.02;

/// Overhead per slice as a fraction of the cost of all operations.
const PER_SLICE: f64 = 0.01;

/// Assumed rate for parts of operands.
const READ_BYTES_PER_SECOND: f64 = 1e9;

/// To balance groups, at most this many slices each are cut.
const MAX_SLICES_PER_GROUP: f64 = 8.0;

/// They must reduce the busiest group's operations to this fraction.
const ENOUGH_LESS: f64 = 0.97;

/// A whole result may cost this many times the unsliced plan.
const MAX_COST_INCREASE: f64 = 1.1;

/// If it fits. On one rank, the limit affects only slices.
pub fn without_limit(context: &PlanningContext) -> Result<Option<Plan>, PlanError> {
    let Some(limit) = context.options.memory_limit.filter(|_| context.machine.ranks > 1) else { return Ok(None) };
    let arguments = SearchArguments { memory: None, ..SearchArguments::new(context.options) };
    let plan = arranged(context, context.tree, arguments)?;
    Ok((busiest(&plan).0 <= limit).then_some(Plan { memory_limit: Some(limit), ..plan }))
}

/// Whether some intermediate exceeds the memory of all ranks. Every plan without batches then has slices.
pub fn must_slice(context: &PlanningContext) -> bool {
    let Some(limit) = context.options.memory_limit else { return false };
    let all = limit as f64 * context.machine.ranks as f64;
    let mut steps = context.tree.nodes.iter().filter(|node| matches!(node.step, Step::Contract { .. }));
    steps.any(|node| context.tree.elements(&node.labels) * context.options.dtype.size() as f64 > all)
}

/// Whether `whole`, a plan with a lower limit, or one that spreads memory evenly fits.
pub fn fits_without_slices(context: &PlanningContext, whole: &Plan) -> bool {
    let Some(limit) = context.options.memory_limit else { return true };
    let fits = |arguments, plan: Plan| {
        busiest(&MemoryFit { context, limit, reads: false, arguments }.with_tighter_limits(plan)).0 <= limit
    };
    let arguments = SearchArguments::new(context.options);
    let spread = SearchArguments { spread: true, ..arguments };
    fits(arguments, whole.clone()) || arranged(context, context.tree, spread).is_ok_and(|plan| fits(spread, plan))
}

/// A plan within the limit, with slices only if none fits without.
///
/// # Errors
/// If none of the plans tried fits within the limit.
pub fn fitted(context: &PlanningContext, whole: Plan) -> Result<Plan, PlanError> {
    let Some(limit) = context.options.memory_limit else { return Ok(whole) };
    if !whole.constant.is_empty() && busiest(&whole).0 > limit {
        // Recomputing values costs less than slicing.
        let recomputing = lasting(Plan { constant: Vec::new(), ..whole.clone() }, false);
        if busiest(&recomputing).0 <= limit {
            return Ok(recomputing);
        }
    }
    match with_operands(context, (limit, false), whole.clone()) {
        Err(PlanError::Memory { .. } | PlanError::TooManySlices { .. }) if context.options.operands_in_parts => {
            with_operands(context, (limit, true), whole)
        }
        found => found,
    }
}

fn with_operands(context: &PlanningContext, (limit, reads): (u64, bool), whole: Plan) -> Result<Plan, PlanError> {
    let arguments = SearchArguments::new(context.options);
    let quickest = MemoryFit { context, limit, reads, arguments }.fitted(whole);
    if context.machine.ranks == 1 || quickest.as_ref().is_ok_and(|plan| plan.slice_count() == 1) {
        return quickest;
    }
    // The fastest plan may need more slices than one that spreads memory evenly.
    let arguments = SearchArguments { spread: true, ..arguments };
    let Ok(whole) = arranged(context, context.tree, arguments) else { return quickest };
    match (quickest, MemoryFit { context, limit, reads, arguments }.fitted(whole)) {
        (Ok(quickest), Ok(spread)) => Ok(if cost(&spread) < cost(&quickest) { spread } else { quickest }),
        (Err(PlanError::Memory { .. }), spread) => spread,
        (quickest, _) => quickest,
    }
}

/// A plan with the prescribed slices, and if necessary, the result or operands in parts.
///
/// # Errors
/// If it does not fit within the limit, or a forced algorithm or cut needs a sliced dimension.
pub fn prescribed(context: &PlanningContext) -> Result<Plan, PlanError> {
    let limit = context.options.memory_limit.unwrap_or(u64::MAX);
    let with = |result, spread, reads| {
        let arguments = SearchArguments { spread, ..SearchArguments::new(context.options) };
        let fit = MemoryFit { context, limit, reads, arguments };
        let found = fit.sliced(context.slices.clone(), result)?;
        let fits = found.peak <= limit;
        if fits { Ok(fit.kept(found, result)) } else { Err(fit.too_large(&found, "other slices are not allowed")) }
    };
    let mut planned = with(ResultResidency::Whole, false, false);
    for others in 1..8 {
        let [spread, in_parts, reads] = [1, 2, 4].map(|bit| others & bit != 0);
        let is_allowed = (!in_parts || context.options.in_parts)
            && (!spread || context.machine.ranks > 1)
            && (!reads || context.options.operands_in_parts);
        if is_allowed && matches!(planned, Err(PlanError::Memory { .. })) {
            let result = if in_parts { ResultResidency::InParts } else { ResultResidency::Whole };
            planned = with(result, spread, reads);
        }
    }
    planned
}

fn arranged(context: &PlanningContext, tree: &Tree, arguments: SearchArguments) -> Result<Plan, PlanError> {
    distributed(context, &context.arranged(tree), arguments)
}

const TIGHTER_LIMITS: usize = 6;

/// Gflop, with the overhead for slices and reading.
fn cost(plan: &Plan) -> f64 {
    priced(plan.total_gflop() + reading_gflop(plan), plan.slice_count() as f64)
}

/// Gflop that all ranks could carry out meanwhile.
fn reading_gflop(plan: &Plan) -> f64 {
    let elements = |index: usize| plan.whole_dims(plan.operand(index)).map(|extent| extent as f64).product::<f64>();
    let read = |&index: &usize| elements(index) * plan.operand_reads(index) as f64;
    let bytes = plan.operands_in_parts.iter().map(read).sum::<f64>() * plan.dtype.size() as f64;
    bytes / READ_BYTES_PER_SECOND * plan.machine.flops * plan.machine.workers as f64 / 1e9
}

fn priced(gflop: f64, slices: f64) -> f64 {
    // Without operations, the fewest slices are cheapest.
    gflop.max(f64::MIN_POSITIVE) * (1.0 + PER_SLICE * slices)
}

struct MemoryFit<'a> {
    context: &'a PlanningContext<'a>,
    limit: u64,
    /// Whether operands are in parts: all while slices are sought.
    reads: bool,
    arguments: SearchArguments<'a>,
}

struct Sliced {
    slices: Vec<Slice>,
    plan: Plan,
    peak: u64,
    /// The rank with `peak`.
    rank: usize,
}

impl Sliced {
    fn new(slices: Vec<Slice>, plan: Plan) -> Sliced {
        let (peak, rank) = busiest(&plan);
        Sliced { slices, plan, peak, rank }
    }
}

impl MemoryFit<'_> {
    fn fitted(&self, whole: Plan) -> Result<Plan, PlanError> {
        let whole = self.with_tighter_limits(whole);
        let held = self.fit(whole.clone());
        let output = &self.context.tree.nodes[self.context.tree.root()].labels;
        let is_one_part =
            !self.context.options.in_parts || output.iter().all(|&label| self.context.tree.extent(label) == 1);
        if is_one_part || held.as_ref().is_ok_and(|held| cost(held) <= MAX_COST_INCREASE * cost(&whole)) {
            return held;
        }
        match (held, self.fit(Plan { result: ResultResidency::InParts, ..whole })) {
            (Ok(held), Ok(in_parts)) if cost(&in_parts) < cost(&held) => Ok(in_parts),
            (Err(PlanError::Memory { .. }), in_parts) => in_parts,
            (held, _) => held,
        }
    }

    /// Lowers the limit until the plan fits; else returns `whole`. Grid algorithms fill the limit, and packing needs
    /// more.
    fn with_tighter_limits(&self, whole: Plan) -> Plan {
        let (mut adjusted_limit, mut peak) = (self.limit, busiest(&whole).0);
        for _ in 0..TIGHTER_LIMITS {
            if peak <= self.limit || self.context.machine.ranks == 1 {
                break;
            }
            adjusted_limit = adjusted_limit.saturating_sub((peak - self.limit).max(adjusted_limit / 8));
            let arguments = SearchArguments { memory: Some(adjusted_limit), ..self.arguments };
            let Ok(plan) = arranged(self.context, self.context.tree, arguments) else { break };
            peak = busiest(&plan).0;
            if peak <= self.limit {
                return Plan { memory_limit: Some(self.limit), ..plan };
            }
        }
        whole
    }

    fn fit(&self, whole: Plan) -> Result<Plan, PlanError> {
        let (limit, result) = (self.limit, whole.result);
        let whole = Plan { operands_in_parts: self.all_in_parts(&whole), ..whole };
        let (rank, needed) = whole.max_user_bytes();
        if needed > limit {
            let of = match (result, self.reads) {
                (ResultResidency::Whole, true) => "result",
                (ResultResidency::Whole, false) => "operands and result",
                (ResultResidency::InParts, _) => "operands",
            };
            return Err(PlanError::Memory { rank, needed, limit, place: format!("for {of} alone") });
        }
        let whole = Sliced::new(Vec::new(), whole);
        let found = if whole.peak <= limit { whole } else { self.with_enough_slices(self.slice(whole)?) };
        Ok(self.kept(found, result))
    }

    fn kept(&self, found: Sliced, result: ResultResidency) -> Plan {
        if found.plan.part_count() > 1 && result == ResultResidency::InParts {
            return self.with_whole_operands(found.plan);
        }
        let plan = Plan { result: ResultResidency::Whole, ..found.plan };
        let keeping = lasting(plan.clone(), true);
        self.with_whole_operands(if busiest(&keeping).0 <= self.limit { keeping } else { plan })
    }

    fn all_in_parts(&self, plan: &Plan) -> Vec<usize> {
        if self.reads { (0..plan.operands).collect() } else { Vec::new() }
    }

    fn with_whole_operands(&self, plan: Plan) -> Plan {
        let is_sliced = |label: &Label| plan.slices.iter().any(|slice| slice.label == *label);
        let mut in_parts = plan.operands_in_parts.clone();
        in_parts.retain(|&index| plan.operand(index).labels.iter().any(is_sliced));
        in_parts.sort_by_key(|&index| plan.whole_dims(plan.operand(index)).fold(1, usize::saturating_mul));
        let keeping = |count: usize| {
            let mut operands_in_parts = in_parts[count..].to_vec();
            operands_in_parts.sort_unstable();
            Plan { operands_in_parts, ..plan.clone() }
        };
        let counts: Vec<usize> = (1..=in_parts.len()).collect();
        keeping(counts.partition_point(|&count| busiest(&keeping(count)).0 <= self.limit))
    }

    /// Cuts until there are enough slices for all groups, with the fewest operations of the busiest group.
    fn with_enough_slices(&self, found: Sliced) -> Sliced {
        let groups = self.context.least_slices as f64;
        if found.slices.is_empty() || groups <= 1.0 {
            return found;
        }
        let model = Model::new(self.context.tree, found.plan.result, self.reads, false);
        let work = |state: &State| model.slice_cost(state, 0.0).products * (state.count() / groups).ceil();
        let cut = |state: State, slice: &Slice| model.with(&state, slice.label, slice.piece);
        let mut now = found.slices.iter().fold(model.whole(), cut);
        let given = work(&now);
        let mut best: Option<(f64, State)> = None;
        while now.count() < MAX_SLICES_PER_GROUP * groups {
            let Some(next) = model.finer(&now) else { break };
            now = next;
            let least = best.as_ref().map_or(given, |(least, _)| *least);
            if work(&now) < ENOUGH_LESS * least {
                best = Some((work(&now), now.clone()));
            }
        }
        let planned = best.map(|(_, state)| self.sliced(state.slices, found.plan.result));
        match planned {
            Some(Ok(finer)) if finer.peak <= self.limit => finer,
            _ => found,
        }
    }

    fn slice(&self, whole: Sliced) -> Result<Sliced, PlanError> {
        let contractions = self.context.tree.contractions();
        let searched = self.by_path(&whole).map(|found| self.enlarge_pieces(found));
        if let Some(found) = searched {
            return match (contractions <= MAX_TRIAL_CONTRACTIONS).then(|| self.one_by_one(whole, MAX_TRIALS)) {
                Some(Ok(one)) if cost(&one.plan) < cost(&found.plan) => Ok(one),
                _ => Ok(found),
            };
        }
        let mut least: Option<Sliced> = None;
        let modelled = [false, true].into_iter().find_map(|packs| self.by_model(&whole, packs, &mut least));
        let modelled = modelled.map(|found| self.enlarge_pieces(found));
        if contractions > MAX_TRIAL_CONTRACTIONS {
            let least = least.unwrap_or(whole);
            return modelled.ok_or_else(|| self.too_large(&least, "no slices that were found need less"));
        }
        let most = if modelled.is_some() { MAX_TRIALS } else { usize::MAX };
        match (self.one_by_one(whole, most), modelled) {
            (Ok(one), Some(other)) if cost(&one.plan) <= cost(&other.plan) => Ok(one),
            (_, Some(other)) => Ok(other),
            (one, None) => one,
        }
    }

    fn by_path(&self, whole: &Sliced) -> Option<Sliced> {
        let tree = self.context.tree;
        let cut = tree.sliced.iter().map(|&label| Slice { label, extent: tree.extent(label), piece: 1 });
        let slices: Vec<Slice> = cut.filter(|slice| slice.extent > 1).collect();
        if slices.is_empty() || slice_count(&slices) > MAX_SLICES {
            return None;
        }
        self.sliced(slices, whole.plan.result).ok().filter(|found| found.peak <= self.limit)
    }

    /// `least` gets the smallest peak of the plans that do not fit.
    fn by_model(&self, whole: &Sliced, packs: bool, least: &mut Option<Sliced>) -> Option<Sliced> {
        let model = Model::new(self.context.tree, whole.plan.result, self.reads, packs);
        let bytes = self.context.options.dtype.size() as f64;
        let live = |state: &State| bytes * model.slice_cost(state, 0.0).peak;
        let mut failed = live(&model.whole());
        if failed == 0.0 {
            // The model counts no tensor, so packing alone exceeds the limit.
            return None;
        }
        let mut target = self.target(whole, failed).min(failed);
        // 0 until a plan fits.
        let mut fit = 0.0;
        let mut best: Option<Sliced> = None;
        let mut forbidden: Vec<Label> = Vec::new();
        let mut raised = 0;
        for _ in 0..MAX_PLANS {
            let found = slices(&model, target / bytes, &forbidden, &priced).into_iter().next();
            match found {
                // Packing may have caused part of the excess.
                None => target = f64::midpoint(target, failed),
                Some(state) if state.slices.is_empty() => target = (1.0 - TARGET_TOLERANCE) * target.min(failed),
                Some(state) if best.as_ref().is_some_and(|best| best.slices == state.slices) => fit = target,
                Some(state) => match self.sliced(state.slices.clone(), whole.plan.result) {
                    // Planning fails if a forced algorithm or cut needs a dimension that is sliced.
                    Err(_) => forbidden.push(self.refused(&state.slices, whole.plan.result)?),
                    Ok(planned) if planned.peak > self.limit => {
                        let live = live(&state);
                        failed = failed.min(live);
                        target = self.target(&planned, live).min((1.0 - TARGET_TOLERANCE) * live);
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
            // A larger target may need fewer slices.
            if best.is_some() {
                raised += 1;
                target = f64::midpoint(fit, failed);
                if raised > MAX_RAISED_PLANS || failed - fit <= TARGET_TOLERANCE * failed {
                    break;
                }
            } else if failed - target <= TARGET_TOLERANCE * TARGET_TOLERANCE * failed {
                break;
            }
        }
        best
    }

    /// The model's next target in bytes, after it counted `live` bytes for `planned`.
    fn target(&self, planned: &Sliced, live: f64) -> f64 {
        let users = planned.plan.max_user_bytes().1;
        let (available, used) = (self.limit.saturating_sub(users) as f64, planned.peak.saturating_sub(users) as f64);
        let shared = live * available / used.max(1.0);
        let excess = planned.peak.saturating_sub(self.limit) as f64;
        // On several ranks, the peak is assumed to be proportional to the live tensors. On one, packing may not shrink.
        if self.context.machine.ranks > 1 { shared } else { (live - excess).max(shared / 2.0) }
    }

    /// The first that cannot be sliced alone, or else the last.
    fn refused(&self, slices: &[Slice], result: ResultResidency) -> Option<Label> {
        let infeasible = slices.iter().find(|slice| self.sliced(vec![**slice], result).is_err());
        infeasible.or(slices.last()).map(|slice| slice.label)
    }

    fn one_by_one(&self, whole: Sliced, most: usize) -> Result<Sliced, PlanError> {
        let (mut found, mut trials) = (whole, 0);
        while found.peak > self.limit {
            let labels = candidates(&found.plan);
            trials += labels.len();
            let next = if trials <= most { self.next(&found, labels) } else { None };
            found = next.ok_or_else(|| self.too_large(&found, ""))?;
        }
        // Later slices saved memory too, so earlier pieces may be too small.
        let enlarged = self.enlarge_pieces(found);
        if slice_count(&enlarged.slices) > MAX_SLICES {
            return Err(PlanError::TooManySlices { limit: self.limit, most: MAX_SLICES as u64 });
        }
        Ok(enlarged)
    }

    fn enlarge_pieces(&self, mut found: Sliced) -> Sliced {
        if found.slices.len() * self.context.tree.nodes.len() > MAX_COARSENED {
            return found;
        }
        for at in (0..found.slices.len()).rev() {
            let larger = larger_pieces(found.slices[at]);
            found = self.enlarge_piece(found, at, &larger);
        }
        found
    }

    fn next(&self, now: &Sliced, labels: Vec<Label>) -> Option<Sliced> {
        let mut best: Option<Sliced> = None;
        for label in labels {
            let mut slices = now.slices.clone();
            slices.push(Slice { label, extent: self.context.tree.extent(label), piece: 1 });
            let Ok(mut next) = self.sliced(slices, now.plan.result) else { continue };
            let least = best.as_ref().map_or(f64::INFINITY, |best| cost(&best.plan));
            if next.peak <= self.limit {
                // A lower bound, because slicing never reduces the operations.
                let at = now.slices.len();
                let cheapest =
                    |pieces: usize| priced(now.plan.total_gflop(), now.plan.slice_count() as f64 * pieces as f64);
                let mut larger = larger_pieces(next.slices[at]);
                larger.retain(|piece| cheapest(next.slices[at].extent / piece) < least);
                next = self.enlarge_piece(next, at, &larger);
            }
            if next.peak < now.peak && cost(&next.plan) < least {
                best = Some(next);
            }
        }
        best
    }

    /// Enlarges `found.slices[at]` to the largest of the ascending `pieces` that fits.
    fn enlarge_piece(&self, mut found: Sliced, at: usize, pieces: &[usize]) -> Sliced {
        // Bisection, because larger pieces need more memory. The smallest is first, because often none fits.
        let (mut fit, mut do_not, mut middle) = (0, pieces.len(), 0);
        while fit < do_not {
            let mut slices = found.slices.clone();
            slices[at].piece = pieces[middle];
            let planned = (self.least_peak(&slices) <= self.limit).then(|| self.sliced(slices, found.plan.result));
            match planned {
                Some(Ok(enlarged)) if enlarged.peak <= self.limit => (found, fit) = (enlarged, middle + 1),
                _ => do_not = middle,
            }
            middle = usize::midpoint(fit, do_not);
        }
        found
    }

    fn tree_of(&self, slices: &[Slice]) -> Tree {
        let mut tree = self.context.tree.clone();
        slices.iter().for_each(|slice| tree.extents[slice.label.0 as usize] = slice.piece);
        tree
    }

    /// A lower bound of the busiest rank's bytes: sliced plans have no pipelines, which keep less of a step.
    fn least_peak(&self, slices: &[Slice]) -> u64 {
        let bytes = largest_step(&self.tree_of(slices)).saturating_mul(self.context.options.dtype.size());
        (bytes / self.context.machine.ranks) as u64
    }

    fn sliced(&self, slices: Vec<Slice>, result: ResultResidency) -> Result<Sliced, PlanError> {
        let tree = self.tree_of(&slices);
        let output = &tree.nodes[tree.root()].labels;
        let mut cut: Vec<Slice> = slices.iter().filter(|slice| slice.piece < slice.extent).copied().collect();
        // Summed dimensions are innermost, to finish parts of the output one by one; those of large operands are
        // outermost, to read their parts less often.
        let largest = |label: Label| {
            let operands = self.context.tree.nodes.iter().filter(|node| matches!(node.step, Step::Leaf { .. }));
            let having = operands.filter(|node| self.reads && node.labels.contains(&label));
            having.map(|node| self.context.tree.elements(&node.labels)).fold(0.0, f64::max)
        };
        cut.sort_by(|one, other| largest(other.label).total_cmp(&largest(one.label)));
        cut.sort_by_key(|slice| !output.contains(&slice.label));
        let adds = cut.iter().any(|slice| !output.contains(&slice.label));
        let uncut: Vec<Label> = cut.iter().map(|slice| slice.label).collect();
        let plan = arranged(self.context, &tree, SearchArguments { uncut: &uncut, ..self.arguments })?;
        let accumulate = plan.accumulate || adds;
        let operands_in_parts = self.all_in_parts(&plan);
        Ok(Sliced::new(slices, lasting(Plan { slices: cut, result, operands_in_parts, accumulate, ..plan }, false)))
    }

    fn too_large(&self, found: &Sliced, why: &str) -> PlanError {
        let Sliced { peak, rank, plan, .. } = found;
        let steps = plan.values.iter().filter(|value| !matches!(value.source, Source::Operand(_)));
        let largest = steps.max_by_key(|value| value.shape.iter().product::<usize>());
        let step = largest.map_or(String::new(), |value| format!(" of `{}`", plan.step_text(value)));
        let names: Vec<String> = found.slices.iter().map(|slice| format!("`{}`", plan.name(slice.label))).collect();
        let (sliced, other) = match names.is_empty() {
            true => (String::new(), ""),
            false => (format!("sliced along {} as it is, ", names.join(", ")), " else"),
        };
        let why = if why.is_empty() { format!("nothing{other}{step} can be sliced") } else { why.to_owned() };
        let place = format!("{sliced}and {why}");
        PlanError::Memory { rank: *rank, needed: *peak, limit: self.limit, place }
    }
}

/// Dimensions of the largest tensors, first those of a result in parts, slowest first.
fn candidates<'a>(plan: &'a Plan) -> Vec<Label> {
    let last = plan.values.len() - 1;
    let is_between = |(id, value): &(usize, &Value)| *id < last && !matches!(value.source, Source::Operand(_));
    let largest = |mut values: Vec<&'a Value>| {
        values.sort_by_key(|value| std::cmp::Reverse(value.shape.iter().product::<usize>()));
        values.truncate(CANDIDATE_INTERMEDIATES);
        values
    };
    let between = largest(plan.values.iter().enumerate().filter(is_between).map(|(_, value)| value).collect());
    let in_parts = largest(plan.operands_in_parts.iter().map(|&index| plan.operand(index)).collect());
    // Without intermediates, packed operands exceed the limit.
    let others: Vec<&Value> = if between.is_empty() { plan.values.iter().collect() } else { between };
    let result = (plan.result == ResultResidency::InParts).then(|| plan.output());
    let labels = result.into_iter().chain(in_parts).chain(others).flat_map(|value| &value.labels).copied();
    distinct(&labels.filter(|label| plan.extents[label.0 as usize] > 1).collect::<Vec<_>>())
}

fn larger_pieces(slice: Slice) -> Vec<usize> {
    divisors(slice.extent).into_iter().filter(|&piece| piece > slice.piece).collect()
}
