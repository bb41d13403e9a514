//! Computes sums of products in double precision, without code of the checked kernels.
//!
//! Guarantee: at most a dozen additions per product are not compensated: blocks of [`BLOCK_LEN`] products are added in
//! a [`Total`], a compensated sum.

use einsum_dist::dims::Label;
use einsum_dist::memory::{OutOfMemory, room_for};
use rayon::prelude::*;

use super::sum::{Rounding, Summand, Term, Total, Tracked};

const BLOCK_LEN: usize = 32;

const MIN_PARALLEL_PRODUCTS: usize = 1 << 14;

#[derive(Debug, Clone)]
struct Loop {
    extent: usize,
    steps: Vec<usize>,
}

pub struct Nest<'a> {
    values: Vec<&'a [Tracked]>,
    /// Loops over result elements, slowest varying first.
    out: Vec<Loop>,
    /// Loops over outer summed labels, fastest varying first.
    outer: Vec<Loop>,
    inner: Loop,
    varying: Vec<usize>,
    fixed: Vec<usize>,
    complex: bool,
    rounding: Rounding,
}

impl<'a> Nest<'a> {
    /// `len`: selected indices of a label; `complex`: some imaginary part is not 0; `rounding`: the checked run's error
    /// in each element.
    pub fn new(
        terms: &'a [Term],
        out: &[Label],
        len: impl Fn(Label) -> usize,
        complex: bool,
        rounding: Rounding,
    ) -> Nest<'a> {
        let of =
            |label: Label| Loop { extent: len(label), steps: terms.iter().map(|term| term.stride(label)).collect() };
        let mut summed: Vec<Label> = Vec::new();
        for label in terms.iter().flat_map(Term::labels) {
            if !out.contains(&label) && !summed.contains(&label) {
                summed.push(label);
            }
        }
        let mut loops: Vec<Loop> = summed.into_iter().map(of).filter(|summed| summed.extent != 1).collect();
        loops.sort_by_key(|summed| summed.steps.iter().sum::<usize>());
        let mut outer: Vec<Loop> = Vec::with_capacity(loops.len());
        for summed in loops {
            match outer.last_mut() {
                // Fuse adjacent loops with a single stride in every factor.
                Some(last) if last.steps.iter().zip(&summed.steps).all(|(a, b)| a * last.extent == *b) => {
                    last.extent *= summed.extent;
                }
                _ => outer.push(summed),
            }
        }
        let one = Loop { extent: 1, steps: vec![0; terms.len()] };
        let inner = if outer.is_empty() { one } else { outer.remove(0) };
        let (varying, fixed) = (0..terms.len()).partition(|&factor| inner.steps[factor] > 0);
        Nest {
            values: terms.iter().map(|term| term.values.as_slice()).collect(),
            out: out.iter().map(|&label| of(label)).collect(),
            outer,
            inner,
            varying,
            fixed,
            complex,
            rounding,
        }
    }

    /// All elements in row-major order; `single_threaded` if other threads compute others.
    pub fn all(&self, single_threaded: bool) -> Result<Vec<Tracked>, OutOfMemory> {
        if self.complex { self.all_of::<true>(single_threaded) } else { self.all_of::<false>(single_threaded) }
    }

    fn all_of<const COMPLEX: bool>(&self, single_threaded: bool) -> Result<Vec<Tracked>, OutOfMemory> {
        let elements: usize = self.out.iter().map(|label| label.extent).product();
        let products = self.outer.iter().map(|label| label.extent).product::<usize>() * self.inner.extent;
        let mut all = room_for(elements)?;
        if single_threaded || elements * products < MIN_PARALLEL_PRODUCTS {
            let mut state = State::default();
            all.extend((0..elements).map(|place| self.at::<COMPLEX>(place, &mut state)));
        } else {
            let each = (0..elements).into_par_iter().with_min_len(1 + MIN_PARALLEL_PRODUCTS / (16 * products.max(1)));
            each.map_init(State::default, |state, place| self.at::<COMPLEX>(place, state)).collect_into_vec(&mut all);
        }
        Ok(all)
    }

    fn at<const COMPLEX: bool>(&self, element: usize, state: &mut State) -> Tracked {
        let mut place = element;
        if self.inner.extent == 0 || self.outer.iter().any(|label| label.extent == 0) {
            return Tracked::default();
        }
        state.starts.clear();
        state.starts.resize(self.values.len(), 0);
        for label in self.out.iter().rev() {
            let at = place % label.extent;
            place /= label.extent;
            state.starts.iter_mut().zip(&label.steps).for_each(|(start, step)| *start += at * step);
        }
        state.at.clear();
        state.at.resize(self.outer.len(), 0);
        let mut total = Total::default();
        loop {
            total.add(self.row::<COMPLEX>(&state.starts));
            if !self.step(state) {
                return total.rounded(self.rounding, element);
            }
        }
    }

    fn step(&self, state: &mut State) -> bool {
        for (at, label) in state.at.iter_mut().zip(&self.outer) {
            *at += 1;
            if *at < label.extent {
                state.starts.iter_mut().zip(&label.steps).for_each(|(start, step)| *start += step);
                return true;
            }
            *at = 0;
            let back = label.extent - 1;
            state.starts.iter_mut().zip(&label.steps).for_each(|(start, step)| *start -= step * back);
        }
        false
    }

    fn row<const COMPLEX: bool>(&self, starts: &[usize]) -> Summand {
        let fixed = self.fixed.iter().map(|&factor| Summand::from(self.values[factor][starts[factor]]));
        let fixed = fixed.reduce(Summand::times::<COMPLEX>);
        let of = |factor: usize| (&self.values[factor][starts[factor]..], self.inner.steps[factor]);
        let extent = self.inner.extent;
        let sum = match self.varying[..] {
            [] => (extent > 1).then(|| blocks(extent, |_| Summand::one())),
            [only] => {
                let (values, step) = of(only);
                Some(blocks(extent, |at| values[at * step].into()))
            }
            [one, other] => Some(match (of(one), of(other)) {
                ((left, 1), (right, 1)) => dot::<COMPLEX>(&left[..extent], &right[..extent]),
                ((left, l), (right, r)) => {
                    blocks(extent, |at| Summand::from(left[at * l]).times::<COMPLEX>(right[at * r].into()))
                }
            }),
            _ => {
                let product = |at: usize| {
                    let factors = self.varying.iter().map(|&factor| {
                        let (values, step) = of(factor);
                        Summand::from(values[at * step])
                    });
                    factors.reduce(Summand::times::<COMPLEX>).unwrap_or_else(Summand::one)
                };
                Some(blocks(extent, product))
            }
        };
        match (fixed, sum) {
            (Some(fixed), Some(sum)) => fixed.times::<COMPLEX>(sum),
            (fixed, sum) => fixed.or(sum).unwrap_or_default(),
        }
    }
}

#[derive(Default)]
struct State {
    starts: Vec<usize>,
    at: Vec<usize>,
}

/// Sums values in blocks, with four independent partial sums to hide the latency of additions.
#[inline(always)]
fn blocks(count: usize, value: impl Fn(usize) -> Summand) -> Summand {
    let mut total = Total::default();
    for start in (0..count).step_by(BLOCK_LEN) {
        let end = count.min(start + BLOCK_LEN);
        let mut sums = [Summand::default(); 4];
        let mut at = start;
        while at + 4 <= end {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add(value(at + lane));
            }
            at += 4;
        }
        for at in at..end {
            sums[0] = sums[0].add(value(at));
        }
        let [a, b, c, d] = sums;
        total.add(a.add(b).add(c.add(d)));
    }
    total.summand()
}

fn dot<const COMPLEX: bool>(left: &[Tracked], right: &[Tracked]) -> Summand {
    blocks(left.len().min(right.len()), |at| Summand::from(left[at]).times::<COMPLEX>(right[at].into()))
}

#[cfg(test)]
mod tests;
