//! Computes the footprint of a box in one tensor, which consists of the cache lines and pages that contain elements of
//! the box. Some of these lines also contain elements of other boxes.
//!
//! Invariant: dimensions of extent 1 are left out, because their strides are meaningless. The footprint does not model
//! the order in which boxes that share a cache line are visited, or whether the line is still in a cache at the next
//! visit.

use super::{AxisDim, Slab};

/// Size of a page in bytes.
pub(super) const PAGE: usize = 4096;

/// One dimension of a tensor, and the number of its indices in a box.
#[derive(Debug, Clone, Copy)]
struct Side {
    tile: usize,
    extent: usize,
    stride: usize,
}

/// The footprint of a box in a tensor. Strides are absolute values in elements.
#[derive(Debug, Clone)]
pub(super) struct Footprint(Vec<Side>);

impl Footprint {
    /// Creates the footprint of the boxes of two axes. `tensor` contains, for each axis, the index of the tensor among
    /// the axis's two tensors.
    pub fn new(axes: [&[AxisDim]; 2], tensor: [usize; 2]) -> Footprint {
        let side = |dim: &AxisDim, t: usize| Side {
            tile: dim.tile,
            extent: dim.extent,
            stride: dim.strides[t].unsigned_abs(),
        };
        let [first, second] = [0, 1].map(|axis| axes[axis].iter().map(move |dim| side(dim, tensor[axis])));
        Footprint(first.chain(second).filter(|side| side.extent > 1).collect())
    }

    /// Adds the slab, a batch dimension of which several indices are packed or unpacked together. `tensor` is 0 or 1
    /// for an operand, and 2 for `out`.
    pub fn and(mut self, slab: &Slab, tensor: usize) -> Footprint {
        let stride = slab.dim.strides[tensor].unsigned_abs();
        self.0.extend((slab.size > 1).then_some(Side { tile: slab.size, extent: slab.dim.extent, stride }));
        self
    }

    /// Returns the length of the contiguous stretches in the box, in elements.
    pub fn contiguous(&self) -> usize {
        let (mut contiguous, mut whole) = (1, true);
        while whole && let Some(side) = self.0.iter().find(|side| side.stride == contiguous) {
            contiguous *= side.tile;
            whole = side.tile == side.extent;
        }
        contiguous
    }

    /// Returns the ratio of the number of bytes transferred for all boxes to the number of bytes in their elements. The
    /// first and last cache line of each contiguous stretch are also transferred for other boxes, unless all boxes
    /// consist of complete cache lines. In a tensor with gaps, the gaps are transferred as well. `line` is the number
    /// of elements in a cache line.
    pub fn moved(&self, line: usize) -> f64 {
        let contiguous = self.contiguous();
        let mut outer_strides = self.0.iter().map(|side| side.stride).filter(|&stride| stride >= contiguous);
        let whole = contiguous.is_multiple_of(line) && outer_strides.all(|stride| stride.is_multiple_of(line));
        let closest = self.0.iter().map(|side| side.stride).min().unwrap_or(1);
        if whole {
            1.0
        } else if closest > 1 {
            closest.min(line) as f64
        } else {
            1.0 + line as f64 / contiguous as f64
        }
    }

    /// Estimates the number of the box's elements on each page that contains at least one of them.
    pub fn on_one_page(&self, element_bytes: usize) -> f64 {
        let page = PAGE / element_bytes;
        let on_page = self.0.iter().map(|side| side.tile.min((page / side.stride.max(1)).max(1)));
        on_page.product::<usize>().min(page) as f64
    }
}

#[cfg(test)]
mod tests;
