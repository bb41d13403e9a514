//! Runs programs whose values leave the range of the element type, with powers of two kept apart
//! (`docs/special-values.md`).
//!
//! Each run measures all values, and the next corrects the powers, until every value is of medium size ([`medium`]).
//! The first step of another size has inputs of medium size, so two runs per step suffice.

use super::operand_parts::Operands;
use super::program::Slices;
use super::{DistTensor, Program, Result, World};
use crate::dtype::Dtype;
use crate::kernel::{self, Element};
use crate::plan::{Plan, ResultResidency, Source};

fn is_double<T: Element>() -> bool {
    matches!(T::DTYPE, Dtype::Float64 | Dtype::Complex128)
}

/// The limit for the absolute log2 of the largest number. Sums of 2^79 products of two such single-precision numbers
/// are in range.
fn medium<T: Element>() -> f64 {
    if is_double::<T>() { 200.0 } else { 24.0 }
}

/// A factor's largest and negative smallest exponent; a factor must be a normal number.
fn largest_exponent<T: Element>() -> i32 {
    if is_double::<T>() { 1000 } else { 120 }
}

fn scale<T: Element>(tensor: &mut DistTensor<T>, mut exponent: i32) {
    while exponent != 0 {
        let step = exponent.clamp(-largest_exponent::<T>(), largest_exponent::<T>());
        let factor = T::from_f64(2f64.powi(step), 0.0);
        tensor.blocks_mut().for_each(|(_, block)| kernel::scale(factor, block));
        exponent -= step;
    }
}

/// `e` for a number in [1/2, 1) times 2^e; 0 for 0, infinity and NaN.
fn exponent_of(number: f64) -> i32 {
    if number == 0.0 || !number.is_finite() {
        return 0;
    }
    let (number, less) = if number < f64::MIN_POSITIVE { (number * 2f64.powi(64), 64) } else { (number, 0) };
    (number.to_bits() >> 52 & 0x7ff) as i32 - 1022 - less
}

/// NaN if one is NaN.
fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

fn combined(world: &World, mine: impl Iterator<Item = f64>) -> Result<Vec<f64>> {
    let mine: Vec<u8> = mine.flat_map(f64::to_le_bytes).collect();
    let mut all = vec![0.0; mine.len() / 8];
    for theirs in world.all_gather(&mine)? {
        for (largest, bytes) in all.iter_mut().zip(theirs.as_chunks().0) {
            let number = f64::from_le_bytes(*bytes);
            *largest = larger(*largest, number);
        }
    }
    Ok(all)
}

impl<T: Element> DistTensor<T> {
    /// The largest absolute real or imaginary part: NaN if any is NaN, else infinity if any is infinite. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn largest(&self, world: &World) -> Result<f64> {
        Ok(combined(world, std::iter::once(self.largest_here()))?[0])
    }

    fn largest_here(&self) -> f64 {
        let each = self.blocks().map(|(_, block)| kernel::largest(block));
        each.fold(0.0, larger)
    }

    /// Divides the tensor by a power of two, so that its largest absolute value ([`DistTensor::largest`]) is in [1/2,
    /// 1), and returns the exponent. Quotients are exact unless they become subnormal. Zeros, and tensors with an
    /// infinite or NaN part, stay the same, with exponent 0. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn split_exponent(&mut self, world: &World) -> Result<i32> {
        let exponent = exponent_of(self.largest(world)?);
        scale(self, -exponent);
        Ok(exponent)
    }
}

