//! Models how slicing changes a tree's memory and operations.
//!
//! Whole operands and results, which slicing does not shrink, are not counted. Ranks, alignment and algorithms are
//! ignored.

use super::slice::{divisors, slice_count};
use super::structure::{ResultResidency, Slice};
use crate::dims::{Label, distinct};
use crate::tree::{NodeId, Step, Tree, consumers, inputs};

/// Maximum packed elements of the left and right operand.
const MAX_PACKED_ELEMENTS: [f64; 2] = [131_072.0, 1_048_576.0];

pub struct Model<'a> {
    pub tree: &'a Tree,
    inputs: Vec<[Option<NodeId>; 2]>,
    consumers: Vec<Option<NodeId>>,
    /// The tensors with each label, ascending; `contractions` likewise.
    tensors: Vec<Vec<NodeId>>,
    contractions: Vec<Vec<NodeId>>,
    is_counted: Vec<bool>,
    /// Operands and results in parts, live throughout.
    is_resident: Vec<bool>,
    packs: bool,
}

#[derive(Clone)]
pub struct State {
    pub slices: Vec<Slice>,
    sizes: Vec<f64>,
    /// Multiply-adds in one slice.
    products: Vec<f64>,
}

impl State {
    pub fn count(&self) -> f64 {
        slice_count(&self.slices)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SliceCost {
    /// Maximum live elements.
    pub peak: f64,
    /// Sum of (live / target)^4 over steps above the target. Unlike the peak, it decreases if one of several equal
    /// steps shrinks.
    pub excess: f64,
    /// Multiply-adds in one slice.
    pub products: f64,
}

impl<'a> Model<'a> {
    pub fn new(tree: &'a Tree, result: ResultResidency, reads: bool, packs: bool) -> Model<'a> {
        let count = tree.nodes.len();
        let mut model = Model {
            tree,
            inputs: tree.nodes.iter().map(|node| inputs(&node.step)).collect(),
            consumers: consumers(tree),
            tensors: vec![Vec::new(); tree.extents.len()],
            contractions: vec![Vec::new(); tree.extents.len()],
            is_counted: vec![true; count],
            is_resident: vec![false; count],
            packs,
        };
        for (id, node) in tree.nodes.iter().enumerate() {
            distinct(&node.labels).iter().for_each(|label| model.tensors[label.0 as usize].push(id));
            if let Step::Contract { kinds, .. } = &node.step {
                kinds.iter().for_each(|(label, _)| model.contractions[label.0 as usize].push(id));
            }
            let is_leaf = matches!(node.step, Step::Leaf { .. });
            model.is_counted[id] = !is_leaf && id != tree.root();
            model.is_resident[id] = (reads && is_leaf) || (result == ResultResidency::InParts && id == tree.root());
        }
        model
    }

    pub fn whole(&self) -> State {
        State {
            slices: Vec::new(),
            sizes: self.tree.nodes.iter().map(|node| self.tree.elements(&node.labels)).collect(),
            products: (0..self.tree.nodes.len()).map(|node| self.tree.products(node)).collect(),
        }
    }

    /// The state with extent `piece` of `label`; the full extent undoes the slicing.
    pub fn with(&self, state: &State, label: Label, piece: usize) -> State {
        let mut next = state.clone();
        let extent = self.tree.extent(label);
        let at = next.slices.iter().position(|slice| slice.label == label);
        let before = at.map_or(extent, |at| next.slices[at].piece);
        let ratio = piece as f64 / before as f64;
        self.tensors[label.0 as usize].iter().for_each(|&id| {
            // A diagonal can have the label twice.
            let times = self.tree.nodes[id].labels.iter().filter(|other| **other == label).count();
            next.sizes[id] *= ratio.powi(times as i32);
        });
        self.contractions[label.0 as usize].iter().for_each(|&id| next.products[id] *= ratio);
        match at {
            Some(at) if piece == extent => drop(next.slices.remove(at)),
            Some(at) => next.slices[at].piece = piece,
            None if piece < extent => next.slices.push(Slice { label, extent, piece }),
            None => {}
        }
        next
    }

    /// The state with one more cut and the fewest operations; `None` if all extents are 1.
    pub fn finer(&self, state: &State) -> Option<State> {
        let all: f64 = state.products.iter().sum();
        let cuts = (0..self.tree.extents.len() as u32).map(Label).filter_map(|label| {
            let sliced = state.slices.iter().find(|slice| slice.label == label);
            let piece = sliced.map_or(self.tree.extent(label), |slice| slice.piece);
            let smaller = divisors(piece).into_iter().rev().nth(1)?;
            let pieces = (piece / smaller) as f64;
            let smaller_products: f64 = self.contractions[label.0 as usize].iter().map(|&id| state.products[id]).sum();
            let added = (pieces - 1.0) * (all - smaller_products);
            (smaller_products > 0.0).then_some((added, label, smaller))
        });
        let (_, label, piece) = cuts.min_by(|(one, ..), (other, ..)| one.total_cmp(other))?;
        Some(self.with(state, label, piece))
    }

    pub fn slice_cost(&self, state: &State, target: f64) -> SliceCost {
        let mut slice_cost = SliceCost { peak: 0.0, excess: 0.0, products: state.products.iter().sum() };
        self.live(state, |_, live| {
            slice_cost.peak = slice_cost.peak.max(live);
            if live > target {
                slice_cost.excess += (live / target.max(1.0)).powi(4);
            }
        });
        slice_cost
    }

    fn live(&self, state: &State, mut visit: impl FnMut(NodeId, f64)) {
        let resident = state.sizes.iter().zip(&self.is_resident).filter(|(_, resident)| **resident);
        let mut live = resident.map(|(size, _)| size).sum::<f64>();
        for (id, inputs) in self.inputs.iter().enumerate() {
            let counted = |id: NodeId| if self.is_counted[id] { state.sizes[id] } else { 0.0 };
            live += counted(id);
            let packed = match inputs {
                [Some(left), Some(right)] if self.packs => {
                    state.sizes[*left].min(MAX_PACKED_ELEMENTS[0]) + state.sizes[*right].min(MAX_PACKED_ELEMENTS[1])
                }
                _ => 0.0,
            };
            visit(id, live + packed);
            inputs.iter().flatten().for_each(|&input| live -= counted(input));
        }
    }

    /// Labels live in steps above `target`, without sliced and `forbidden` ones.
    pub fn candidates(&self, state: &State, target: f64, forbidden: &[Label]) -> Vec<Label> {
        let mut before = Vec::with_capacity(self.inputs.len() + 1);
        before.push(0);
        self.live(state, |id, live| before.push(before[id] + u32::from(live > target)));
        let mut is_candidate = vec![false; self.tree.extents.len()];
        for (id, node) in self.tree.nodes.iter().enumerate() {
            let (root, is_resident) = (self.tree.root(), self.is_resident[id]);
            let until = if is_resident { root } else { self.consumers[id].unwrap_or(id) };
            // Whole operands need memory only where they are packed.
            let from = if self.is_counted[id] { id } else { until };
            let from = if id == root || is_resident { 0 } else { from };
            let is_relevant = self.packs || self.is_counted[id] || is_resident;
            if is_relevant && before[until + 1] > before[from] {
                node.labels.iter().for_each(|label| is_candidate[label.0 as usize] = true);
            }
        }
        let is_whole = |label: &Label| state.slices.iter().all(|slice| slice.label != *label);
        let labels = (0..is_candidate.len() as u32).map(Label);
        let labels = labels.filter(|label| is_candidate[label.0 as usize] && self.tree.extent(*label) > 1);
        labels.filter(|label| is_whole(label) && !forbidden.contains(label)).collect()
    }
}

/// In one contraction's tensors.
pub fn largest_step(tree: &Tree) -> usize {
    let elements = |node: NodeId| tree.nodes[node].labels.iter().map(|&label| tree.extent(label));
    let elements = |node| elements(node).fold(1, usize::saturating_mul);
    let needs = |node: NodeId| match tree.nodes[node].step {
        Step::Contract { left, right, .. } => {
            [left, right, node].map(elements).into_iter().fold(0, usize::saturating_add)
        }
        _ => 0,
    };
    (0..tree.nodes.len()).map(needs).max().unwrap_or(0)
}
