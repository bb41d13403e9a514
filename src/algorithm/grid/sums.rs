//! The memory in which a rank adds up its tile of `out`.
//!
//! ```text
//! a tile of 6 rows whose products are summed over 3 ranks; the block of rank 1 consists of rows 2 and 3
//!   separate   rows 0 to 5 are summed in one scratch buffer; rows 2 and 3 are then copied to the block
//!   in place   rows 2 and 3 are summed in the block; rows 0 and 1, and rows 4 and 5, in two scratch buffers
//! ```
//!
//! Invariant: the boxes cover the tile, and each rank's block inside it is in a single box.

use super::Grid;
use crate::algorithm::contraction::{Contraction, Tensor, contract};
use crate::distribution::{Bounds, Region, is_empty, without};
use crate::schedule::{Accumulate, Builder, View};

struct OutBox {
    /// In indices of the whole tensor `out`.
    bounds: Bounds,
    view: View,
    first: Accumulate,
}

pub struct Sums<'a> {
    contraction: &'a Contraction,
    boxes: Vec<OutBox>,
    in_place: bool,
}

impl<'a> Sums<'a> {
    /// `shared` if other ranks compute products for this tile too.
    pub fn new(builder: &mut Builder, grid: &Grid, contraction: &'a Contraction, shared: bool) -> Sums<'a> {
        let (out, me) = (&contraction.out, builder.rank());
        let in_place = !shared || grid.in_place;
        let mut boxes = Vec::new();
        let own = out.own(me, &[]).filter(|_| in_place).map(|view| (out.block(me), view));
        let tile = grid.summands(&out.labels).block_or_empty(&out.shape, me).only_box();
        let others = match &own {
            Some((own, _)) if !is_empty(own) => without(&tile, own),
            _ if shared => vec![tile],
            _ => Vec::new(),
        };
        if let Some((bounds, view)) = own {
            boxes.push(OutBox { bounds, view, first: contraction.first() });
        }
        for bounds in others {
            let extents: Vec<usize> = bounds.iter().map(ExactSizeIterator::len).collect();
            let view = View::corner(out.scratch(builder, extents.clone()), extents);
            boxes.push(OutBox { bounds, view, first: Accumulate::Overwrite });
        }
        Sums { contraction, boxes, in_place }
    }

    pub fn add(&self, builder: &mut Builder, operands: [(&Region, &View); 2], round: usize) {
        let Contraction { left, right, out, .. } = self.contraction;
        for OutBox { bounds, view, first } in self.boxes.iter().filter(|out_box| !is_empty(&out_box.bounds)) {
            let [l, r] = [(left, operands[0]), (right, operands[1])]
                .map(|(tensor, (piece, view))| restricted(tensor, piece, view, out, bounds));
            contract(builder, l, r, view.clone(), if round == 0 { *first } else { Accumulate::Add });
        }
    }

    /// This rank's partial sums for `part`, a rank's final block.
    pub fn stored(&self, part: &Region) -> Option<View> {
        self.boxes.iter().find_map(|OutBox { bounds: stored, view, .. }| {
            let of = part.only_box();
            let inside = of.iter().zip(stored).all(|(of, stored)| stored.start <= of.start && of.end <= stored.end);
            inside.then(|| {
                let starts = stored.iter().zip(&view.bounds).map(|(stored, view)| (stored.start, view.start));
                let shifted = of.iter().zip(starts).map(|(of, (from, to))| of.start - from + to..of.end - from + to);
                View { buffer: view.buffer, bounds: shifted.collect() }
            })
        })
    }

    pub fn in_place(&self) -> bool {
        self.in_place
    }
}

fn restricted(tensor: &Tensor, piece: &Region, view: &View, out: &Tensor, needed: &Bounds) -> View {
    let piece = piece.only_box();
    let bounds = tensor.labels.iter().zip(piece).zip(&view.bounds).map(|((label, piece), here)| {
        match out.labels.iter().position(|other| other == label) {
            Some(dim) => needed[dim].start - piece.start + here.start..needed[dim].end - piece.start + here.start,
            None => here.clone(),
        }
    });
    View { buffer: view.buffer, bounds: bounds.collect() }
}