impl<T: Element> Program<T> {
    /// Like [`Program::run_dist`], for values outside the element type's range: `out`, whose largest absolute value is
    /// in [1/2, 1), times 2 to the returned power is the result. Only elements far smaller than others of the same
    /// tensor lose digits (by 2^126 in single precision). If an operand has infinite or NaN parts, nothing is scaled.
    /// Collective.
    ///
    /// Cost: reads every intermediate once more. The first run, or its first slice, is repeated until no value leaves
    /// the range. Copies operands whose largest absolute value is far from 1; see [`DistTensor::split_exponent`].
    /// Constant operands are not reused.
    ///
    /// # Errors
    /// Those of [`Program::run_dist`]. If memory for a copy runs out.
    pub fn run_dist_with_exponent(&mut self, operands: &[&DistTensor<T>], out: &mut DistTensor<T>) -> Result<i64> {
        let fits = self.check_dist(&Operands::Whole(operands), out, ResultResidency::Whole);
        self.world.agree(fits)?;
        let mut largest = combined(&self.world, operands.iter().map(|operand| operand.largest_here()))?;
        if !largest.iter().all(|largest| largest.is_finite()) {
            self.run_dist(T::ONE, operands, T::ZERO, out)?;
            return Ok(0);
        }
        let (mut exponent, mut copies) = (0, Vec::new());
        for (operand, largest) in operands.iter().zip(&mut largest) {
            let own = exponent_of(*largest);
            let copy = if f64::from(own.abs()) > medium::<T>() {
                let mut copy = DistTensor::try_zeros(&self.world, operand.shape(), operand.distribution())?;
                copy.blocks_mut().zip(operand.blocks()).for_each(|((_, mut to), (_, from))| to.assign(&from));
                scale(&mut copy, -own);
                exponent += i64::from(own);
                *largest = 1.0;
                Some(copy)
            } else {
                None
            };
            copies.push(copy);
        }
        let scaled: Vec<&DistTensor<T>> =
            copies.iter().zip(operands).map(|(copy, operand)| copy.as_ref().unwrap_or(operand)).collect();
        // Values computed with other factors must not be reused.
        self.holds = false;
        let outcome = self.run_scaled(&scaled, &largest, out);
        self.holds = false;
        self.ranks.iter_mut().for_each(|rank| rank.scale(None));
        let divided = outcome?;
        let own = out.split_exponent(&self.world)?;
        let is_zero = own == 0 && out.largest(&self.world)? == 0.0;
        Ok(if is_zero { 0 } else { exponent + divided + i64::from(own) })
    }

    /// Runs until every value is of medium size. `largest` is for each operand.
    fn run_scaled(&mut self, operands: &[&DistTensor<T>], largest: &[f64], out: &mut DistTensor<T>) -> Result<i64> {
        let plan = self.plan.clone();
        let scaling = Scaling::new(&plan, largest, medium::<T>(), largest_exponent::<T>());
        let unscaled = vec![0; plan.values.len()];
        let mut exponents = self.exponents.take().unwrap_or_else(|| scaling.corrected(&unscaled, None));
        let mut left = 2 * plan.values.len();
        loop {
            let measured = self.trial(&scaling, &exponents, operands, out)?;
            let next = scaling.corrected(&exponents, Some(&measured));
            // Sums that cancel almost completely cannot improve.
            if scaling.are_medium(&measured) || next == exponents || left == 0 {
                let divided = scaling.sums(&exponents).last().map_or(0, |sum| -sum);
                self.exponents = Some(exponents);
                return Ok(divided);
            }
            (exponents, left) = (next, left - 1);
        }
    }

    fn trial(
        &mut self,
        scaling: &Scaling,
        exponents: &[i32],
        operands: &[&DistTensor<T>],
        out: &mut DistTensor<T>,
    ) -> Result<Vec<f64>> {
        self.ranks.iter_mut().for_each(|rank| rank.scale(Some(exponents)));
        self.holds = false;
        let all = self.plan.slice_count();
        let mut run = 0..if self.groups.is_some() { all } else { all.min(1) };
        loop {
            let slices = Slices { run: run.clone(), output: ResultResidency::Whole, goes_on: run.start > 0 };
            self.run_blocks(slices, T::ONE, operands, T::ZERO, out)?;
            let mut here = vec![0.0; exponents.len()];
            for rank in &self.ranks {
                here.iter_mut().zip(rank.largest()).for_each(|(most, next)| *most = larger(*most, next));
            }
            let measured = combined(&self.world, here.into_iter())?;
            if run.end == all || !scaling.are_medium(&measured) {
                return Ok(measured);
            }
            run = run.end..all;
        }
    }
}

struct Scaling<'a> {
    plan: &'a Plan,
    operands: &'a [f64],
    medium: f64,
    most: i32,
    /// The last value made from each by steps with one input.
    ends: Vec<usize>,
}

