//! `--check`, which recomputes output elements in double precision (`docs/check.md`).

mod along_tree;
pub mod budget;
mod compare;
mod cost;
mod fetch;
mod limits;
#[cfg(test)]
mod mutation_tests;
mod nest;
mod select;
mod strategy;
mod sum;
mod verdict;

use einsum_dist::report::CheckReport;
use einsum_dist::{DistTensor, Dtype, Element, World};

use super::Result;
use super::config::RunConfig;
use super::start::{agree, gather};
use super::units::counted;
use compare::{Comparison, Pass};
use limits::{Limits, OperandLimits};
use verdict::Tally;

#[derive(Debug, Clone, PartialEq)]
pub struct Overflow {
    /// Without a full stop.
    pub message: String,
    /// Whether the result is infinite exactly where the reference exceeds the type; otherwise it is meaningless.
    pub is_right: bool,
}

pub struct Check<'a> {
    world: &'a World,
    config: &'a RunConfig,
    comparison: Comparison<'a>,
    limits: Limits,
    is_scaled: bool,
    first: Pass<'a>,
    /// Limits from the operands, and any second pass; `None` until needed.
    operands: Option<(OperandLimits, Option<Pass<'a>>)>,
    tally: Tally,
}

impl<'a> Check<'a> {
    /// Reads the headers of files. Collective.
    pub fn new(world: &'a World, config: &'a RunConfig) -> Result<Check<'a>> {
        let limits = Limits::new(&config.plan, &config.tree);
        let comparison = agree(world, Comparison::new(config, limits))?;
        let largest = if config.args.exponent { agree(world, comparison.largest_operands())? } else { vec![f64::NAN] };
        let scaled = Some(largest.as_slice()).filter(|largest| largest.iter().all(|largest| largest.is_finite()));
        let first = agree(world, comparison.first_pass(scaled))?;
        let is_scaled = scaled.is_some();
        let tally = Tally { bound: limits.relative, ..Tally::default() };
        Ok(Check { world, config, comparison, limits, is_scaled, first, operands: None, tally })
    }

    /// Compares the part at `corner`, divided by 2^`exponent`. Returns whether all parts so far are correct.
    /// Collective.
    pub fn part<T: Element>(&mut self, part: &DistTensor<T>, corner: &[usize], exponent: i64) -> Result<bool> {
        self.comparison.exponent = exponent;
        let mut found = self.run_pass(&self.first, part, corner)?;
        if found.is_open() && !self.is_scaled {
            let (operand_limits, second) = self.operands()?;
            // Elements that are infinite because operands are need no second pass.
            let wrong = found.unclear > 0 || !found.is_right();
            let unclear = found.is_unclear(&self.limits, &operand_limits) && (operand_limits.finite || wrong);
            let pass = match second.as_ref().filter(|_| unclear) {
                Some(second) => {
                    found = self.run_pass(second, part, corner)?;
                    second
                }
                None => &self.first,
            };
            found.settle(&pass.limits, &operand_limits);
            self.operands = Some((operand_limits, second));
        }
        let known = std::mem::take(&mut self.tally);
        self.tally = if found.checked > 0 { known.merge(found) } else { known };
        Ok(self.tally.is_right())
    }

    fn run_pass<T: Element>(&self, pass: &Pass<'_>, part: &DistTensor<T>, corner: &[usize]) -> Result<Tally> {
        let tally = agree(self.world, self.comparison.part(pass, part, corner))?;
        let all = gather(self.world, &tally.numbers(corner.len()))?;
        Ok(all.iter().map(|numbers| Tally::of_numbers(numbers)).fold(Tally::default(), Tally::merge))
    }

    /// Moves `operands`, computed on first use, out of `self`; the caller must put them back. Collective.
    fn operands(&mut self) -> Result<(OperandLimits, Option<Pass<'a>>)> {
        if let Some(known) = self.operands.take() {
            return Ok(known);
        }
        let largest = agree(self.world, self.comparison.largest_operands())?;
        let operand_limits = OperandLimits::new(&self.config.tree, &self.limits, &largest);
        let second = self.comparison.second_pass(&self.first, &largest, &operand_limits);
        // If it is too slow on some ranks, none makes it.
        let all = gather(self.world, &[f64::from(u8::from(second.is_some()))])?;
        let second = second.filter(|_| all.iter().all(|has| *has == [1.0]));
        Ok((operand_limits, second))
    }

    pub fn report(&self) -> CheckReport {
        let Tally { checked, error, bound, .. } = self.tally;
        // Both count infinite or NaN elements that differ from their reference.
        let max_error = if self.tally.unexplained + self.tally.overflowed_sums > 0 { f64::INFINITY } else { error };
        CheckReport { checked, max_error, bound, ok: self.tally.is_right() }
    }

    pub fn overflow(&self) -> Option<Overflow> {
        let Check { config, tally, limits, .. } = self;
        let is_right = tally.overflowed_sums == 0;
        if tally.overflowed_sums + tally.overflowed == 0 || tally.unexplained > 0 {
            return None;
        }
        let dtype = config.plan.dtype;
        let place = tally.place.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let largest = match tally.largest {
            largest if largest.is_finite() && largest > 0.0 => format!("{largest:.1e}"),
            _ => "more than that".to_owned(),
        };
        let what = if is_right {
            let elements = counted(tally.overflowed as usize, "element");
            format!("{elements} of the result overflowed {dtype} and became infinite: [{place}] is {largest}")
        } else {
            let elements = counted(tally.overflowed_sums as usize, "element");
            format!(
                "sums overflowed {dtype} on the way to {elements} of the result, which are no numbers: those of \
                 absolute products before [{place}] may be {largest}"
            )
        };
        let advice = remedy(config);
        Some(Overflow { message: format!("{what}, the largest number is {:.1e}; {advice}", limits.largest), is_right })
    }
}

/// How to avoid a result outside its type's range.
pub fn remedy(config: &RunConfig) -> String {
    let scaled = if config.args.exponent { "" } else { "use --exponent, which keeps a scale apart" };
    let wider = match config.plan.dtype {
        Dtype::Float32 => "float64",
        Dtype::Complex64 => "complex128",
        Dtype::Float64 | Dtype::Complex128 if config.args.exponent => {
            return "scale the operands differently".to_owned();
        }
        Dtype::Float64 | Dtype::Complex128 => return scaled.to_owned(),
    };
    let wider = match config.args.operands.first() {
        None => format!("use --dtype {wider}"),
        Some(path) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            format!(
                "convert the operands to {wider}, as --dtype {wider} is for random ones only: \
                 np.save(\"{name}-{wider}.npy\", np.load(\"{name}.npy\").astype(np.{wider}))"
            )
        }
    };
    if config.args.exponent { wider } else { format!("{scaled}, or {wider}") }
}

#[cfg(test)]
mod tests;
