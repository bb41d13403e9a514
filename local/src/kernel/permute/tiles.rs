//! Transposes blocks whose columns have stride 1 in the source, and whose rows have it in the destination.
//!
//! Invariant: a block of a plan has at most [`MAX_BLOCK_SIDE`] columns and rows, and fits into [`BUFFER_BYTES`]. The
//! buffer is written before it is read.

use std::mem::MaybeUninit;

use super::super::simd::{Merge, Real, RealBody, Simd, Size, fence, prefetch, transpose_square};
use super::lines::{Lines, Starts};
use super::{PermuteShare, Tensors, walk};
use crate::local_plan::{BUFFER_BYTES, CopyKind, MAX_BLOCK_SIDE};

/// Makes columns of the buffer map to different cache sets.
const COLUMN_PADDING_BYTES: usize = 64;

#[repr(align(64))]
struct Buffer(MaybeUninit<[u8; BUFFER_BYTES]>);

/// # Safety
/// Same as for [`super::permute`], with one thread's share.
pub(super) unsafe fn share<R: Real, M: Merge<R>>(share: PermuteShare<R>, merge: M) {
    let buffered = share.plan.kind() == CopyKind::Tiles { buffered: true };
    // SAFETY: guaranteed by the caller.
    unsafe { if buffered || !M::PUTS { through_buffer(share, merge, buffered) } else { direct(share) } }
}

/// # Safety
/// Same as for [`share`], with a merge that only copies.
unsafe fn direct<R: Real>(share: PermuteShare<R>) {
    let words = Words::new(&share);
    let cols_to: [isize; MAX_BLOCK_SIDE] = walk::offsets(&share.plan.blocks().cols, 1, words.words_per_unit);
    walk::blocks(share.plan, share.share, |offset, [cols, rows]| {
        let at = share.tensors.at(offset.map(|o| o * share.reals_per_unit() as isize));
        // SAFETY: the block belongs to the caller's share.
        unsafe { words.transpose(at.from.cast(), at.to.cast(), Starts::At(&cols_to), Size { rows, cols }) };
    });
}

/// # Safety
/// Same as for [`share`].
unsafe fn through_buffer<R: Real, M: Merge<R>>(share: PermuteShare<R>, merge: M, streams: bool) {
    let reals_per_unit = share.reals_per_unit();
    let (cols, rows) = (&share.plan.blocks().cols, &share.plan.blocks().rows);
    let words = Words { ahead: streams, ..Words::new(&share) };
    let cols_to: [isize; MAX_BLOCK_SIDE] = walk::offsets(cols, 1, reals_per_unit);
    let lead =
        (rows.inner * rows.block() * reals_per_unit * size_of::<R>()).next_multiple_of(64) + COLUMN_PADDING_BYTES;
    assert!(cols.inner * cols.block() * lead <= BUFFER_BYTES, "a block larger than the buffer");
    let mut buffer = Buffer(MaybeUninit::uninit());
    let buffer = buffer.0.as_mut_ptr().cast::<u8>();
    walk::blocks(share.plan, share.share, |offset, [cols, rows]| {
        let at = share.tensors.at(offset.map(|o| o * reals_per_unit as isize));
        let lines = Lines {
            tensors: Tensors { from: buffer.cast::<R>().cast_const(), to: at.to },
            from: (lead / size_of::<R>()) as isize,
            to: Starts::At(&cols_to),
            count: rows * reals_per_unit,
            rows: cols,
            streams,
            merge,
        };
        // SAFETY: the instruction set is available. The block belongs to the caller's share and fits into the buffer,
        // as asserted. In each column of the buffer, `rows` elements are written before they are read.
        unsafe {
            words.transpose(at.from.cast(), buffer.cast(), Starts::Every((lead / 4) as isize), Size { rows, cols });
            R::dispatch(share.isa, lines);
        }
    });
    if streams {
        fence();
    }
}

/// What blocks have in common. Words have 4 bytes, the least alignment of elements.
struct Words {
    isa: crate::local_plan::Isa,
    words_per_unit: usize,
    rows_from: [isize; MAX_BLOCK_SIDE],
    ahead: bool,
}

impl Words {
    fn new<R: Real>(share: &PermuteShare<R>) -> Words {
        let words_per_unit = share.reals_per_unit() * size_of::<R>() / 4;
        let rows_from = walk::offsets(&share.plan.blocks().rows, 0, words_per_unit);
        Words { isa: share.isa, words_per_unit, rows_from, ahead: false }
    }

    /// # Safety
    /// The processor must support `self.isa`. The elements of the block must be readable in the source and writable in
    /// the destination.
    unsafe fn transpose(&self, from: *const f32, to: *mut f32, cols_to: Starts, size: Size) {
        let Words { isa, words_per_unit, ref rows_from, ahead } = *self;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match words_per_unit {
                1 => f32::dispatch(isa, Block::<1> { from, rows_from, to, cols_to, size, ahead }),
                2 => f32::dispatch(isa, Block::<2> { from, rows_from, to, cols_to, size, ahead }),
                _ => f32::dispatch(isa, Block::<4> { from, rows_from, to, cols_to, size, ahead }),
            }
        }
    }
}

struct Block<'a, const P: usize> {
    from: *const f32,
    rows_from: &'a [isize; MAX_BLOCK_SIDE],
    to: *mut f32,
    cols_to: Starts<'a>,
    size: Size,
    ahead: bool,
}

impl<const P: usize> RealBody<f32> for Block<'_, P> {
    type Output = ();

    /// # Safety
    /// Same as for [`Words::transpose`], with the instruction set `S`.
    #[inline(always)]
    unsafe fn run<S: Simd<f32>>(self) {
        let Block { from, rows_from, to, cols_to, size: Size { rows, cols }, ahead } = self;
        let side = S::LANES / P;
        // The last tile is moved back over the previous one, because full tiles are faster.
        let back = rows >= side && cols >= side;
        let row = |i: usize| from.wrapping_offset(rows_from[i]);
        let column = |j: usize| match cols_to {
            Starts::Every(stride) => to.wrapping_offset(j as isize * stride),
            Starts::At(table) => to.wrapping_offset(table[j]),
        };
        let mut i = 0;
        while i < rows {
            if back {
                i = i.min(rows - side);
            }
            let next = if ahead { i + side..(i + 2 * side).min(rows) } else { 0..0 };
            let mut j = 0;
            while j < cols {
                if back {
                    j = j.min(cols - side);
                }
                for next in next.clone() {
                    prefetch(row(next).wrapping_add(j * P));
                }
                let size = Size { rows: side.min(rows - i), cols: side.min(cols - j) };
                let from = |r: usize| row(i + r).wrapping_add(j * P);
                let to = |c: usize| column(j + c).wrapping_add(i * P);
                // SAFETY: the square is inside the block.
                unsafe { transpose_square::<S, f32, P>(from, to, size) };
                j += side;
            }
            i += side;
        }
    }
}