impl<'a> Scaling<'a> {
    fn new(plan: &'a Plan, operands: &'a [f64], medium: f64, most: i32) -> Scaling<'a> {
        let mut ends: Vec<usize> = (0..plan.values.len()).collect();
        for (id, value) in plan.values.iter().enumerate().rev() {
            if let Source::Unary { input, .. } | Source::Redistribute { input } = value.source {
                ends[input] = ends[id];
            }
        }
        Scaling { plan, operands, medium, most, ends }
    }

    fn with_moved(&self, measured: &[f64]) -> Vec<f64> {
        let mut all = measured.to_vec();
        for (id, value) in self.plan.values.iter().enumerate() {
            if let Source::Redistribute { input } = value.source {
                all[id] = all[input];
            }
        }
        all
    }

    fn are_medium(&self, measured: &[f64]) -> bool {
        let measured = self.with_moved(measured);
        let is_medium = |id: usize| measured[id] == 0.0 || measured[id].log2().abs() <= self.medium;
        let contractions =
            self.plan.values.iter().enumerate().filter(|(_, v)| matches!(v.source, Source::Contract { .. }));
        contractions.into_iter().all(|(id, _)| measured[id].is_finite() && is_medium(self.ends[id]))
    }

    /// The exponents of the values' total factors.
    fn sums(&self, exponents: &[i32]) -> Vec<i64> {
        self.sums_with(|id, _| i64::from(exponents[id]))
    }

    /// `own` gets a contraction's value and its inputs' sum, and returns its exponent.
    fn sums_with(&self, mut own: impl FnMut(usize, i64) -> i64) -> Vec<i64> {
        let mut sums: Vec<i64> = Vec::with_capacity(self.plan.values.len());
        for (id, value) in self.plan.values.iter().enumerate() {
            sums.push(match value.source {
                Source::Operand(_) => 0,
                Source::Unary { input, .. } | Source::Redistribute { input } => sums[input],
                Source::Contract { left, right, .. } => {
                    let inputs = sums[left] + sums[right];
                    inputs + own(id, inputs)
                }
            });
        }
        sums
    }

    /// The exponents that would bring all values close to 1. `measured` has each value's largest number in a run with
    /// `exponents`; without it or out of range, it is estimated.
    fn corrected(&self, exponents: &[i32], measured: Option<&[f64]>) -> Vec<i32> {
        let sums = self.sums(exponents);
        let in_range = |largest: f64| largest.is_finite() && largest.log2() >= -f64::from(self.most);
        let known = |id: usize| {
            let largest = measured.map(|measured| measured[id]).filter(|&largest| in_range(largest))?;
            Some(largest.log2() - sums[id] as f64)
        };
        let values = &self.plan.values;
        // log2 of the largest numbers without factors, and by how much the steps exceed expectation.
        let (mut sizes, mut excess, mut steps): (Vec<f64>, f64, f64) = (Vec::with_capacity(values.len()), 0.0, 0.0);
        for (id, value) in values.iter().enumerate() {
            sizes.push(match value.source {
                Source::Operand(index) if self.operands[index] > 0.0 => self.operands[index].log2(),
                Source::Operand(_) => 0.0,
                Source::Redistribute { input } => sizes[input],
                Source::Unary { input, .. } => known(id).unwrap_or(sizes[input] + self.growth(id, input)),
                Source::Contract { left, right, .. } => {
                    let expected = sizes[left] + sizes[right] + self.growth(id, left);
                    let size = known(id);
                    if let Some(size) = size {
                        (excess, steps) = (excess + size - expected, steps + 1.0);
                    }
                    size.unwrap_or(expected + (excess / f64::max(steps, 1.0)).clamp(-self.medium, self.medium))
                }
            });
        }
        let mut corrected = vec![0; values.len()];
        self.sums_with(|id, inputs| {
            let most = i64::from(self.most);
            let own = (-sizes[self.ends[id]].round() as i64 - inputs).clamp(-most, most);
            corrected[id] = own as i32;
            own
        });
        corrected
    }

    /// The expected logarithm of the factor by which sums of products of random signs exceed the products.
    fn growth(&self, id: usize, input: usize) -> f64 {
        let (from, to) = (&self.plan.values[input], &self.plan.values[id].labels);
        let summed = from.labels.iter().zip(&from.shape).filter(|(label, _)| !to.contains(label));
        summed.map(|(_, &extent)| (extent.max(1) as f64).log2()).sum::<f64>() / 2.0
    }
}
