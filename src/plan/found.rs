//! The tree of an expression, from a search or an order found before.

use serde::{Deserialize, Serialize};

use super::error::PlanError;
use super::options::PlanOptions;
use super::path::{self, Budget, PathChoice, PathMethod, SearchLimit, SearchRecord, Searched, Watch};
use super::slice_group_search;
use crate::dims::Label;
use crate::machine::Machine;
use crate::tree::{EinsumSource, Einsums, Order, Tree};

/// Operations and bytes per second of a worker with a memory limit, unless it is slower by more than `MAX_SLOWER`.
const LIMITED_RATES: [f64; 2] = [2.5e11, 3e10];
const MAX_SLOWER: f64 = 16.0;

/// Large networks run 100 to 2,000 times as fast on thousands of ranks (predicted).
const MAX_SPEED_UP: f64 = 1024.0;

/// A tree, and what the path searches did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchedTree {
    /// The tree.
    pub tree: Tree,
    /// The limits that ended searches early, at most one per einsum.
    pub limits: Vec<SearchLimit>,
    /// One per einsum.
    pub records: Vec<SearchRecord>,
    /// Whether the order was known before.
    pub cached: bool,
}

impl SearchedTree {
    /// Whether a search ended early because its best order exceeds the free memory.
    pub fn exceeds_memory(&self) -> bool {
        self.limits.contains(&SearchLimit::Memory)
    }

    /// The order, as numbers of tensors.
    pub fn numbers(&self) -> Order {
        path::numbers(&path::path(&self.tree), self.tree.operands).iter().map(|pair| pair.to_vec()).collect()
    }
}

/// An order, as a file stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundOrder {
    /// Numbers of tensors, over all operands.
    pub ssa_path: Order,
    /// The labels to slice.
    pub sliced: Vec<Label>,
    limits: Vec<SearchLimit>,
    records: Vec<SearchRecord>,
    seconds: Option<f64>,
}

impl FoundOrder {
    pub fn of(found: &SearchedTree, seconds: Option<f64>) -> FoundOrder {
        let SearchedTree { tree, limits, records, .. } = found.clone();
        FoundOrder { ssa_path: found.numbers(), sliced: tree.sliced, limits, records, seconds }
    }

    /// The tree with this order.
    ///
    /// # Errors
    /// If the order is not one of this expression.
    pub fn tree(&self, einsums: &Einsums) -> Result<SearchedTree, PlanError> {
        let mut tree = in_order(einsums, &PathChoice::Numbered(self.ssa_path.clone()))?;
        if self.sliced.iter().any(|label| label.0 as usize >= tree.names.len()) {
            return Err(PlanError::Path("there is no such dimension to slice".to_owned()));
        }
        tree.sliced.clone_from(&self.sliced);
        Ok(SearchedTree { tree, limits: self.limits.clone(), records: self.records.clone(), cached: true })
    }
}

fn in_order(einsums: &Einsums, choice: &PathChoice) -> Result<Tree, PlanError> {
    let mut orders = path::given(einsums, choice).map_err(PlanError::Path)?.into_iter();
    Tree::new(einsums, |_| Ok(orders.next().unwrap_or_default()))
}

/// See [`Plan::searched_tree`](super::Plan::searched_tree). `known`, which may differ in its budget, is used if it was
/// searched as long, or is better.
pub fn tree(
    einsums: &Einsums,
    machine: &Machine,
    options: &PlanOptions,
    known: Option<&FoundOrder>,
    watch: &Watch,
) -> Result<SearchedTree, PlanError> {
    if let PathChoice::Explicit(_) | PathChoice::Numbered(_) = options.path {
        let records = vec![SearchRecord { method: PathMethod::Explicit, seconds: 0.0, found_at: 0.0 }];
        let tree = in_order(einsums, &options.path)?;
        return Ok(SearchedTree { tree, limits: Vec::new(), records, cached: false });
    }
    let known = known.and_then(|known| Some((known.seconds, known.tree(einsums).ok()?)));
    // A search may have ended early on a machine with less memory.
    let ends = |known: &SearchedTree| {
        let inner = known.tree.nodes.iter().rev().skip(1);
        let largest = inner.map(|node| path::log2_size(&node.labels, &known.tree.extents)).fold(0.0, f64::max);
        path::exceeds(largest, free_elements(machine, options))
    };
    match known {
        Some((seconds, known)) if seconds >= options.path_seconds && (!known.exceeds_memory() || ends(&known)) => {
            return Ok(known);
        }
        _ => {}
    }
    let found = searched(einsums, machine, options, watch)?;
    // With a memory limit, an order with fewer operations may need more slices.
    let is_better =
        |known: &SearchedTree| options.memory_limit.is_none() && known.tree.all_products() < found.tree.all_products();
    Ok(known.map(|(_, known)| known).filter(is_better).unwrap_or(found))
}

