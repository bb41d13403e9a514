//! Distributes independent subtrees of small contractions over the workers of one rank (`docs/trees.md`), at most one
//! branch per worker.
//!
//! Invariants: branches come before all other steps, which keep their order. Plans for several ranks have no branches,
//! and large contractions are never concurrent: their work is already divided.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::algorithm_search_space::SearchSpace;
use super::candidates::SearchArguments;
use super::context::PlanningContext;
use super::distribute;
use super::error::PlanError;
use super::packing::busiest;
use super::reuse::lasting;
use super::structure::Plan;
use crate::local_plan::MIN_PARALLEL_MULTIPLY_ADDS;
use crate::tree::{self, NodeId, Step, Tree};

/// Per step, in multiply-adds.
const STEP_OVERHEAD: f64 = 1e4;

/// Per step and branch, from contention for the lock of buffers.
const CONTENTION_OVERHEAD: f64 = 1e4;

/// For starting and joining all branches.
const SECTION_OVERHEAD: f64 = 2e5;

/// Of the sequential time.
const MAX_TIME_SHARE: f64 = 0.8;

/// Of the sequential peak memory.
const MAX_MEMORY_FACTOR: u64 = 2;

/// A plan with branches if faster and memory suffices, else `plan`, made from `tree`.
pub fn side_by_side(context: &PlanningContext, tree: &Tree, plan: Plan) -> Result<Plan, PlanError> {
    let PlanningContext { machine, options, .. } = *context;
    let split = if machine.ranks == 1 { split(tree, machine.workers) } else { None };
    let Some(SideBySide { tree, branches }) = split else { return Ok(plan) };
    let space = SearchSpace::new(&tree, machine, options, SearchArguments::new(options));
    let split = lasting(distribute::whole_tree(context, &space, &branches)?, false);
    let (least, most) = (busiest(&plan).0, busiest(&split).0);
    let fits = most <= MAX_MEMORY_FACTOR * least && options.memory_limit.is_none_or(|limit| most <= limit);
    Ok(if fits { Plan { path: plan.path, ..split } } else { plan })
}

#[derive(Debug)]
struct SideBySide {
    tree: Tree,
    branches: Vec<Range<NodeId>>,
}

/// `cost` is in multiply-adds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    root: NodeId,
    cost: f64,
}

impl Eq for Piece {}

impl Ord for Piece {
    fn cmp(&self, other: &Piece) -> Ordering {
        self.cost.total_cmp(&other.cost).then(other.root.cmp(&self.root))
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Piece) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn split(tree: &Tree, workers: usize) -> Option<SideBySide> {
    if workers < 2 {
        return None;
    }
    let contention = CONTENTION_OVERHEAD * workers as f64;
    let (costs, small) = costs(tree, STEP_OVERHEAD + contention);
    let pieces = cut(tree, workers, contention, &costs, small)?;
    // Pieces, largest first, go to the least loaded branch.
    let mut sorted = pieces;
    sorted.sort_by(|one, other| other.cmp(one));
    let mut loads = vec![0.0; workers];
    let mut branches: Vec<Option<usize>> = vec![None; tree.nodes.len()];
    for piece in sorted {
        let least = (0..workers).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b])).unwrap_or(0);
        loads[least] += piece.cost;
        branches[piece.root] = Some(least);
    }
    for node in (0..tree.nodes.len()).rev() {
        if let Some(branch) = branches[node] {
            inputs(tree, node).for_each(|input| branches[input] = Some(branch));
        }
    }
    let branches = &branches;
    let order = |branch: Option<usize>| (0..tree.nodes.len()).filter(move |&node| branches[node] == branch);
    let mut nodes: Vec<NodeId> = Vec::with_capacity(tree.nodes.len());
    let mut ranges = Vec::with_capacity(workers);
    for branch in 0..workers {
        let start = nodes.len();
        nodes.extend(order(Some(branch)));
        ranges.push(start..nodes.len());
    }
    nodes.extend(order(None));
    ranges.retain(|range| !range.is_empty());
    Some(SideBySide { tree: ordered(tree, &nodes), branches: ranges })
}

