//! Plans sums over some dimensions of one tensor, in units and steps (`docs/kernels.md`).
//!
//! Invariants: units partition `out`, and steps partition the sum. Threads share units or, if these are few, each
//! unit's steps. Lists of steps are halved recursively, and halves added in a fixed order.

use super::{Dim, Loops, useful_threads};

/// Maximum elements of `out` in a unit.
pub const UNIT: usize = 512;
/// Maximum elements of a line in a step, if it is a loop of the sum.
const STEP: usize = 1 << 13;
/// Minimum extent of an innermost loop of the sum.
const MIN_LINE_ELEMENTS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// Loops over `out`, with strides in the source and in `out`; `sums` has the others.
    pub out_loops: Loops<2>,
    pub sums: Loops<1>,
    /// The innermost loop: of the sum, with stride 0 in `out`, if `line_is_summed`, otherwise of `out`.
    pub line: Dim<2>,
    pub line_is_summed: bool,
    /// Maximum elements of the line in a step if it is summed, otherwise in a unit.
    pub piece: usize,
    pub threads: usize,
}

impl Sum {
    pub fn new(out_loops: &[Dim<2>], sums: &[Dim<1>], threads: usize) -> Sum {
        let longer = |extent: usize| extent != 1;
        let mut out_loops: Loops<2> = out_loops.iter().copied().filter(|d| longer(d.extent)).collect();
        let mut sums: Loops<1> = sums.iter().copied().filter(|d| longer(d.extent)).collect();
        out_loops.sort_unstable_by_key(|d| (std::cmp::Reverse(d.strides[0].unsigned_abs()), d.strides[1]));
        sums.sort_unstable_by_key(|d| std::cmp::Reverse(d.strides[0].unsigned_abs()));
        fuse(&mut out_loops);
        fuse(&mut sums);
        let elements = out_loops.iter().map(|d| d.extent).chain(sums.iter().map(|d| d.extent));
        let elements = elements.fold(1usize, usize::saturating_mul);
        let nearest_out = out_loops.last().map(|d| d.strides[0].unsigned_abs());
        let suits = |d: &Dim<1>| d.extent >= MIN_LINE_ELEMENTS && Some(d.strides[0].unsigned_abs()) < nearest_out;
        let line_is_summed = out_loops.is_empty() || sums.last().is_some_and(suits);
        let none = Dim { extent: 1, strides: [0; 2] };
        let line = if !line_is_summed {
            out_loops.remove(out_loops.len() - 1)
        } else if sums.is_empty() {
            none
        } else {
            let Dim { extent, strides: [stride] } = sums.remove(sums.len() - 1);
            Dim { extent, strides: [stride, 0] }
        };
        let threads = useful_threads(threads, elements);
        let piece =
            if line_is_summed { STEP } else { UNIT.min(line.extent.div_ceil(threads).next_multiple_of(16).max(16)) };
        Sum { out_loops, sums, line, line_is_summed, piece, threads }
    }

    fn pieces(&self) -> usize {
        self.line.extent.div_ceil(self.piece)
    }

    pub fn units(&self) -> usize {
        self.out_loops.iter().map(|d| d.extent).product::<usize>() * if self.line_is_summed { 1 } else { self.pieces() }
    }

    pub fn steps(&self) -> usize {
        self.sums.iter().map(|d| d.extent).product::<usize>() * if self.line_is_summed { self.pieces() } else { 1 }
    }

    pub fn unit(&self, unit: usize) -> ([isize; 2], usize) {
        if self.line_is_summed { (offset(&self.out_loops, unit), 1) } else { self.piece_of(&self.out_loops, unit) }
    }

    /// A step's start relative to its unit, and its elements of the line (0 if that is a loop of `out`).
    pub fn step(&self, step: usize) -> (isize, usize) {
        if self.line_is_summed {
            let (piece, rest) = (step % self.pieces(), step / self.pieces());
            let first = piece * self.piece;
            let [at] = offset(&self.sums, rest);
            (at + first as isize * self.line.strides[0], self.piece.min(self.line.extent - first))
        } else {
            (offset(&self.sums, step)[0], 0)
        }
    }

    fn piece_of(&self, loops: &[Dim<2>], index: usize) -> ([isize; 2], usize) {
        let (piece, rest) = (index % self.pieces(), index / self.pieces());
        let first = piece * self.piece;
        let outer = offset(loops, rest);
        let at = [0, 1].map(|t| outer[t] + first as isize * self.line.strides[t]);
        (at, self.piece.min(self.line.extent - first))
    }
}

pub(super) fn offset<const N: usize>(loops: &[Dim<N>], mut number: usize) -> [isize; N] {
    let mut offset = [0; N];
    for dim in loops.iter().rev() {
        let index = (number % dim.extent) as isize;
        number /= dim.extent;
        (0..N).for_each(|t| offset[t] += index * dim.strides[t]);
    }
    offset
}

fn fuse<const N: usize>(loops: &mut Loops<N>) {
    let mut at = 1;
    while at < loops.len() {
        let (outer, inner) = (loops[at - 1], loops[at]);
        if outer.continues(&inner) {
            loops[at].extent *= outer.extent;
            loops.remove(at - 1);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
