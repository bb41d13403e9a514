//! Finds the tree of an expression, possibly from an order that an earlier search found.
//!
//! Invariant: an earlier order replaces a search only if that search was at least as long. Otherwise the better of both
//! orders is used.

use serde::{Deserialize, Serialize};

use super::error::PlanError;
use super::options::PlanOptions;
use super::path::{
    self, Budget, PathChoice, PathMethod, SearchLimit, SearchRecord, Searched, Watch, log2_size, log2_sum,
};
use super::queries::SearchedTree;
use crate::dims::Label;
use crate::machine::Machine;
use crate::tree::{EinsumSource, Einsums, Order, Step, Tree};

/// The budget of `auto` depends on measured rates, which vary by about this fraction.
const RATE_VARIATION: f64 = 0.1;

/// An order that a search found, as a file stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundOrder {
    /// The steps as numbers of tensors, over all operands.
    pub ssa_path: Order,
    /// The labels to slice.
    pub sliced: Vec<Label>,
    limits: Vec<SearchLimit>,
    records: Vec<SearchRecord>,
    /// The seconds that the search was allowed, by the user or else by itself.
    seconds: f64,
    by_user: bool,
}

impl FoundOrder {
    /// The order of a tree that was searched with these options.
    pub fn of(found: &SearchedTree, options: &PlanOptions) -> FoundOrder {
        let SearchedTree { tree, limits, records, seconds, .. } = found.clone();
        let pairs = path::numbers(&path::path(&tree), tree.operands);
        let (ssa_path, sliced) = (pairs.iter().map(|pair| pair.to_vec()).collect(), tree.sliced);
        let by_user = options.path_seconds.is_some();
        FoundOrder { ssa_path, sliced, limits, records, seconds, by_user }
    }

    /// Returns the tree with this order.
    ///
    /// # Errors
    /// If the order is not one of this expression.
    pub fn tree(&self, einsums: &Einsums) -> Result<SearchedTree, PlanError> {
        let mut tree = in_order(einsums, &PathChoice::Numbered(self.ssa_path.clone()))?;
        if self.sliced.iter().any(|label| label.0 as usize >= tree.names.len()) {
            return Err(PlanError::Path("the slices are those of another expression".to_owned()));
        }
        tree.sliced.clone_from(&self.sliced);
        let (limits, records) = (self.limits.clone(), self.records.clone());
        Ok(SearchedTree { tree, limits, records, seconds: self.seconds, cached: true })
    }

    /// Whether the search was as long as the user asks for, or as another one would be that finds this order.
    fn suffices(&self, asked: Option<f64>, allowed: f64) -> bool {
        let spent: f64 = self.records.iter().map(|record| record.seconds).sum();
        match asked {
            Some(asked) => asked <= if self.by_user { self.seconds } else { spent },
            None => (1.0 - RATE_VARIATION) * allowed <= self.seconds,
        }
    }
}

/// The tree with a given order.
fn in_order(einsums: &Einsums, choice: &PathChoice) -> Result<Tree, PlanError> {
    let orders = path::given(einsums, choice).map_err(PlanError::Path)?;
    let mut orders = orders.into_iter();
    Tree::new(einsums, |_| Ok(orders.next().unwrap_or_default()))
}

