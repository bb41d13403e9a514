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
use super::select::{Indices, Selection};
use super::sum::Tracked;
use super::ways::{Choice, Way, What};

/// What elements of the result should be.
pub struct Comparison<'a> {
    tree: &'a Tree,
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
    pub fn new(config: &'a RunConfig) -> Result<Comparison<'a>> {
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
            out,
            summed: labels.into_iter().filter(|label| !out.contains(label)).collect(),
            evaluator: Evaluator::new(tree, sources, way.evaluation),
            prior,
            way,
        })
    }

    /// How many elements of the local blocks of the part that begins at `corner` were compared, and their largest error.
    ///
    /// # Errors
    /// A file cannot be read again, or memory runs out.
    pub fn part<T: Element>(&self, part: &DistTensor<T>, corner: &[usize]) -> Result<(usize, f64)> {
        let (mut checked, mut worst) = (0, 0.0f64);
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
            let (count, error) = self.compare(&selected, &bounds, got)?;
            checked += count;
            worst = worst.max(error);
        }
        Ok((checked, worst))
    }

    /// These elements of a block: how many, and their largest error.
    fn compare(
        &self,
        selected: &[Vec<Indices>],
        bounds: &Bounds,
        got: impl Fn(&[usize]) -> Complex<f64> + Sync,
    ) -> Result<(usize, f64)> {
        let (mut checked, mut worst) = (0, 0.0f64);
        let mut jobs = selected.iter().flat_map(|indices| self.jobs(indices));
        let Way { at_a_time, together, .. } = self.way;
        let mut sum: Option<Vec<Tracked>> = None;
        loop {
            let wave: Vec<Job> = jobs.by_ref().take(together).collect();
            if wave.is_empty() {
                return Ok((checked, worst));
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
                    checked += wanted.len();
                    worst = worst.max(self.errors(&job.selection, wanted, bounds, &got)?);
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

    /// The largest error of a piece, which should be this.
    fn errors(
        &self,
        piece: &Selection,
        wanted: Vec<Tracked>,
        bounds: &Bounds,
        got: &(impl Fn(&[usize]) -> Complex<f64> + Sync),
    ) -> Result<f64> {
        let prior = self.prior.as_ref().map(|prior| prior.fetch(self.out, piece, self.out)).transpose()?;
        // Where the indices of each dimension are in the block.
        let local = |(label, range): (&Label, &std::ops::Range<usize>)| -> Result<Vec<usize>> {
            let mut all = memory(room_for(piece.len(*label)))?;
            all.extend(piece.of(*label).runs().flat_map(|(_, run)| run).map(|index| index - range.start));
            Ok(all)
        };
        let local = self.out.iter().zip(bounds).map(local).collect::<Result<Vec<_>>>()?;
        let errors =
            wanted.into_par_iter().enumerate().with_min_len(1 << 8).map_init(Vec::new, |at, (place, wanted)| {
                let onto = prior.as_ref().map_or_else(Tracked::default, |prior| prior.values[place]);
                index(place, &local, at);
                error(got(at), wanted.add(onto))
            });
        Ok(errors.reduce(|| 0.0, f64::max))
    }
}

/// |got - want| / (sum of |products|).
fn error(got: Complex<f64>, want: Tracked) -> f64 {
    let off = (got - want.value).norm();
    match (off == 0.0, off.is_nan()) {
        (true, _) => 0.0,
        // Operands with NaN or infinity have results that are no number either.
        (_, true) if !want.value.is_finite() => 0.0,
        (_, true) => f64::INFINITY,
        // 0 / 0 is above; a number where there should be none is infinitely wrong.
        _ if off.is_infinite() => f64::INFINITY,
        _ => off / want.magnitude,
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
