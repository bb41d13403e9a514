//! A contraction and its three tensors as one rank sees them.

use std::ops::Range;

use crate::dims::Label;
use crate::distribution::{Bounds, Distribution, Intervals, Region, is_empty};
use crate::schedule::{Accumulate, Buffer, BufferId, Builder, Factor, Home, View, Work};

/// A tensor, its distribution, and the buffer of this rank's block, if the rank has one.
#[derive(Debug, Clone)]
pub struct Tensor {
    pub node: usize,
    pub labels: Vec<Label>,
    pub shape: Vec<usize>,
    pub distribution: Distribution,
    pub buffer: Option<BufferId>,
    /// If the tensor is a slice, its dimension and first index. On every rank, the buffer has all indices of the larger
    /// tensor along this dimension.
    pub window: Option<(usize, usize)>,
}

#[derive(Debug, Clone)]
pub struct Contraction {
    pub left: Tensor,
    pub right: Tensor,
    pub out: Tensor,
    /// Whether products are added to `beta` times the user's values of `out`.
    pub onto: bool,
}

impl Contraction {
    /// How the first products are added to `out`.
    pub fn first(&self) -> Accumulate {
        if self.onto { Accumulate::Beta } else { Accumulate::Overwrite }
    }
}

/// A range of indices of one dimension of the whole tensor.
pub type Restriction = (Label, Range<usize>);

impl Tensor {
    /// A rank's block, which must be a single box, in indices of the whole tensor.
    pub fn block(&self, rank: usize) -> Bounds {
        self.distribution.block_or_empty(&self.shape, rank).only_box()
    }

    /// The indices of `label` in a rank's block.
    pub fn tile(&self, rank: usize, label: Label) -> Range<usize> {
        self.block(rank)[self.dim(label)].clone()
    }

    /// The position of a label that the tensor must have.
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
        extents.map(|(&label, &extent)| length(label).unwrap_or(extent) as u64).product()
    }

    /// The elements in a rank's block.
    pub fn held(&self, rank: usize) -> u64 {
        self.distribution.block(&self.shape, rank).map_or(0, |block| block.volume()) as u64
    }

    /// The part of this rank's buffer with a box of the tensor; `None` if the block does not contain it.
    pub fn view(&self, rank: usize, bounds: &[Range<usize>]) -> Option<View> {
        let region = self.distribution.block(&self.shape, rank)?;
        let bounds = if is_empty(bounds) { bounds.iter().map(|_| 0..0).collect() } else { region.locate(bounds)? };
        Some(View { buffer: self.buffer?, bounds: self.shifted(bounds) })
    }

    fn shifted(&self, mut bounds: Bounds) -> Bounds {
        if let Some((dim, start)) = self.window {
            bounds[dim] = bounds[dim].start + start..bounds[dim].end + start;
        }
        bounds
    }

    /// A view of the indices in this rank's block that satisfy all restrictions. A dimension without any makes the view
    /// empty.
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

    /// The part of this rank's buffer with a region of the tensor; `None` if that is not a single box.
    pub fn stored(&self, rank: usize, piece: &Region) -> Option<View> {
        let region = self.distribution.block(&self.shape, rank)?;
        Some(View { buffer: self.buffer?, bounds: self.shifted(region.positions(piece)?) })
    }

    /// The same tensor with rank `first` as rank 0.
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

    /// A buffer for boxes with at most these extents.
    pub fn scratch(&self, builder: &mut Builder, extents: Vec<usize>) -> BufferId {
        let labels = self.labels.clone();
        let within = extents.clone();
        builder.declare(Buffer { node: self.node, labels, extents, within, home: Home::Exchange, place: None })
    }
}

/// The box at index 0 with the extents of `bounds`.
pub fn corner(buffer: BufferId, bounds: &[Range<usize>]) -> View {
    View::corner(buffer, bounds.iter().map(Range::len))
}

/// The maximum number of pieces of one transferred block.
pub const MAX_PIECES: usize = 8;

/// Pieces have at least 16,384 elements, so that fixed costs are small.
pub fn most_pieces(elements: f64) -> usize {
    const PIECE_ELEMENTS: f64 = 16384.0;
    (elements / PIECE_ELEMENTS).clamp(1.0, MAX_PIECES as f64) as usize
}

/// Appends one contraction. If an operand is empty, zeroes or scales `out` instead, or does nothing for `Add`.
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
