//! A box's footprint in one tensor: cache lines and pages with elements of the box, among others.
//!
//! Invariant: dimensions of extent 1 are left out; the order of visits and later cache hits are not modelled.

use super::{AxisDim, Slab};

pub(super) const PAGE: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Side {
    tile: usize,
    extent: usize,
    stride: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Footprint<'a> {
    axes: [(&'a [AxisDim], usize); 2],
    slab: Option<Side>,
}

impl<'a> Footprint<'a> {
    /// `tensor` is the index of the tensor in each axis.
    pub fn new([first, second]: [&'a [AxisDim]; 2], tensor: [usize; 2]) -> Footprint<'a> {
        Footprint { axes: [(first, tensor[0]), (second, tensor[1])], slab: None }
    }

    fn sides(&self) -> impl Iterator<Item = Side> {
        let side = |dim: &AxisDim, t: usize| Side {
            tile: dim.tile,
            extent: dim.extent,
            stride: dim.strides[t].unsigned_abs(),
        };
        let sides = self.axes.iter().flat_map(move |&(dims, t)| dims.iter().map(move |dim| side(dim, t)));
        sides.filter(|side| side.extent > 1).chain(self.slab)
    }

    /// Adds the slab of operand 0 or 1, or of `out` (2).
    pub fn and(self, slab: &Slab, tensor: usize) -> Footprint<'a> {
        let stride = slab.dim.strides[tensor].unsigned_abs();
        let slab = (slab.size > 1).then_some(Side { tile: slab.size, extent: slab.dim.extent, stride });
        Footprint { slab, ..self }
    }

    pub fn contiguous(&self) -> usize {
        let (mut contiguous, mut whole) = (1, true);
        while whole && let Some(side) = self.sides().find(|side| side.stride == contiguous) {
            contiguous *= side.tile;
            whole = side.tile == side.extent;
        }
        contiguous
    }

    /// The bytes moved for all boxes, relative to those of their elements: stretches may share cache lines (of `line`
    /// elements) with other boxes, and gaps are moved too.
    pub fn moved(&self, line: usize) -> f64 {
        let contiguous = self.contiguous();
        let mut outer_strides = self.sides().map(|side| side.stride).filter(|&stride| stride >= contiguous);
        let whole = contiguous.is_multiple_of(line) && outer_strides.all(|stride| stride.is_multiple_of(line));
        let closest = self.sides().map(|side| side.stride).min().unwrap_or(1);
        if whole {
            1.0
        } else if closest > 1 {
            closest.min(line) as f64
        } else {
            1.0 + line as f64 / contiguous as f64
        }
    }

    /// Estimates the box's elements on each of its pages.
    pub fn on_one_page(&self, element_bytes: usize) -> f64 {
        let page = PAGE / element_bytes;
        let on_page = self.sides().map(|side| side.tile.min((page / side.stride.max(1)).max(1)));
        on_page.product::<usize>().min(page) as f64
    }
}

#[cfg(test)]
mod tests;