fn costs(tree: &Tree, step: f64) -> (Vec<f64>, Vec<Option<f64>>) {
    let mut costs = Vec::with_capacity(tree.nodes.len());
    let mut small: Vec<Option<f64>> = Vec::with_capacity(tree.nodes.len());
    let mut before: Vec<Option<f64>> = Vec::with_capacity(tree.nodes.len());
    for (id, node) in tree.nodes.iter().enumerate() {
        let own = match &node.step {
            Step::Leaf { .. } => 0.0,
            Step::Contract { .. } => tree.products(id),
            Step::Unary { input, .. } => tree.elements(&tree.nodes[*input].labels),
        };
        let work = own + inputs(tree, id).filter_map(|input| before[input]).sum::<f64>();
        let is_free = match &node.step {
            Step::Leaf { .. } => true,
            Step::Contract { .. } => false,
            Step::Unary { input, .. } => before[*input].is_some(),
        };
        before.push(is_free.then_some(work));
        let cost = if is_free { 0.0 } else { work + step };
        costs.push(cost);
        let below = inputs(tree, id).map(|input| small[input]).sum::<Option<f64>>();
        small.push(below.filter(|_| work < MIN_PARALLEL_MULTIPLY_ADDS).map(|below| below + cost));
    }
    (costs, small)
}

/// Cuts subtrees of small steps into pieces; `None` if that saves too little. Steps above run after all branches, one
/// at a time.
fn cut(tree: &Tree, workers: usize, contention: f64, costs: &[f64], small: Vec<Option<f64>>) -> Option<Vec<Piece>> {
    let root = tree.root();
    let mut is_inner = vec![false; tree.nodes.len()];
    (0..tree.nodes.len()).filter(|&id| small[id].is_some()).for_each(|id| {
        inputs(tree, id).for_each(|input| is_inner[input] = true);
    });
    let begin: BinaryHeap<Piece> = (0..=root).filter(|&id| !is_inner[id]).filter_map(piece_at(&small)).collect();
    let all: f64 = begin.iter().map(|piece| piece.cost).sum();
    let stays_whole =
        |piece: &Piece| piece.root != root && inputs(tree, piece.root).all(|input| small[input] == Some(0.0));
    let time = |heap: &BinaryHeap<Piece>, inside: f64, above: f64| {
        let longest = heap.peek().map_or(0.0, |piece| piece.cost);
        let root_inside = heap.peek().is_some_and(|piece| piece.root == root);
        if root_inside { f64::INFINITY } else { f64::max(longest, inside / workers as f64) + above + SECTION_OVERHEAD }
    };
    let steps = (0..=root).filter(|&id| small[id].is_some() && costs[id] > 0.0).count();
    let sequential = all - contention * steps as f64;
    let mut heap = begin.clone();
    let (mut inside, mut above) = (all, 0.0);
    let (mut best, mut until, mut popped) = (time(&heap, inside, above), 0, Vec::new());
    while let Some(piece) = heap.peek().copied().filter(|piece| !stays_whole(piece)) {
        heap.pop();
        popped.push(piece.root);
        inside -= costs[piece.root];
        above += costs[piece.root] - contention;
        heap.extend(inputs(tree, piece.root).filter_map(piece_at(&small)));
        let now = time(&heap, inside, above);
        if now < best {
            (best, until) = (now, popped.len());
        }
    }
    if best > MAX_TIME_SHARE * sequential {
        return None;
    }
    let cut = &popped[..until];
    let mut pieces: Vec<Piece> = begin.into_vec();
    pieces.extend(cut.iter().flat_map(|&root| inputs(tree, root)).filter_map(piece_at(&small)));
    let mut is_cut = vec![false; tree.nodes.len()];
    cut.iter().for_each(|&root| is_cut[root] = true);
    pieces.retain(|piece| !is_cut[piece.root]);
    Some(pieces)
}

fn piece_at(small: &[Option<f64>]) -> impl Fn(NodeId) -> Option<Piece> + '_ {
    |root| small[root].filter(|&cost| cost > 0.0).map(|cost| Piece { root, cost })
}

fn inputs(tree: &Tree, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
    tree::inputs(&tree.nodes[node].step).into_iter().flatten()
}

fn ordered(tree: &Tree, order: &[NodeId]) -> Tree {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
    let mut nodes = Vec::with_capacity(order.len());
    for &node in order {
        let mut node = tree.nodes[node].clone();
        match &mut node.step {
            Step::Leaf { .. } => {}
            Step::Unary { input, .. } => *input = places[*input],
            Step::Contract { left, right, .. } => (*left, *right) = (places[*left], places[*right]),
        }
        nodes.push(node);
    }
    Tree { nodes, ..tree.clone() }
}
