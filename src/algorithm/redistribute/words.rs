//! Counts the words that ranks receive in a direct redistribution, by digits of a rank's number instead of by ranks.
//!
//! In grids by strides, a rank's indices along a dimension depend on few digits of its number in a mixed radix.
//! Dimensions without a common digit are independent: their numbers of indices multiply. In other grids, all ranks are
//! tried.

use crate::distribution::{Distribution, Role};

/// The words that the busiest rank and all ranks receive: those of `to` that a rank lacks, from each summand of `from`.
pub fn over_ranks(shape: &[usize], from: &Distribution, to: &Distribution) -> (u64, u128) {
    let (first, len) = (to.span().start, to.span().len());
    let ends = [from, to].map(|grid| ends(grid, first));
    let all: Vec<usize> = ends.iter().flatten().flatten().copied().filter(|end| (1..len).contains(end)).collect();
    let is_common = |one: usize| all.iter().all(|&other| one.max(other).is_multiple_of(one.min(other)));
    let mut bounds: Vec<usize> = all.iter().copied().filter(|&end| len.is_multiple_of(end) && is_common(end)).collect();
    bounds.extend([1, len]);
    bounds.sort_unstable();
    bounds.dedup();
    let radices: Vec<usize> = bounds.windows(2).map(|pair| pair[1] / pair[0]).collect();

    // The digits of each dimension; at last those that decide whether a rank is in the grids, with the first summand.
    let mut digits = vec![0u64; shape.len() + 1];
    for (grid, ends) in [from, to].into_iter().zip(ends) {
        for (at, [start, end]) in ends.into_iter().enumerate() {
            let dim = match grid.axes().get(at).map(|axis| &axis.role) {
                Some(Role::Cut { dim, .. }) => *dim,
                Some(Role::Partial) | None => shape.len(),
                Some(Role::Replicate) => continue,
            };
            let met = (0..radices.len()).filter(|&digit| bounds[digit] < end && start < bounds[digit + 1]);
            digits[dim] |= met.fold(0, |digits, digit| digits | 1 << digit);
        }
    }
    let mut groups: Vec<(u64, Vec<usize>)> = Vec::new();
    for (dim, &digits) in digits.iter().enumerate() {
        let mut joined = (digits, vec![dim]);
        for (other, dims) in groups.extract_if(.., |(other, _)| *other & digits != 0) {
            joined.0 |= other;
            joined.1.extend(dims);
        }
        groups.push(joined);
    }
    let of = |digits: u64| (0..radices.len()).filter(move |digit| digits >> digit & 1 == 1);
    let ranks_of = |digits: u64| {
        of(digits).fold(vec![first], |ranks, digit| {
            let steps = (0..radices[digit]).map(|value| value * bounds[digit]);
            steps.flat_map(|step| ranks.iter().map(move |rank| rank + step)).collect()
        })
    };
    let idle = !groups.iter().fold(0, |used, (digits, _)| used | digits);
    let alike: usize = of(idle).map(|digit| radices[digit]).product();
    let summands = from.summands();
    let (mut all, mut busiest) = ([alike as u128 * summands as u128, alike as u128], vec![[summands, 1]]);
    for (joined, mut dims) in groups {
        let decides = dims.contains(&shape.len());
        dims.retain(|&dim| dim < shape.len());
        let tables = dims.iter().map(|&dim| {
            let pairs = ranks_of(digits[dim]).into_iter().map(|rank| needed_and_kept(shape, from, to, rank, dim));
            (of(digits[dim]).collect(), pairs.collect())
        });
        let tables: Vec<(Vec<usize>, Vec<[usize; 2]>)> = tables.collect();
        let pair = |rank: usize| {
            let needs = !decides || to.summand(rank) == Some(0);
            let keeps = needs && (!decides || from.coordinates(rank).is_some());
            tables.iter().fold([needs, keeps].map(usize::from), |[needed, kept], (digits, pairs)| {
                let value = |digit: usize| (rank - first) / bounds[digit] % radices[digit];
                let at = digits.iter().rev().fold(0, |at, &digit| at * radices[digit] + value(digit));
                [needed * pairs[at][0], kept * pairs[at][1]]
            })
        };
        let pairs: Vec<[usize; 2]> = ranks_of(joined).into_iter().map(pair).collect();
        all = [0, 1].map(|at| all[at] * pairs.iter().map(|pair| pair[at] as u128).sum::<u128>());
        let pairs = least_kept(pairs);
        let products = busiest.iter().flat_map(|a| pairs.iter().map(|b| [a[0] * b[0], a[1] * b[1]]));
        busiest = least_kept(products.collect());
    }
    let most = busiest.into_iter().map(|[needed, kept]| needed - kept).max();
    (most.unwrap_or(0) as u64, all[0] - all[1])
}

/// The first and last digit that each axis, and then being in the grid, depends on, as powers of the radix.
fn ends(grid: &Distribution, first: usize) -> Vec<[usize; 2]> {
    let axes = grid.axes().iter();
    match grid.strides() {
        Some((start, strides)) if start == first && grid.span().len() == grid.places() => {
            let ends = axes.zip(strides).map(|(axis, stride)| [stride, stride * axis.ranks]);
            ends.chain([[grid.places(), usize::MAX]]).collect()
        }
        _ => vec![[0, usize::MAX]; axes.len() + 1],
    }
}

/// A rank's indices along a dimension, and those that it stores already; all outside a grid.
fn needed_and_kept(shape: &[usize], from: &Distribution, to: &Distribution, rank: usize, dim: usize) -> [usize; 2] {
    let [have, need] = [from, to].map(|grid| grid.indices(shape, rank, dim));
    [need.len(), have.intersect(&need).len()]
}

/// Without pairs that need no more and keep no less than another.
fn least_kept(mut pairs: Vec<[usize; 2]>) -> Vec<[usize; 2]> {
    pairs.sort_unstable_by_key(|&[needed, kept]| (std::cmp::Reverse(needed), kept));
    let mut least = usize::MAX;
    pairs.retain(|&[_, kept]| {
        let fewer = kept < least;
        least = least.min(kept);
        fewer
    });
    pairs
}

#[cfg(test)]
mod tests;
