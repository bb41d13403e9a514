//! Divides the loops among threads.

use super::choice::{Choice, Loop, TILE};

/// The lanes (innermost loop) are cut at multiples of this, so that shares begin at cache lines.
const LANE_GRAIN: usize = 64;
/// With a lower busy fraction of the time, a loop of the sum may be cut, instead of one of `out`.
const MIN_BUSY_FRACTION: f64 = 0.8;
/// Minimum multiply-adds per element of a partial result, for a negligible cost.
const MIN_MULTIPLY_ADDS_PER_PARTIAL: usize = 64;

#[derive(Debug)]
pub(super) struct Cut {
    pub axis: usize,
    pub parts: usize,
    grain: usize,
}

impl Cut {
    pub fn bound(&self, part: usize, extent: usize) -> usize {
        let grains = extent.div_ceil(self.grain);
        (grains * part / self.parts * self.grain).min(extent)
    }
}

pub(super) fn cut(loops: &[Loop], choice: &Choice, threads: usize) -> Option<Cut> {
    if threads < 2 {
        return None;
    }
    let (lanes, rows) = match *choice {
        Choice::Line { lanes, rows, .. } | Choice::Dots { lanes, rows, .. } => (Some(lanes), rows),
        Choice::Strided => (None, None),
    };
    let candidate = |axis: usize| {
        let extent = loops[axis].dim.extent;
        let wanted = match Some(axis) {
            at if at == lanes => LANE_GRAIN,
            at if at == rows => TILE,
            _ => 1,
        };
        // Except the lanes, a loop too short for one grain per thread may be cut anywhere.
        let grain = if extent < wanted * threads && Some(axis) != lanes { 1 } else { wanted };
        let grains = extent.div_ceil(grain);
        let parts = threads.min(grains);
        let even = grains as f64 / (grains.div_ceil(threads) * threads) as f64;
        (even, Cut { axis, parts, grain })
    };
    // Of equal cuts, the outermost gives each thread one contiguous stretch of `out`.
    let pick = |sum: bool| {
        let all = (0..loops.len()).rev().filter(|&i| loops[i].sum == sum).map(candidate);
        all.max_by_key(|(even, _)| (even * 10.0) as usize)
    };
    let terms = loops.iter().filter(|l| l.sum).fold(1usize, |all, l| all.saturating_mul(l.dim.extent));
    let out_cut = pick(false);
    let even = out_cut.as_ref().map_or(0.0, |(even, _)| *even);
    let sum = pick(true).filter(|(sum, cut)| {
        even < MIN_BUSY_FRACTION && *sum > even && terms / cut.parts >= MIN_MULTIPLY_ADDS_PER_PARTIAL
    });
    sum.or(out_cut).map(|(_, cut)| cut).filter(|cut| cut.parts > 1)
}
