//! Compares elements of blocks, or a sample of them, with reference values.
//!
//! Only pieces of the reference are stored.

use einsum_dist::dims::{Label, distinct};
use einsum_dist::distribution::{Bounds, Intervals};
use einsum_dist::memory::room_for;
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{DistTensor, Element, Error};
use num_complex::Complex;
use rayon::prelude::*;

use super::super::Result;
use super::super::config::RunConfig;
use super::super::failure::memory;
use super::along_tree::Evaluator;
use super::budget;
use super::cost::Evaluation;
use super::fetch::Source;
use super::limits::{self, Limits, OperandLimits};
use super::select::Selection;
use super::strategy::{Choice, ComparedElements, Strategy};
use super::sum::{Total, Tracked};
use super::verdict::{Tally, judge};

const MAX_OPERATIONS: f64 = 1e11;

/// A check of minutes is refused if more memory makes it faster by more than this.
const MIN_SPEEDUP: f64 = 10.0;

pub struct Comparison<'a> {
    tree: &'a Tree,
    limits: Limits,
    out: &'a [Label],
    summed: Vec<Label>,
    sources: Vec<Source<'a>>,
    prior: Option<Source<'a>>,
    choice: Choice<'a>,
    /// A power of 2, by which elements are to be multiplied.
    pub exponent: i64,
}

pub struct Pass<'a> {
    pub limits: Limits,
    evaluator: Evaluator<'a>,
    strategy: Strategy,
}

struct Job {
    /// The piece's indices, and those of summed labels that this job covers.
    selection: Selection,
    summands: usize,
    last: bool,
}

impl<'a> Comparison<'a> {
    pub fn new(config: &'a RunConfig, limits: Limits) -> Result<Comparison<'a>> {
        let tree = &config.tree;
        let sources = (0..tree.operands).map(|operand| Source::new(config, operand)).collect::<Result<_>>()?;
        let prior = config.args.accumulate.as_deref().map(Source::file).transpose()?;
        let out = &tree.nodes[tree.root()].labels;
        let leaves = tree.nodes.iter().filter(|node| matches!(node.step, Step::Leaf { .. }));
        let labels = distinct(&leaves.flat_map(|node| node.labels.iter().copied()).collect::<Vec<_>>());
        let choice = Choice::new(
            &config.plan,
            tree,
            &limits,
            config.check_bytes,
            rayon::current_num_threads(),
            config.args.seed,
        );
        Ok(Comparison {
            tree,
            limits,
            out,
            summed: labels.into_iter().filter(|label| !out.contains(label)).collect(),
            sources,
            prior,
            choice,
            exponent: 0,
        })
    }

    /// `scaled`: the largest values of operands in a run with scaled values.
    ///
    /// # Errors
    /// If there is too little memory for a product, or a slow check would be much faster with more.
    pub fn first_pass(&self, scaled: Option<&[f64]>) -> Result<Pass<'a>> {
        // A product of many scaled operands may underflow.
        let directly = self.choice.directly && (scaled.is_none() || limits::steps(self.tree) < 2);
        let strategy = Choice { directly, ..self.choice }.strategy().ok_or_else(|| {
            let (least, most) = (budget::least(self.tree), self.choice.most);
            let missing = (least as f64 - most).max(0.0);
            Error::Usage(format!("--check needs {least} bytes beside the run, {missing:.0} more than there are"))
        })?;
        self.in_time(&strategy)?;
        let limits = if scaled.is_some() { self.limits.scaled() } else { self.limits };
        let exponents = scaled.map_or_else(|| vec![0; self.tree.operands], exponents);
        let evaluator = Evaluator::new(self.tree, &limits, strategy.evaluation, exponents, scaled.is_some());
        let unordered = limits.unordered && strategy.evaluation == Evaluation::Directly;
        Ok(Pass { limits: Limits { unordered, ..limits }, evaluator, strategy })
    }

