//! Elements of blocks and what they should be: all of them, or a sample.
//!
//! Invariant: beyond the slices of operands that it takes, a comparison holds [`AT_ONCE`] elements at most where each is one sum;
//! along the tree it holds the intermediates as well, of at most [`INTERMEDIATE`] elements each, which no plan counts.

use std::ops::Range;

use einsum_dist::dims::Label;
use einsum_dist::dist::{Bounds, Intervals, volume};
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{DistTensor, Element};
use num_complex::Complex;
use rayon::prelude::*;

use super::super::Result;
use super::super::config::RunConfig;
use super::fetch::Source;
use super::sum::{Sum, Term, Tracked};

/// Operations up to which all elements are checked.
const QUICK: f64 = 1e9;

/// Elements of a sample.
pub const SAMPLE: usize = 1024;

/// Products of a sample beyond which intermediates are computed.
const PATIENCE: f64 = 2e10;

/// Elements of the largest intermediate when all elements are checked along the tree.
const INTERMEDIATE: usize = 1 << 24;

/// Elements of an intermediate that are worth more than one thread.
const SHARED: usize = 1 << 10;

/// Operand elements up to which all elements are checked.
const HELD: usize = 1 << 27;

/// Elements of the result that are checked at a time.
const AT_ONCE: usize = 1 << 18;

/// What elements of the result should be.
pub struct Comparison<'a> {
    tree: &'a Tree,
    out: &'a [Label],
    sources: Vec<Source<'a>>,
    /// Per operand its labels.
    terms: Vec<&'a [Label]>,
    /// What the result was added onto.
    prior: Option<Source<'a>>,
    way: Way,
}

/// How much is checked, and how.
enum Way {
    /// All elements, each one sum over all dimensions.
    Directly,
    /// All elements, which are here: they come from intermediates along the tree.
    AlongTree(Term),
    /// These places all over the result.
    Sample(Vec<Vec<usize>>),
}

