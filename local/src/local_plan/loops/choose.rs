//! Chooses innermost and unrolled loops of the lowest price.

use super::choice::{Choice, Loop, TERMS};
use super::{OUT, price};
use crate::dtype::Dtype;
use crate::local_plan::Dim;

/// Start offsets and all loops, each in the direction of most positive strides.
pub(super) fn oriented(dims: &[Vec<Dim<3>>; 4]) -> ([isize; 3], Vec<Loop>) {
    let mut start = [0; 3];
    let mut loops = Vec::with_capacity(dims.iter().map(Vec::len).sum());
    for (kind, dims) in dims.iter().enumerate() {
        for dim in dims {
            let mut dim = *dim;
            debug_assert!(dim.extent > 0);
            if dim.strides.iter().map(|s| s.signum()).sum::<isize>() < 0 {
                (0..3).for_each(|t| start[t] += dim.strides[t] * (dim.extent as isize - 1));
                dim.strides = dim.strides.map(|s| -s);
            }
            loops.push(Loop { dim, sum: kind == 3 });
        }
    }
    loops.sort_by_key(|l| std::cmp::Reverse((!l.sum, l.dim.strides[OUT].unsigned_abs(), operand_strides(l))));
    (start, loops)
}

fn operand_strides(l: &Loop) -> usize {
    l.dim.strides[0].unsigned_abs().saturating_add(l.dim.strides[1].unsigned_abs())
}

/// The cheapest choice, and its nanoseconds of work and of traffic on one thread.
pub(super) fn best(loops: &[Loop], dtype: Dtype) -> (Choice, [f64; 2]) {
    let mut best = (Choice::Strided, price::nest(loops, &Choice::Strided, dtype));
    for (at, l) in loops.iter().enumerate() {
        let choice = match (l.sum, l.dim.strides) {
            (false, [1, 0 | 1, 1]) => line(loops, at, false),
            (false, [0, 1, 1]) => line(loops, at, true),
            (true, [1, 1, 0]) => dots(loops, at),
            _ => continue,
        };
        let price = price::nest(loops, &choice, dtype);
        if price[0] + price[1] < best.1[0] + best.1[1] {
            best = (choice, price);
        }
    }
    best
}

fn line(loops: &[Loop], lanes: usize, swapped: bool) -> Choice {
    let first = usize::from(swapped);
    let others = |sum: bool| (0..loops.len()).filter(move |&i| i != lanes && loops[i].sum == sum);
    let shares_first = |&i: &usize| loops[i].dim.strides[first] == 0;
    let rows = others(false).rfind(shares_first).or_else(|| others(false).next_back());
    let terms = others(true).max_by_key(|&i| {
        let dim = loops[i].dim;
        (dim.extent.min(TERMS), std::cmp::Reverse(dim.strides[first].unsigned_abs()))
    });
    Choice::Line { swapped, lanes, rows, terms }
}

fn dots(loops: &[Loop], lanes: usize) -> Choice {
    let moving = |left: bool, right: bool| {
        let moves = move |i: &usize| {
            let [l, r, _] = loops[*i].dim.strides;
            !loops[*i].sum && (l != 0) == left && (r != 0) == right
        };
        (0..loops.len()).filter(moves).max_by_key(|&i| loops[i].dim.extent)
    };
    let extent = |at: Option<usize>| at.map_or(1, |i| loops[i].dim.extent);
    let (m, n) = (moving(true, false), moving(false, true));
    let (swapped, rows, cols) = if extent(n) > extent(m) { (true, n, m) } else { (false, m, n) };
    // Even without shared elements, several rows hide the latency of additions.
    let rows = rows.or_else(|| moving(true, true));
    Choice::Dots { swapped, lanes, rows, cols }
}
