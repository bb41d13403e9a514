//! A contraction and its three tensors as one rank sees them.

use std::ops::Range;

use crate::dims::Label;
use crate::distribution::{Bounds, Distribution, Intervals, Region, is_empty};
use crate::schedule::{Accumulate, Buffer, BufferId, Builder, Factor, Home, View, Work};

/// A tensor and the buffer of this rank's block, if any.
#[derive(Debug, Clone)]
pub struct Tensor {
    pub node: usize,
    pub labels: Vec<Label>,
    pub shape: Vec<usize>,
    pub distribution: Distribution,
    pub buffer: Option<BufferId>,
    /// A slice's dimension and first index. On every rank, the buffer has all indices of the larger tensor along it.
    pub window: Option<(usize, usize)>,
}

#[derive(Debug, Clone)]
pub struct Contraction {
    pub left: Tensor,
    pub right: Tensor,
    pub out: Tensor,
    /// Whether `beta` times the user's values of `out` are added.
    pub onto: bool,
}

impl Contraction {
    pub fn first(&self) -> Accumulate {
        if self.onto { Accumulate::Beta } else { Accumulate::Overwrite }
    }

    /// The products with these indices of each summed dimension (its label and extent).
    pub fn products(&self, indices: impl Fn(Label, usize) -> Intervals) -> Region {
        let summed = self.left.labels.iter().zip(&self.left.shape);
        let summed = summed.filter(|(label, _)| !self.out.labels.contains(label));
        Region::from(summed.map(|(&label, &extent)| indices(label, extent)).collect::<Vec<_>>())
    }

    /// Whether an operand has no elements.
    pub fn is_empty(&self) -> bool {
        self.left.elements() == 0 || self.right.elements() == 0
    }
}

pub type Restriction = (Label, Range<usize>);

impl Tensor {
    /// A rank's block, which must be a single box, in indices of the whole tensor.
    pub fn block(&self, rank: usize) -> Bounds {
        self.distribution.block_or_empty(&self.shape, rank).only_box()
    }

    pub fn tile(&self, rank: usize, label: Label) -> Range<usize> {
        self.block(rank)[self.dim(label)].clone()
    }

    pub fn dim(&self, label: Label) -> usize {
        self.labels.iter().position(|&l| l == label).unwrap_or_else(|| panic!("the tensor has the dimension"))
    }

    pub fn extent(&self, label: Label) -> usize {
        self.shape[self.dim(label)]
    }

    pub fn elements(&self) -> u64 {
        self.elements_of(|_| None)
    }

    /// The elements in a box with `length(label)` indices per dimension, or all for `None`.
    pub fn elements_of(&self, length: impl Fn(Label) -> Option<usize>) -> u64 {
        let extents = self.labels.iter().zip(&self.shape);
        extents.fold(1, |elements, (&label, &extent)| elements.saturating_mul(length(label).unwrap_or(extent) as u64))
    }

    pub fn held(&self, rank: usize) -> u64 {
        self.distribution.block_extents(&self.shape, rank).map_or(0, |extents| extents.iter().product::<usize>()) as u64
    }

    /// A box of the tensor in this rank's buffer; `None` if the block does not contain it.
    pub fn view(&self, rank: usize, bounds: &[Range<usize>]) -> Option<View> {
        self.view_in(&self.distribution.block(&self.shape, rank)?, bounds)
    }

    /// Like [`Tensor::view`], with this rank's block.
    pub fn view_in(&self, region: &Region, bounds: &[Range<usize>]) -> Option<View> {
        let bounds = if is_empty(bounds) { bounds.iter().map(|_| 0..0).collect() } else { region.locate(bounds)? };
        Some(View { buffer: self.buffer?, bounds: self.shifted(bounds) })
    }

    fn shifted(&self, mut bounds: Bounds) -> Bounds {
        if let Some((dim, start)) = self.window {
            bounds[dim] = bounds[dim].start + start..bounds[dim].end + start;
        }
        bounds
    }

    /// The indices in this rank's block that satisfy all restrictions; an empty view if a dimension has none.
    pub fn own(&self, rank: usize, restrictions: &[Restriction]) -> Option<View> {
        let region: Region = self.distribution.block(&self.shape, rank)?;
        let mut kept = region.dims().to_vec();
        for (label, range) in restrictions {
            for (dim, _) in self.labels.iter().enumerate().filter(|(_, l)| *l == label) {
                kept[dim] = kept[dim].intersect(&Intervals::from(range.clone()));
            }
        }
        Some(View { buffer: self.buffer?, bounds: self.shifted(region.positions(&Region::from(kept))?) })
    }

    /// A region of the tensor in this rank's buffer; `None` if it is not a single box there.
    pub fn stored(&self, rank: usize, piece: &Region) -> Option<View> {
        let region = self.distribution.block(&self.shape, rank)?;
        Some(View { buffer: self.buffer?, bounds: self.shifted(region.positions(piece)?) })
    }

    pub fn relative_to(self, first: usize) -> Tensor {
        Tensor { distribution: self.distribution.moved(first, 0), ..self }
    }

    pub fn declared(mut self, builder: &mut Builder) -> Tensor {
        let block = self.distribution.block(&self.shape, builder.rank());
        self.buffer = block.map(|region| {
            let (labels, extents) = (self.labels.clone(), region.extents());
            let within = extents.clone();
            builder.declare(Buffer { node: self.node, labels, extents, within, home: Home::Arena, place: None })
        });
        self
    }

    pub fn scratch(&self, builder: &mut Builder, extents: Vec<usize>) -> BufferId {
        let labels = self.labels.clone();
        let within = extents.clone();
        builder.declare(Buffer { node: self.node, labels, extents, within, home: Home::Exchange, place: None })
    }
}

pub fn corner(buffer: BufferId, bounds: &[Range<usize>]) -> View {
    View::corner(buffer, bounds.iter().map(Range::len))
}

/// Per transferred block.
pub const MAX_PIECES: usize = 8;

/// Larger pieces keep fixed costs small.
pub fn most_pieces(elements: f64) -> usize {
    const PIECE_ELEMENTS: f64 = 16384.0;
    (elements / PIECE_ELEMENTS).clamp(1.0, MAX_PIECES as f64) as usize
}

/// If an operand is empty, zeroes or scales `out` instead, or does nothing for `Add`.
pub fn contract(builder: &mut Builder, left: View, right: View, out: View, accumulate: Accumulate) {
    if out.elements() == 0 {
        return;
    }
    let nothing = left.elements() == 0 || right.elements() == 0;
    match accumulate {
        Accumulate::Overwrite if nothing => builder.work(Work::Fill { out }),
        Accumulate::Add if nothing => {}
        Accumulate::Beta if nothing => builder.work(Work::Scale { out, factor: Factor::Beta }),
        _ => builder.work(Work::Contract { left, right, out, accumulate }),
    }
}