impl<'a> Comparison<'a> {
    /// Reads the headers of files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn new(config: &'a RunConfig) -> Result<Comparison<'a>> {
        let tree = &config.tree;
        let mut terms: Vec<&[Label]> = vec![&[]; tree.operands];
        for node in &tree.nodes {
            if let Step::Leaf { operand } = node.step {
                terms[operand] = &node.labels;
            }
        }
        let sources = (0..tree.operands).map(|operand| Source::new(config, operand)).collect::<Result<_>>()?;
        let prior = config.accumulate.as_deref().map(Source::file).transpose()?;
        let out = &tree.nodes[tree.root()].labels;
        let mut comparison = Comparison { tree, out, sources, terms, prior, way: Way::Directly };
        let flops = config.plan.dtype.flops_per_multiply_add() as f64;
        let held = comparison.sources.iter().map(Source::elements).fold(0, usize::saturating_add) <= HELD;
        let is_quick = |products: f64| held && products * flops <= QUICK;
        if is_quick(comparison.products(comparison.tree_labels())) {
            return Ok(comparison);
        }
        let along_tree = is_quick(comparison.products_along_tree()) && comparison.is_narrow();
        comparison.way = if along_tree && !comparison.is_patient() {
            Way::AlongTree(comparison.along_tree(comparison.fetch(|label| 0..tree.extent(label))?, &[]))
        } else {
            Way::Sample(samples(&tree.shape(out), config.seed))
        };
        Ok(comparison)
    }

    /// How many elements of the local blocks of the part that begins at `corner` were compared, and their largest error.
    ///
    /// # Errors
    /// A file cannot be read again.
    pub fn part<T: Element>(&self, part: &DistTensor<T>, corner: &[usize]) -> Result<(usize, f64)> {
        let (mut checked, mut worst) = (0, 0.0f64);
        for (region, block) in part.first_replicas().filter(|(region, _)| !region.is_empty()) {
            let place = |(dim, start): (&Intervals, &usize)| {
                let range = dim.ranges().first().cloned().unwrap_or(0..0);
                start + range.start..start + range.end
            };
            let bounds: Bounds = region.dims().iter().zip(corner).map(place).collect();
            let got = |at: &[usize]| {
                let local: Vec<usize> = at.iter().zip(&bounds).map(|(at, range)| at - range.start).collect();
                block[local.as_slice()].to_c64()
            };
            let (count, error) = match &self.way {
                Way::Directly => self.all(&bounds, got, |piece| self.sums(piece))?,
                Way::AlongTree(whole) => self.all(&bounds, got, |piece| Ok(self.part_of(whole, piece)))?,
                Way::Sample(samples) => self.some(samples, &bounds, got)?,
            };
            checked += count;
            worst = worst.max(error);
        }
        Ok((checked, worst))
    }

    /// All elements of a box: how many, and their largest error; `wanted` is what those of a piece should be.
    fn all(
        &self,
        bounds: &Bounds,
        got: impl Fn(&[usize]) -> Complex<f64> + Sync,
        wanted: impl Fn(&Bounds) -> einsum_dist::Result<Vec<Tracked>>,
    ) -> Result<(usize, f64)> {
        let mut worst = 0.0f64;
        for piece in pieces(bounds, AT_ONCE) {
            let wanted = wanted(&piece)?;
            let prior = self.prior.as_ref().map(|prior| prior.read(&piece)).transpose()?;
            let shape: Vec<usize> = piece.iter().map(ExactSizeIterator::len).collect();
            let errors = wanted.into_par_iter().enumerate().map(|(place, wanted)| {
                let onto = prior.as_ref().map_or_else(Tracked::default, |prior| prior[place]);
                let mut at = index(place, &shape);
                at.iter_mut().zip(&piece).for_each(|(at, range)| *at += range.start);
                error(got(&at), wanted.add(onto))
            });
            worst = worst.max(errors.reduce(|| 0.0, f64::max));
        }
        Ok((volume(bounds), worst))
    }

    /// The elements of a piece as sums over all dimensions.
    fn sums(&self, piece: &Bounds) -> einsum_dist::Result<Vec<Tracked>> {
        let terms = self.fetch(|label| {
            let place = self.out.iter().position(|&out| out == label);
            place.map_or(0..self.tree.extent(label), |place| piece[place].clone())
        })?;
        let sum = Sum::new(self.tree, &terms, self.out);
        let shape: Vec<usize> = piece.iter().map(ExactSizeIterator::len).collect();
        Ok((0..volume(piece)).into_par_iter().map(|place| sum.at(&index(place, &shape))).collect())
    }

    /// The elements of a piece of the whole result.
    fn part_of(&self, whole: &Term, piece: &Bounds) -> Vec<Tracked> {
        let sum = Sum::new(self.tree, std::slice::from_ref(whole), self.out);
        let shape: Vec<usize> = piece.iter().map(ExactSizeIterator::len).collect();
        let elements = (0..volume(piece)).into_par_iter().map(|place| {
            let mut at = index(place, &shape);
            at.iter_mut().zip(piece).for_each(|(at, range)| *at += range.start);
            sum.at(&at)
        });
        elements.collect()
    }

    /// Indices of all operands.
    fn fetch(&self, indices: impl Fn(Label) -> Range<usize> + Copy) -> einsum_dist::Result<Vec<Term>> {
        self.sources.iter().zip(&self.terms).map(|(source, &labels)| source.fetch(labels, indices)).collect()
    }

    /// The samples in a box: how many, and their largest error.
    fn some(
        &self,
        samples: &[Vec<usize>],
        bounds: &Bounds,
        got: impl Fn(&[usize]) -> Complex<f64> + Sync,
    ) -> Result<(usize, f64)> {
        let inside = |at: &&Vec<usize>| at.iter().zip(bounds).all(|(at, range)| range.contains(at));
        let mine: Vec<&Vec<usize>> = samples.iter().filter(inside).collect();
        let count = mine.len();
        let errors = mine.into_par_iter().map(|at| Ok(error(got(at), self.sample(at)?)));
        let errors = errors.collect::<einsum_dist::Result<Vec<f64>>>()?;
        Ok((count, errors.into_iter().fold(0.0, f64::max)))
    }

    /// The product of extents.
    fn products(&self, labels: impl Iterator<Item = Label>) -> f64 {
        labels.map(|label| self.tree.extent(label) as f64).product()
    }

    /// Products that the nodes of the tree sum, all together.
    fn products_along_tree(&self) -> f64 {
        let nodes = self.tree.nodes.iter().map(|node| match &node.step {
            Step::Leaf { .. } => 0.0,
            Step::Unary { input, .. } => self.products(self.tree.nodes[*input].labels.iter().copied()),
            Step::Contract { kinds, .. } => self.products(kinds.iter().map(|(label, _)| label)),
        });
        nodes.sum()
    }

    /// Whether intermediates may be held as what they are here, several times larger than they were.
    fn is_narrow(&self) -> bool {
        let mut nodes = self.tree.nodes.iter();
        nodes.all(|node| self.products(node.labels.iter().copied()) <= INTERMEDIATE as f64)
    }

    /// Whether every element of a sample may be one sum over all dimensions.
    fn is_patient(&self) -> bool {
        let summed = self.tree_labels().filter(|label| !self.out.contains(label));
        self.products(summed) * SAMPLE as f64 <= PATIENCE
    }

    /// Every label of the operands, once.
    fn tree_labels(&self) -> impl Iterator<Item = Label> {
        (0..self.tree.names.len() as u32).map(Label)
    }

    /// What one element should be.
    fn sample(&self, at: &[usize]) -> einsum_dist::Result<Tracked> {
        let indices = |label: Label| {
            let place = self.out.iter().position(|&out| out == label);
            place.map_or(0..self.tree.extent(label), |place| at[place]..at[place] + 1)
        };
        let terms = self.fetch(indices)?;
        let onto = match &self.prior {
            Some(prior) => prior.read(&at.iter().map(|&at| at..at + 1).collect::<Bounds>())?[0],
            None => Tracked::default(),
        };
        let terms = if self.is_patient() { terms } else { vec![self.along_tree(terms, self.out)] };
        Ok(Sum::new(self.tree, &terms, &[]).at(&[]).add(onto))
    }

    /// The result by way of intermediates, over all labels of the output but those that the leaves have fixed already.
    fn along_tree(&self, mut leaves: Vec<Term>, fixed: &[Label]) -> Term {
        let mut terms: Vec<Term> = Vec::with_capacity(self.tree.nodes.len());
        for node in &self.tree.nodes {
            let free: Vec<Label> = node.labels.iter().copied().filter(|label| !fixed.contains(label)).collect();
            // Every node has one consumer, so what it takes is not needed again.
            let mut take = |input: usize| std::mem::take(&mut terms[input]);
            let inputs = match &node.step {
                Step::Leaf { operand } => {
                    let leaf = std::mem::take(&mut leaves[*operand]);
                    terms.push(leaf);
                    continue;
                }
                Step::Unary { input, .. } => vec![take(*input)],
                Step::Contract { left, right, .. } => vec![take(*left), take(*right)],
            };
            let shape = self.tree.shape(&free);
            let sum = Sum::new(self.tree, &inputs, &free);
            let volume: usize = shape.iter().product();
            let value = |place| sum.at(&index(place, &shape));
            let values = if volume < SHARED {
                (0..volume).map(value).collect()
            } else {
                (0..volume).into_par_iter().map(value).collect()
            };
            terms.push(Term::dense(values, &free, &shape));
        }
        terms.pop().unwrap_or_default()
    }
}

