//! Calls the bare LIBXSMM kernel on `bmk,bkn->bmn` once per index b. The rate of these calls is an upper bound for the
//! rate of a batched kernel on one thread.

// The library's private wrapper around LIBXSMM. It is included by path, because it is not part of the public interface.
#[allow(dead_code, reason = "its tests, which run elsewhere")]
#[path = "../../local/src/kernel/xsmm.rs"]
mod xsmm;

use ndarray::ArrayD;

pub use xsmm::Real;

/// A batch of row-major products, and the generated code for one product.
pub struct Bare<R> {
    operands: [ArrayD<R>; 2],
    out: ArrayD<R>,
    tile: xsmm::Tile<R>,
}

impl<R: Real> Bare<R> {
    /// Returns `None` if LIBXSMM has no code for these extents.
    pub fn new(operands: [ArrayD<R>; 2], out: ArrayD<R>) -> Option<Self> {
        let (&[_, m, k], &[_, _, n]) = (operands[0].shape(), operands[1].shape()) else { return None };
        // LIBXSMM is column-major. A row-major product equals the column-major product with `left` and `right`
        // exchanged.
        let tile = xsmm::Tile::get([n, m, k], [n, k, n], false)?;
        Some(Bare { operands, out, tile })
    }

    pub fn run(&mut self) {
        let steps = [1, 0].map(|i| self.operands[i].len() / self.operands[i].shape()[0]);
        let [right, left] = [1, 0].map(|i| self.operands[i].as_ptr());
        let batch = self.out.shape()[0];
        let step = self.out.len() / batch;
        let out = self.out.as_mut_ptr();
        for at in 0..batch {
            // SAFETY: the arrays are dense, contain `batch` products and have the extents of the tile.
            unsafe { self.tile.call(right.add(at * steps[0]), left.add(at * steps[1]), out.add(at * step)) };
        }
    }

    pub fn out(&self) -> &ArrayD<R> {
        &self.out
    }
}