/// See [`Plan::searched_tree`](super::Plan::searched_tree). `known` is an order that an earlier search found with options
/// that differ at most in their budget.
pub fn tree(
    einsums: &Einsums,
    machine: &Machine,
    options: &PlanOptions,
    known: Option<&FoundOrder>,
    watch: &Watch,
) -> Result<SearchedTree, PlanError> {
    if let PathChoice::Explicit(_) | PathChoice::Numbered(_) = options.path {
        let tree = in_order(einsums, &options.path)?;
        let records = vec![SearchRecord { method: PathMethod::Explicit, seconds: 0.0, found_at: 0.0 }];
        return Ok(SearchedTree { tree, limits: Vec::new(), records, seconds: 0.0, cached: false });
    }
    let rate = machine.flops * machine.workers as f64 / options.dtype.flops_per_multiply_add() as f64;
    let budget = Budget {
        asked: options.path_seconds,
        speed: options.path_speed,
        runs: options.runs.max(1) as f64,
        rate,
        threads: machine.workers,
        ranks: machine.ranks as f64,
        elements: elements_within_limit(einsums, machine, options),
        watch,
    };
    // An order that does not suit the expression is none.
    let known = known.and_then(|known| Some((known, known.tree(einsums).ok()?)));
    if let Some((known, found)) = &known {
        let orders = path::given(einsums, &PathChoice::Numbered(known.ssa_path.clone())).map_err(PlanError::Path)?;
        let (mut orders, mut allowed) = (orders.into_iter(), 0.0f64);
        Tree::new(einsums, |network| {
            let order = orders.next().unwrap_or_default();
            allowed = allowed.max(budget.allowed(network, &options.path, &order));
            Ok::<_, PlanError>(order)
        })?;
        if known.suffices(options.path_seconds, allowed) {
            return Ok(found.clone());
        }
    }
    let found = searched(einsums, &options.path, budget)?;
    Ok(match known {
        Some((_, known)) if rank(&known.tree, budget.elements) < rank(&found.tree, budget.elements) => {
            SearchedTree { seconds: found.seconds, ..known }
        }
        _ => found,
    })
}

fn searched(einsums: &Einsums, choice: &PathChoice, budget: Budget) -> Result<SearchedTree, PlanError> {
    let (mut limits, mut records, mut chosen, mut seconds) = (Vec::new(), Vec::new(), Vec::new(), 0.0f64);
    let mut tree = Tree::new(einsums, |network| {
        let Searched { order, sliced, limit, record } = path::order(network, choice, budget);
        limits.extend(limit);
        records.push(record);
        seconds = seconds.max(budget.allowed(network, choice, &order));
        // An einsum of fewer tensors has no order to search.
        chosen.extend((network.tensors.len() > 2).then_some(sliced));
        Ok::<_, PlanError>(order)
    })?;
    // The slices of one of several einsums say little, because the memory limit is common.
    if let [sliced] = &mut chosen[..] {
        tree.sliced = std::mem::take(sliced);
    }
    Ok(SearchedTree { tree, limits, records, seconds, cached: false })
}

/// Orders trees by the excess of their largest intermediate over the memory, then by an upper bound of the multiply-adds.
fn rank(tree: &Tree, elements: f64) -> (f64, f64) {
    let steps = || {
        tree.nodes
            .iter()
            .filter_map(|node| if let Step::Contract { kinds, .. } = &node.step { Some((node, kinds)) } else { None })
    };
    let largest = steps().map(|(node, _)| {
        let whole: Vec<Label> = node.labels.iter().filter(|label| !tree.sliced.contains(label)).copied().collect();
        log2_size(&whole, &tree.extents)
    });
    let products: Vec<f64> = steps()
        .map(|(_, kinds)| log2_size(&kinds.iter().map(|(label, _)| label).collect::<Vec<_>>(), &tree.extents))
        .collect();
    let excess = largest.fold(0.0f64, |most, size| most.max(size - elements));
    (excess, log2_sum(&products) + log2_size(&tree.sliced, &tree.extents))
}

/// log2 of the elements of intermediates that fit into the memory limit of all ranks beside the operands and the
/// result; infinite without a limit.
fn elements_within_limit(einsums: &Einsums, machine: &Machine, options: &PlanOptions) -> f64 {
    let Some(limit) = options.memory_limit else { return f64::INFINITY };
    let elements =
        |labels: &[Label]| labels.iter().map(|label| einsums.extents[label.0 as usize] as f64).product::<f64>();
    let operands = einsums.nodes.iter().filter(|node| matches!(node.source, EinsumSource::Operand(_)));
    let output = if options.in_parts { 0.0 } else { elements(einsums.output()) };
    let users: f64 = operands.map(|node| elements(&node.labels)).sum::<f64>() + output;
    let all = limit as f64 * machine.ranks as f64 / options.dtype.size() as f64;
    // If nothing is left, no slices help, and the plan says how much memory is missing.
    if all > users { (all - users).log2() } else { f64::INFINITY }
}