/// Places all over a result, in the order of its elements: all of them where they are few.
fn samples(shape: &[usize], seed: u64) -> Vec<Vec<usize>> {
    let volume: usize = shape.iter().product();
    let count = volume.min(SAMPLE);
    let place = |sample: usize| {
        // One place in each of `count` equal pieces, so no two are the same.
        let (start, end) = (bound(volume, count, sample), bound(volume, count, sample + 1));
        let unit = f64::midpoint(einsum_dist::io::random::value(seed, u32::MAX, sample as u64).0, 1.0);
        start + ((unit * (end - start) as f64) as usize).min(end - start - 1)
    };
    (0..count).map(|sample| index(place(sample), shape)).collect()
}

/// Boxes of at most so many elements that make up a box, cut along its outer dimensions first.
fn pieces(bounds: &Bounds, most: usize) -> Vec<Bounds> {
    let (mut open, mut done) = (vec![bounds.clone()], Vec::new());
    while let Some(bounds) = open.pop() {
        let Some(dim) = bounds.iter().position(|range| range.len() > 1).filter(|_| volume(&bounds) > most) else {
            done.push(bounds);
            continue;
        };
        let Range { start, end } = bounds[dim];
        let middle = usize::midpoint(start, end);
        for half in [start..middle, middle..end] {
            let mut halved = bounds.clone();
            halved[dim] = half;
            open.push(halved);
        }
    }
    done
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

/// Start of piece `piece` of `count` nearly equal pieces.
fn bound(volume: usize, count: usize, piece: usize) -> usize {
    (volume as u128 * piece as u128 / count as u128) as usize
}

/// The index of a row-major place.
fn index(mut place: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &extent) in index.iter_mut().zip(shape).rev() {
        *at = place % extent;
        place /= extent;
    }
    index
}