    fn in_time(&self, strategy: &Strategy) -> Result<()> {
        if strategy.operations <= MAX_OPERATIONS {
            return Ok(());
        }
        let enough = Choice { most: f64::INFINITY, ..self.choice };
        match enough.strategy() {
            Some(quick) if quick.operations < strategy.operations / MIN_SPEEDUP => Err(Error::Usage(format!(
                "--check would take {:.0e} operations in the {:.0} bytes that the run leaves it, and {:.0e} in {:.0} bytes: \
                 raise --memory-limit",
                strategy.operations, self.choice.most, quick.operations, quick.bytes.ceil()
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// A second pass along the tree, with finite operands scaled to at most about 1. `None` if too costly or pointless.
    pub fn second_pass(&self, first: &Pass<'_>, largest: &[f64], operand_limits: &OperandLimits) -> Option<Pass<'a>> {
        if !operand_limits.finite && first.strategy.evaluation == Evaluation::AlongTree {
            return None;
        }
        let exponents = if operand_limits.finite { exponents(largest) } else { vec![0; largest.len()] };
        let strategy = self.choice.along_tree(&first.strategy)?;
        let absolute = if operand_limits.finite { operand_limits.absolute } else { self.limits.absolute };
        let limits = Limits { absolute, unordered: self.limits.unordered && operand_limits.finite, ..self.limits };
        let evaluator = Evaluator::new(self.tree, &limits, strategy.evaluation, exponents, false);
        Some(Pass { limits, evaluator, strategy })
    }

    pub fn part<T: Element>(&self, pass: &Pass<'_>, part: &DistTensor<T>, corner: &[usize]) -> Result<Tally> {
        let mut tally = Tally::default();
        for (region, block) in part.first_replicas().filter(|(region, _)| !region.is_empty()) {
            let place = |(dim, start): (&Intervals, &usize)| {
                let range = dim.ranges().first().cloned().unwrap_or(0..0);
                start + range.start..start + range.end
            };
            let bounds: Bounds = region.dims().iter().zip(corner).map(place).collect();
            let got = |local: &[usize]| block[local].to_c64();
            let selected: Vec<Vec<Intervals>> = match &pass.strategy.elements {
                ComparedElements::All => vec![bounds.iter().map(|range| Intervals::from(range.clone())).collect()],
                ComparedElements::Batches(batches) => {
                    let inside = |batch: &Vec<Intervals>| {
                        batch
                            .iter()
                            .zip(&bounds)
                            .map(|(indices, range)| indices.intersect(&Intervals::from(range.clone())))
                            .collect::<Vec<_>>()
                    };
                    let inside = batches.iter().map(inside);
                    inside.filter(|batch| !batch.iter().any(Intervals::is_empty)).collect()
                }
            };
            tally = tally.merge(self.compare(pass, &selected, &bounds, got)?);
        }
        Ok(tally)
    }

    pub fn largest_operands(&self) -> Result<Vec<f64>> {
        self.sources.iter().map(Source::largest).collect()
    }

    fn compare(
        &self,
        pass: &Pass<'_>,
        selected: &[Vec<Intervals>],
        bounds: &Bounds,
        got: impl Fn(&[usize]) -> Complex<f64> + Sync,
    ) -> Result<Tally> {
        let mut tally = Tally::default();
        let mut jobs = selected.iter().flat_map(|indices| self.jobs(pass, indices));
        let Strategy { concurrent_pieces, pieces_per_wave, .. } = pass.strategy;
        let mut sum: Vec<Total> = Vec::new();
        loop {
            let wave: Vec<Job> = jobs.by_ref().take(pieces_per_wave).collect();
            if wave.is_empty() {
                return Ok(tally);
            }
            let elements = |job: &Job, single_threaded| {
                pass.evaluator.elements(&self.sources, &job.selection, single_threaded, self.exponent)
            };
            let summands = if concurrent_pieces > 1 {
                wave.par_iter().map(|job| elements(job, true)).collect::<Result<Vec<_>>>()?
            } else {
                wave.iter().map(|job| elements(job, false)).collect::<Result<Vec<_>>>()?
            };
            for (job, summand) in wave.iter().zip(summands) {
                let reference = match (job.summands, sum.is_empty()) {
                    (1, _) => summand,
                    (_, true) => {
                        sum = memory(room_for(summand.len()))?;
                        sum.extend(summand.into_iter().map(Total::from));
                        continue;
                    }
                    (_, false) => {
                        sum.iter_mut().zip(summand).for_each(|(sum, summand)| sum.add(summand.into()));
                        if !job.last {
                            continue;
                        }
                        std::mem::take(&mut sum).iter().map(Total::number).collect()
                    }
                };
                tally = tally.merge(self.judged(pass, &job.selection, reference, bounds, &got)?);
            }
        }
    }

    fn jobs(&self, pass: &Pass<'_>, indices: &[Intervals]) -> impl Iterator<Item = Job> {
        let every = |&extent: &usize| Intervals::from(0..extent);
        let mut whole = Selection(self.tree.extents.iter().map(every).collect());
        self.out.iter().zip(indices).for_each(|(label, indices)| whole.0[label.0 as usize] = indices.clone());
        let pieces = whole.cuts(self.out, &pass.strategy.sizes);
        let sums = whole.cuts(&self.summed, &pass.strategy.sizes);
        let count = sums.count();
        (0..pieces.count()).flat_map(move |piece| {
            let piece = whole.part(&pieces, piece);
            let sums = sums.clone();
            (0..count).map(move |sum| Job {
                selection: piece.part(&sums, sum),
                summands: count,
                last: sum + 1 == count,
            })
        })
    }

    fn judged(
        &self,
        pass: &Pass<'_>,
        piece: &Selection,
        reference: Vec<Tracked>,
        bounds: &Bounds,
        got: &(impl Fn(&[usize]) -> Complex<f64> + Sync),
    ) -> Result<Tally> {
        let prior = self.prior.as_ref().map(|prior| prior.fetch(self.out, piece, self.out)).transpose()?;
        let local = |(label, range): (&Label, &std::ops::Range<usize>)| -> Result<Vec<usize>> {
            let mut all = memory(room_for(piece.len(*label)))?;
            all.extend(piece.of(*label).ranges().iter().cloned().flatten().map(|index| index - range.start));
            Ok(all)
        };
        let local = self.out.iter().zip(bounds).map(local).collect::<Result<Vec<_>>>()?;
        let exponent = pass.evaluator.exponent(self.exponent);
        let judged =
            reference.into_par_iter().enumerate().with_min_len(1 << 8).map_init(Vec::new, |at, (place, reference)| {
                let reference = reference.reference(exponent);
                let reference = match &prior {
                    Some(prior) => reference.with_prior(prior.values[place].value, pass.limits.relative),
                    None => reference,
                };
                index(place, &local, at);
                let got = got(at);
                at.iter_mut().zip(bounds).for_each(|(at, range)| *at += range.start);
                judge(&pass.limits, got, reference, at)
            });
        Ok(judged.reduce(Tally::default, Tally::merge))
    }
}

fn exponents(largest: &[f64]) -> Vec<i32> {
    largest.iter().map(|&largest| if largest > 0.0 { largest.log2().floor() as i32 } else { 0 }).collect()
}

/// `place` is a row-major position; `dims` lists each dimension's indices.
fn index(mut place: usize, dims: &[Vec<usize>], at: &mut Vec<usize>) {
    at.clear();
    at.resize(dims.len(), 0);
    for (at, dim) in at.iter_mut().zip(dims).rev() {
        *at = dim[place % dim.len()];
        place /= dim.len();
    }
}
