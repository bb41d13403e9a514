//! Consumes the result's parts: norm, check and output file.

use einsum_dist::report::CheckReport;
use einsum_dist::{DistTensor, Element, NpyOutput, World};
use num_complex::Complex;

use super::Result;
use super::check::{Check, Overflow};
use super::config::RunConfig;
use super::norm::Norm;
use super::start::gather;

pub struct ResultSink<'a> {
    world: &'a World,
    config: &'a RunConfig,
    norm: Norm,
    check: Option<Check<'a>>,
    output: Option<NpyOutput>,
}

impl<'a> ResultSink<'a> {
    /// Prepares any requested check. Collective.
    pub fn new(world: &'a World, config: &'a RunConfig) -> Result<ResultSink<'a>> {
        let check = if config.args.check { Some(Check::new(world, config)?) } else { None };
        Ok(ResultSink { world, config, norm: Norm::default(), check, output: None })
    }

    /// Consumes the part at `corner`, divided by 2^`exponent`. Collective.
    pub fn consume<T: Element>(&mut self, part: &DistTensor<T>, corner: &[usize], exponent: i64) -> Result<()> {
        for (_, block) in part.first_replicas() {
            for element in &block {
                let Complex { re, im } = element.to_c64();
                self.norm.add(re);
                if T::DTYPE.is_complex() {
                    self.norm.add(im);
                }
            }
        }
        let ok = match &mut self.check {
            Some(check) => check.part(part, corner, exponent)?,
            None => true,
        };
        let Some(path) = self.config.args.output.as_ref().filter(|_| ok) else { return Ok(()) };
        let output = match self.output.take() {
            Some(output) => output,
            None => NpyOutput::create(self.world, path, T::DTYPE, &self.config.plan.output_shape())?,
        };
        Ok(self.output.insert(output).write(part, corner)?)
    }

    /// Returns the Frobenius norm (in double precision), the check's report, and any overflow; without errors, gives
    /// the output file its final name. Collective.
    pub fn end(self) -> Result<(f64, Option<CheckReport>, Option<Overflow>)> {
        let all = gather(self.world, &self.norm.numbers())?;
        let norm = Norm::of(all.iter().map(Vec::as_slice));
        let check = self.check.as_ref().map(Check::report);
        let overflow = self.check.as_ref().and_then(Check::overflow);
        if let (Some(output), true) = (self.output, check.is_none_or(|check| check.ok)) {
            output.commit()?;
        }
        Ok((norm, check, overflow))
    }
}
