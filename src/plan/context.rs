//! The request that every pass reads, and shared prices.
//!
//! Invariant: there is one context per plan, from a checked request.

use std::cell::RefCell;

use super::error::PlanError;
use super::layout::{self, Prices};
use super::options::PlanOptions;
use super::slice::{MAX_SLICES, slice_count};
use super::structure::Slice;
use crate::dims::Label;
use crate::machine::{MAX_RANKS, Machine};
use crate::tree::Tree;

pub struct PlanningContext<'a> {
    pub expression: &'a str,
    pub tree: &'a Tree,
    pub machine: &'a Machine,
    pub options: &'a PlanOptions,
    /// The prescribed slices, without whole dimensions.
    pub slices: Vec<Slice>,
    /// A sliced plan has at least this many if possible, so that every group has some.
    pub least_slices: usize,
    prices: RefCell<Prices>,
}

impl<'a> PlanningContext<'a> {
    /// Checks the machine, the options' operands and dimensions, and that every tensor fits into an address space.
    pub fn new(
        expression: &'a str,
        tree: &'a Tree,
        machine: &'a Machine,
        options: &'a PlanOptions,
    ) -> Result<PlanningContext<'a>, PlanError> {
        if let Some(&operand) = options.constant.iter().find(|&&operand| operand >= tree.operands) {
            return Err(PlanError::Constant { operand, operands: tree.operands });
        }
        if let Some(&operand) = options.conjugate.iter().find(|&&operand| operand >= tree.operands) {
            return Err(PlanError::Conjugate { operand, operands: tree.operands });
        }
        if machine.ranks == 0 || machine.workers == 0 {
            return Err(PlanError::NoRanks);
        }
        if machine.ranks > MAX_RANKS {
            return Err(PlanError::TooManyRanks { ranks: machine.ranks, most: MAX_RANKS });
        }
        machine.check().map_err(PlanError::Machine)?;
        if let Some(unknown) = options.cut.iter().find(|cut| !tree.names.contains(cut)) {
            return Err(PlanError::UnknownCut(unknown.clone()));
        }
        for node in &tree.nodes {
            // The largest type has 16 bytes. An extent of 0 counts as 1, so that it cannot hide an overflow.
            let mut sizes = node.labels.iter().map(|&label| tree.extent(label).max(1));
            if sizes
                .try_fold(16usize, |bytes, extent| bytes.checked_mul(extent))
                .is_none_or(|b| b > isize::MAX as usize)
            {
                return Err(PlanError::TooLarge(tree.term(&node.labels)));
            }
        }
        let slices = prescribed_slices(tree, &options.sliced).map_err(PlanError::Path)?;
        let prices = RefCell::default();
        Ok(PlanningContext { expression, tree, machine, options, slices, least_slices: 1, prices })
    }

    /// The tree with the cheapest layouts of intermediates, unless the options forbid others or specify no target.
    pub fn arranged(&self, tree: &Tree) -> Tree {
        let PlanOptions { dtype, layout, target, runs, .. } = *self.options;
        match target.filter(|_| layout) {
            Some(target) => {
                let pieces = self.tree.extents.iter().zip(&tree.extents);
                let slices: f64 = pieces.map(|(&all, &piece)| all.max(1) as f64 / piece.max(1) as f64).product();
                let runs = runs as f64 * slices / self.machine.ranks as f64;
                layout::arrange(tree, dtype, &target, &mut self.prices.borrow_mut(), runs)
            }
            None => tree.clone(),
        }
    }
}

fn prescribed_slices(tree: &Tree, sliced: &[(String, usize)]) -> Result<Vec<Slice>, String> {
    let mut slices: Vec<Slice> = Vec::with_capacity(sliced.len());
    for (name, piece) in sliced {
        let Some(at) = tree.names.iter().position(|known| known == name) else {
            return Err(format!("there is no dimension `{name}` to slice (known: {})", tree.names.join(", ")));
        };
        let (label, extent) = (Label(at as u32), tree.extents[at]);
        if slices.iter().any(|slice| slice.label == label) {
            return Err(format!("dimension `{name}` is sliced twice"));
        }
        if *piece == 0 || !extent.is_multiple_of(*piece) {
            return Err(format!("dimension `{name}` has extent {extent}, which is no multiple of {piece} per slice"));
        }
        slices.push(Slice { label, extent, piece: *piece });
    }
    slices.retain(|slice| slice.piece < slice.extent);
    match slice_count(&slices) {
        count if count > MAX_SLICES => Err(format!("{count:e} slices would never end; slice fewer dimensions")),
        _ => Ok(slices),
    }
}
