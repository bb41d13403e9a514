//! How the loops are cut among threads.

use super::choose::{Choice, Loop, TILE};

/// Lanes of a share begin on a cache line for every element type.
const LANES: usize = 64;
/// A cut may leave the threads idle for so much of the time, or the sum is cut instead.
const EVEN: f64 = 0.8;
/// Multiply-adds per element of a partial result from which writing and adding it does not matter.
const WORTH_ADDING: usize = 64;

/// One loop, cut in even parts on multiples of a grain.
#[derive(Debug)]
pub(super) struct Cut {
    pub axis: usize,
    pub parts: usize,
    grain: usize,
}

impl Cut {
    /// Where a part begins, and the one before it ends.
    pub fn bound(&self, part: usize, extent: usize) -> usize {
        let grains = extent.div_ceil(self.grain);
        (grains * part / self.parts * self.grain).min(extent)
    }
}

/// `None` if one thread does everything.
pub(super) fn cut(loops: &[Loop], choice: &Choice, threads: usize) -> Option<Cut> {
    if threads < 2 {
        return None;
    }
    let (lanes, rows) = match *choice {
        Choice::Line { lanes, rows, .. } | Choice::Dots { lanes, rows, .. } => (Some(lanes), rows),
        Choice::Any => (None, None),
    };
    let candidate = |axis: usize| {
        let extent = loops[axis].dim.extent;
        let wanted = match Some(axis) {
            at if at == lanes => LANES,
            at if at == rows => TILE,
            _ => 1,
        };
        // A loop that is short for its grain is cut anywhere; lanes are not.
        let grain = if extent < wanted * threads && Some(axis) != lanes { 1 } else { wanted };
        let grains = extent.div_ceil(grain);
        let parts = threads.min(grains);
        let even = grains as f64 / (grains.div_ceil(threads) * threads) as f64;
        (even, Cut { axis, parts, grain })
    };
    // Of equals the outermost, so that each thread has one stretch of out.
    let pick = |sum: bool| {
        let all = (0..loops.len()).rev().filter(|&i| loops[i].sum == sum).map(candidate);
        all.max_by_key(|(even, _)| (even * 10.0) as usize)
    };
    let terms = loops.iter().filter(|l| l.sum).fold(1usize, |all, l| all.saturating_mul(l.dim.extent));
    let kept = pick(false);
    let even = kept.as_ref().map_or(0.0, |(even, _)| *even);
    let sum = pick(true).filter(|(sum, cut)| even < EVEN && *sum > even && terms / cut.parts >= WORTH_ADDING);
    sum.or(kept).map(|(_, cut)| cut).filter(|cut| cut.parts > 1)
}