fn searched(
    einsums: &Einsums,
    machine: &Machine,
    options: &PlanOptions,
    watch: &Watch,
) -> Result<SearchedTree, PlanError> {
    // Measured rates depend on the number of ranks, and slices must not.
    let fixed = |measured: f64, fixed: f64| {
        if options.memory_limit.is_some() { fixed.min(MAX_SLOWER * measured) } else { measured }
    };
    let flops = fixed(machine.flops, LIMITED_RATES[0]);
    let bandwidth = fixed(machine.memory_bandwidth, LIMITED_RATES[1]);
    let rate = flops * machine.workers as f64 / options.dtype.flops_per_multiply_add() as f64;
    let budget = Budget {
        asked: options.path_seconds,
        speed: options.path_speed,
        runs: options.runs.max(1) as f64,
        // With a memory limit, neither may the order depend on the number of ranks.
        speed_up: if options.memory_limit.is_some() { 1.0 } else { (machine.ranks as f64).min(MAX_SPEED_UP) },
        // Similar measurements give the same order.
        rate: rate.log2().round().exp2(),
        element: options.dtype.size() as f64 / bandwidth,
        threads: machine.workers,
        elements: elements_within_limit(einsums, machine, options),
        free: free_elements(machine, options),
        watch,
    };
    let (mut limits, mut records, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    let starts = options.path_start.iter().filter(|_| options.memory_limit.is_some());
    let starts = starts.map(|path| path::given(einsums, &PathChoice::Numbered(path.clone())).map_err(PlanError::Path));
    let mut starts = starts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
    let mut tree = Tree::new(einsums, |network| {
        let start = starts.next();
        let Searched { order, sliced, limit, record } = path::order(network, &options.path, budget, start.as_ref());
        limits.extend(limit);
        records.push(record);
        chosen.extend((network.tensors.len() > 2).then_some(sliced));
        Ok::<_, PlanError>(order)
    })?;
    // The slices of one of several einsums say little.
    if let [sliced] = &mut chosen[..] {
        tree.sliced = std::mem::take(sliced);
    }
    Ok(SearchedTree { tree, limits, records, cached: false })
}

/// log2 of the elements that fit into the free memory of all ranks; infinite if unknown.
fn free_elements(machine: &Machine, options: &PlanOptions) -> f64 {
    let elements = |bytes| bytes as f64 * machine.ranks as f64 / options.dtype.size() as f64;
    options.free_memory.map_or(f64::INFINITY, |bytes| elements(bytes).log2())
}

/// log2 of the elements of intermediates that fit into the limit beside operands and result, on one rank if groups of
/// ranks may take slices, else on all; infinite without a limit.
fn elements_within_limit(einsums: &Einsums, machine: &Machine, options: &PlanOptions) -> f64 {
    let Some(limit) = options.memory_limit else { return f64::INFINITY };
    let elements =
        |labels: &[Label]| labels.iter().map(|label| einsums.extents[label.0 as usize] as f64).product::<f64>();
    let operands = einsums.nodes.iter().filter(|node| matches!(node.source, EinsumSource::Operand(_)));
    let output = if options.in_parts { 0.0 } else { elements(einsums.output()) };
    let operands = operands.map(|node| elements(&node.labels)).sum::<f64>();
    let users = operands + output;
    let all = limit as f64 * machine.ranks as f64 / options.dtype.size() as f64;
    // Groups of one rank are the most efficient if room is left for slices.
    let one = limit as f64 / options.dtype.size() as f64 - operands - 2.0 * output;
    if machine.ranks > 1 && slice_group_search::may_group(options) && one > 0.0 {
        return one.log2();
    }
    // If nothing is left, the plan says how much is missing.
    if all > users { (all - users).log2() } else { f64::INFINITY }
}
