//! Elements of blocks and what they should be: all of them, or a sample.
//!
//! Invariant: a comparison holds at most what its [`Way`] says, beside the block that it looks at.

use einsum_dist::dims::Label;
use einsum_dist::dist::{Bounds, Intervals};
use einsum_dist::memory::room_for;
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{DistTensor, Element, Error};
use num_complex::Complex;
use rayon::prelude::*;

use super::super::Result;
use super::super::config::RunConfig;
use super::along_tree::Evaluator;
use super::budget::{self, memory};
use super::fetch::Source;
use super::limits::Limits;
use super::select::{Indices, Selection};
use super::sum::Tracked;
use super::verdict::{Tally, judge};
use super::ways::{Choice, Way, What};

/// What elements of the result should be.
pub struct Comparison<'a> {
    tree: &'a Tree,
    limits: Limits,
    out: &'a [Label],
    /// Labels that are summed.
    summed: Vec<Label>,
    evaluator: Evaluator<'a>,
    /// What the result was added onto.
    prior: Option<Source<'a>>,
    way: Way,
}

/// Some summands of a piece of the result.
struct Job {
    /// Of the piece, with those indices of summed labels that the summands have.
    selection: Selection,
    /// The piece has all of its summands then.
    last: bool,
}

impl<'a> Comparison<'a> {
    /// Reads the headers of files.
    ///
    /// # Errors
    /// A file cannot be read, or there is too little memory for single products.
    pub fn new(config: &'a RunConfig, limits: Limits) -> Result<Comparison<'a>> {
        let tree = &config.tree;
        let sources = (0..tree.operands).map(|operand| Source::new(config, operand)).collect::<Result<_>>()?;
        let prior = config.accumulate.as_deref().map(Source::file).transpose()?;
        let out = &tree.nodes[tree.root()].labels;
        let leaves = tree.nodes.iter().filter(|node| matches!(node.step, Step::Leaf { .. }));
        let labels = super::cost::distinct(&leaves.flat_map(|node| node.labels.iter().copied()).collect::<Vec<_>>());
        let choice = Choice {
            tree,
            flops: config.plan.dtype.flops_per_multiply_add() as f64,
            most: config.check_bytes as f64,
            threads: rayon::current_num_threads(),
            seed: config.seed,
        };
        let way = choice.way().ok_or_else(|| {
            let (least, most) = (budget::least(tree), config.check_bytes);
            Error::Usage(format!(
                "--check needs {least} bytes beside the run, {} more than there are",
                least.saturating_sub(most)
            ))
        })?;
        Ok(Comparison {
            tree,
            limits,
            out,
            summed: labels.into_iter().filter(|label| !out.contains(label)).collect(),
            evaluator: Evaluator::new(tree, sources, way.evaluation, limits.complex),
            prior,
            way,
        })
    }

    /// What was found in the local blocks of the part that begins at `corner`.
    ///
    /// # Errors
    /// A file cannot be read again, or memory runs out.
    pub fn part<T: Element>(&self, part: &DistTensor<T>, corner: &[usize]) -> Result<Tally> {
        let mut tally = Tally::default();
        for (region, block) in part.first_replicas().filter(|(region, _)| !region.is_empty()) {
            let place = |(dim, start): (&Intervals, &usize)| {
                let range = dim.ranges().first().cloned().unwrap_or(0..0);
                start + range.start..start + range.end
            };
            let bounds: Bounds = region.dims().iter().zip(corner).map(place).collect();
            let got = |local: &[usize]| block[local].to_c64();
            let selected: Vec<Vec<Indices>> = match &self.way.what {
                What::All => vec![bounds.iter().map(|range| Indices::from(range.clone())).collect()],
                What::Batches(batches) => {
                    let inside = |batch: &Vec<Indices>| {
                        batch.iter().zip(&bounds).map(|(indices, range)| indices.within(range)).collect::<Vec<_>>()
                    };
                    let inside = batches.iter().map(inside);
                    inside.filter(|batch| batch.iter().all(|indices| indices.len() > 0)).collect()
                }
            };
            tally = tally.merge(self.compare(&selected, &bounds, got)?);
        }
        Ok(tally)
    }

    /// The largest absolute value of each operand. Reads all of them.
    ///
    /// # Errors
    /// There is no memory, or a file cannot be read again.
    pub fn largest_operands(&self) -> Result<Vec<f64>> {
        self.evaluator.largest_operands()
    }

    /// These elements of a block.
    fn compare(
        &self,
        selected: &[Vec<Indices>],
        bounds: &Bounds,
        got: impl Fn(&[usize]) -> Complex<f64> + Sync,
    ) -> Result<Tally> {
        let mut tally = Tally::default();
        let mut jobs = selected.iter().flat_map(|indices| self.jobs(indices));
        let Way { at_a_time, together, .. } = self.way;
        let mut sum: Option<Vec<Tracked>> = None;
        loop {
            let wave: Vec<Job> = jobs.by_ref().take(together).collect();
            if wave.is_empty() {
                return Ok(tally);
            }
            let summands = if at_a_time > 1 {
                wave.par_iter().map(|job| self.evaluator.elements(&job.selection, true)).collect::<Result<Vec<_>>>()?
            } else {
                let each = wave.iter().map(|job| self.evaluator.elements(&job.selection, false));
                each.collect::<Result<Vec<_>>>()?
            };
            for (job, summand) in wave.iter().zip(summands) {
                let wanted = match sum.take() {
                    Some(mut sum) => {
                        sum.iter_mut().zip(summand).for_each(|(sum, summand)| *sum = sum.add(summand));
                        sum
                    }
                    None => summand,
                };
                if job.last {
                    tally = tally.merge(self.judged(&job.selection, wanted, bounds, &got)?);
                } else {
                    sum = Some(wanted);
                }
            }
        }
    }

    /// Pieces of a selection of the result, and the pieces of the sums of each.
    fn jobs(&self, indices: &[Indices]) -> impl Iterator<Item = Job> {
        let every = |&extent: &usize| Indices::from(0..extent);
        let mut whole = Selection(self.tree.extents.iter().map(every).collect());
        self.out.iter().zip(indices).for_each(|(label, indices)| whole.0[label.0 as usize] = indices.clone());
        let pieces = whole.cuts(self.out, &self.way.sizes);
        let sums = whole.cuts(&self.summed, &self.way.sizes);
        let count = sums.count();
        (0..pieces.count()).flat_map(move |piece| {
            let piece = whole.part(&pieces, piece);
            let sums = sums.clone();
            (0..count).map(move |sum| Job { selection: piece.part(&sums, sum), last: sum + 1 == count })
        })
    }

    /// A piece, which should be this.
    fn judged(
        &self,
        piece: &Selection,
        wanted: Vec<Tracked>,
        bounds: &Bounds,
        got: &(impl Fn(&[usize]) -> Complex<f64> + Sync),
    ) -> Result<Tally> {
        let prior = self.prior.as_ref().map(|prior| prior.fetch(self.out, piece, self.out)).transpose()?;
        // Where the indices of each dimension are in the block.
        let local = |(label, range): (&Label, &std::ops::Range<usize>)| -> Result<Vec<usize>> {
            let mut all = memory(room_for(piece.len(*label)))?;
            all.extend(piece.of(*label).runs().flat_map(|(_, run)| run).map(|index| index - range.start));
            Ok(all)
        };
        let local = self.out.iter().zip(bounds).map(local).collect::<Result<Vec<_>>>()?;
        let judged =
            wanted.into_par_iter().enumerate().with_min_len(1 << 8).map_init(Vec::new, |at, (place, wanted)| {
                let onto = prior.as_ref().map_or_else(Tracked::default, |prior| prior.values[place]);
                index(place, &local, at);
                let got = got(at);
                at.iter_mut().zip(bounds).for_each(|(at, range)| *at += range.start);
                judge(&self.limits, got, wanted.add(onto), at)
            });
        Ok(judged.reduce(Tally::default, Tally::merge))
    }
}

/// The index at a row-major place, of dimensions that have these indices.
fn index(mut place: usize, dims: &[Vec<usize>], at: &mut Vec<usize>) {
    at.clear();
    at.resize(dims.len(), 0);
    for (at, dim) in at.iter_mut().zip(dims).rev() {
        *at = dim[place % dim.len()];
        place /= dim.len();
    }
}
