//! Computes long sums in blocks, each in a buffer, and adds the blocks pairwise.
//!
//! The order of additions depends only on the plan. Buffers are written before they are read.

use std::ops::Range;

use super::update::Factors;
use super::{add, nest};
use crate::kernel::Element;
use crate::local_plan::{Isa, Nest, SumBlocks};

pub(super) struct Sum<'a, T> {
    pub blocks: &'a SumBlocks,
    /// For all blocks but a shorter last one.
    pub nest: &'a Nest,
    pub isa: Isa,
    pub operands: [*const T; 2],
    pub scratch: *mut T,
}

impl<T: Element> Sum<'_, T> {
    /// # Safety
    /// Same as for [`super::run`], with the loops of one thread's share. No other code accesses the share's buffers.
    pub unsafe fn run(&self, factors: Factors<T>, out: *mut T) {
        let sums = &self.blocks.sums;
        // SAFETY: guaranteed by the caller; the first buffer has a value for every element of `out`.
        unsafe {
            self.halves(0..self.blocks.count(), 0, factors.conjugated);
            let results = std::slice::from_raw_parts(self.buffer(0), sums.step);
            add(sums, results, factors, out);
        }
    }

    fn buffer(&self, level: usize) -> *mut T {
        self.scratch.wrapping_add(self.blocks.at + level * self.blocks.sums.step)
    }

    /// Sums blocks into the buffer for `level`, the depth in the tree; overwrites deeper buffers.
    ///
    /// # Safety
    /// Same as for [`Sum::run`]. The range contains blocks of the plan. There is a buffer for this level, and one more
    /// for each further halving of the range.
    unsafe fn halves(&self, range: Range<usize>, level: usize, conjugated: [bool; 2]) {
        let out = self.buffer(level);
        // SAFETY: guaranteed by the caller; buffers of two levels do not overlap, and the workspace is initialised.
        unsafe {
            if range.len() == 1 {
                let ([first, second], last) = self.blocks.start(range.start);
                let code = self.blocks.last.as_ref().filter(|_| last).unwrap_or(self.nest);
                let operands = [self.operands[0].wrapping_offset(first), self.operands[1].wrapping_offset(second)];
                return nest(code, self.isa, Factors::sum(conjugated), operands, out);
            }
            let middle = range.start + range.len().div_ceil(2);
            self.halves(range.start..middle, level, conjugated);
            self.halves(middle..range.end, level + 1, conjugated);
            let from = self.buffer(level + 1);
            for i in 0..self.blocks.sums.step {
                *out.add(i) += *from.add(i);
            }
        }
    }
}
