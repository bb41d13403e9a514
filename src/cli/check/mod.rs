//! `--check`: elements of the output once more, in double precision and slowly, from the operands.
//!
//! Whole outputs where that takes few operations, else a sample spread over the output. What an element should be comes
//! from one sum over all dimensions of the expression at once, which shares nothing with the plan but labels and extents;
//! only where that would take hours are intermediates computed, along the tree: whole ones where that takes few
//! operations, else those of the sample. Every rank looks at blocks of its own, and reads or makes the slices of the
//! operands that it needs.

mod fetch;
mod sum;

use einsum_dist::dims::Label;
use einsum_dist::kernel::error_bound;
use einsum_dist::plan::CheckReport;
use einsum_dist::tree::{Step, Tree};
use einsum_dist::{DistTensor, Element, World};
use num_complex::Complex;
use rayon::prelude::*;

use super::Result;
use super::config::RunConfig;
use super::run::{gather, owned};
use super::start::agree;
use fetch::Source;
use sum::{Term, Tracked};

/// Operations up to which all elements are checked.
const QUICK: f64 = 1e9;

/// Elements of a sample.
const SAMPLE: usize = 1024;

/// Products of a sample beyond which intermediates are computed.
const PATIENCE: f64 = 2e10;

/// Operand elements that are held at once when all elements are checked.
const HELD: usize = 1 << 27;

/// Elements of the largest intermediate when all elements are checked along the tree.
const INTERMEDIATE: usize = 1 << 24;

/// Elements of an intermediate that are worth more than one thread.
const SHARED: usize = 1 << 10;

/// Compares the output with what it should be. Collective.
///
/// # Errors
/// A file cannot be read again.
pub fn check<T: Element>(
    world: &World,
    config: &RunConfig,
    prior: Option<&DistTensor<T>>,
    out: &DistTensor<T>,
) -> Result<CheckReport> {
    let compared = agree(world, Comparison::new(config).and_then(|comparison| comparison.local(world, prior, out)))?;
    let bound = error_bound(T::DTYPE, config.plan.roundings(), config.plan.operands as u32);
    let all = gather(world, &[compared.0 as f64, compared.1])?;
    let checked = all.iter().map(|rank| rank[0] as u64).sum();
    let max_error = all.iter().map(|rank| rank[1]).fold(0.0, f64::max);
    Ok(CheckReport { checked, max_error, bound, ok: max_error <= bound })
}

struct Comparison<'a> {
    tree: &'a Tree,
    out: &'a [Label],
    sources: Vec<Source<'a>>,
    /// Per operand its labels.
    terms: Vec<&'a [Label]>,
    seed: u64,
}

impl<'a> Comparison<'a> {
    fn new(config: &'a RunConfig) -> Result<Comparison<'a>> {
        let tree = &config.tree;
        let mut terms: Vec<&[Label]> = vec![&[]; tree.operands];
        for node in &tree.nodes {
            if let Step::Leaf { operand } = node.step {
                terms[operand] = &node.labels;
            }
        }
        let sources = (0..tree.operands).map(|operand| Source::new(config, operand)).collect::<Result<_>>()?;
        Ok(Comparison { tree, out: &tree.nodes[tree.root()].labels, sources, terms, seed: config.seed })
    }

    /// How many elements of the local blocks were compared, and their largest error.
    fn local<T: Element>(
        &self,
        world: &World,
        prior: Option<&DistTensor<T>>,
        out: &DistTensor<T>,
    ) -> Result<(usize, f64)> {
        let whole = self.whole(T::DTYPE.flops_per_multiply_add() as f64)?;
        let whole = whole.as_ref().map(|terms| sum::Sum::new(self.tree, terms, self.out));
        let samples = if whole.is_none() { self.samples() } else { Vec::new() };
        let (mut checked, mut worst) = (0, 0.0f64);
        let mut priors = prior.map(|prior| prior.blocks());
        for ((_, first), (region, block)) in owned(world, out.distribution(), out.shape()).zip(out.blocks()) {
            let before = priors.as_mut().and_then(Iterator::next).map(|(_, block)| block);
            if !first || region.is_empty() {
                continue;
            }
            let corner: Vec<usize> =
                region.dims().iter().map(|dim| dim.ranges().first().map_or(0, |range| range.start)).collect();
            let error = |at: &[usize], wanted: Tracked| {
                let local: Vec<usize> = at.iter().zip(&corner).map(|(at, start)| at - start).collect();
                let onto = before.as_ref().map_or(Complex::ZERO, |before| before[local.as_slice()].to_c64());
                error(block[local.as_slice()].to_c64(), wanted.add(Tracked::from(onto)))
            };
            let extents = region.extents();
            let inside = |at: &[usize]| {
                at.iter().zip(&corner).zip(&extents).all(|((at, start), length)| (*start..start + length).contains(at))
            };
            let errors: Vec<f64> = match &whole {
                Some(sum) => {
                    let local = (0..region.volume()).into_par_iter().map(|place| {
                        let mut at = index(place, &extents);
                        at.iter_mut().zip(&corner).for_each(|(at, start)| *at += start);
                        error(&at, sum.at(&at))
                    });
                    local.collect()
                }
                None => {
                    let mine: Vec<&Vec<usize>> = samples.iter().filter(|at| inside(at)).collect();
                    let errors = mine.into_par_iter().map(|at| Ok(error(at, self.sample(at)?)));
                    errors.collect::<einsum_dist::Result<_>>()?
                }
            };
            checked += errors.len();
            worst = errors.into_iter().fold(worst, f64::max);
        }
        Ok((checked, worst))
    }

    /// What all elements are sums over, where all are checked: all operands, or one term that is the whole result.
    fn whole(&self, flops: f64) -> Result<Option<Vec<Term>>> {
        let held: usize = self.sources.iter().map(Source::elements).fold(0, usize::saturating_add);
        let directly = self.products(self.tree_labels()) * flops <= QUICK;
        let along_tree = !self.is_patient() && self.products_along_tree() * flops <= QUICK && self.is_narrow();
        if !(directly || along_tree) || held > HELD {
            return Ok(None);
        }
        let terms =
            self.sources.iter().zip(&self.terms).map(|(source, &labels)| source.fetch(self.tree, labels, &[], &[]));
        let terms = terms.collect::<einsum_dist::Result<_>>()?;
        Ok(Some(if directly { terms } else { vec![self.along_tree(terms, &[])] }))
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

    /// Places all over the output, in the order of its elements: all of them where they are few.
    fn samples(&self) -> Vec<Vec<usize>> {
        let shape = self.tree.shape(self.out);
        let volume: usize = shape.iter().product();
        let count = volume.min(SAMPLE);
        let place = |sample: usize| {
            // One place in each of `count` equal pieces, so no two are the same.
            let (start, end) = (bound(volume, count, sample), bound(volume, count, sample + 1));
            let unit = f64::midpoint(einsum_dist::io::random::value(self.seed, u32::MAX, sample as u64).0, 1.0);
            start + ((unit * (end - start) as f64) as usize).min(end - start - 1)
        };
        (0..count).map(|sample| index(place(sample), &shape)).collect()
    }

    /// What one element should be.
    fn sample(&self, at: &[usize]) -> einsum_dist::Result<Tracked> {
        let terms = self.sources.iter().zip(&self.terms);
        let terms = terms.map(|(source, &labels)| source.fetch(self.tree, labels, self.out, at));
        let terms = terms.collect::<einsum_dist::Result<Vec<Term>>>()?;
        let terms = if self.is_patient() { terms } else { vec![self.along_tree(terms, self.out)] };
        Ok(sum::Sum::new(self.tree, &terms, &[]).at(&[]))
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
            let sum = sum::Sum::new(self.tree, &inputs, &free);
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::Args;
    use super::*;

    /// Checks a result that one process computes, with one element off by `off`.
    fn checked(arguments: &[&str], off: f32) -> CheckReport {
        let world = World::single();
        let arguments = ["einsum-dist", "-t1"].iter().chain(arguments);
        let config = RunConfig::new(&world, Args::parse_from(arguments)).unwrap();
        let operand = |index: usize| {
            let value = config.plan.operand(index);
            DistTensor::<f32>::random(
                &world,
                &config.plan.operand_shape(index),
                &value.distribution,
                config.seed,
                index as u32,
            )
        };
        let operands: Vec<_> = (0..config.plan.operands).map(operand).collect();
        let output = config.plan.output();
        let mut out = DistTensor::zeros(&world, &config.plan.output_shape(), &output.distribution);
        let mut program = world.compile::<f32>(&config.plan).unwrap();
        program.run_dist(1.0, &operands.iter().collect::<Vec<_>>(), 0.0, &mut out).unwrap();
        out.blocks_mut().for_each(|(_, mut block)| block[vec![0; output.shape.len()].as_slice()] += off);
        check(&world, &config, None, &out).unwrap()
    }

    #[test]
    fn a_wrong_element_is_found() {
        assert!(checked(&["mk,kn->mn", "-s30"], 0.0).ok);
        let wrong = checked(&["mk,kn->mn", "-s30"], 0.01);
        assert!(!wrong.ok && wrong.max_error > wrong.bound, "{wrong:?}");
        assert_eq!(wrong.checked, 900);
    }

    #[test]
    fn a_sample_covers_a_large_output() {
        let sample = checked(&["mk,kn->mn", "-s", "m=1024,k=500,n=1024"], 0.0);
        assert!(sample.ok && sample.checked as usize == SAMPLE, "{sample:?}");
    }

    #[test]
    fn long_chains_are_followed_along_the_tree() {
        // All dimensions at once would be 40^7 products.
        let arguments = ["ab,bc,cd,de,ef,fg,gh->ah", "-s40,a=1,h=1"];
        assert!(checked(&arguments, 0.0).ok);
        assert!(!checked(&arguments, 1e6).ok);
        // So many elements that only a sample is followed.
        let sample = checked(&["ab,bc,cd,de,ef,fg,gh->ah", "-s40,a=3600,h=3600"], 0.0);
        assert!(sample.ok && sample.checked as usize == SAMPLE, "{sample:?}");
    }

    #[test]
    fn networks_with_few_operations_are_checked_whole() {
        // 2^84 products at once, a chain of small ones along the tree.
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
        let terms: Vec<String> = letters.windows(3).map(|window| window.iter().collect()).collect();
        let text = format!("{}->abYZ", terms.join(","));
        let arguments = [text.as_str(), "-s2,a=40,b=30,Y=20,Z=30"];
        let right = checked(&arguments, 0.0);
        assert!(right.ok && right.checked == 40 * 30 * 20 * 30, "{right:?}");
        assert!(!checked(&arguments, 1e6).ok);
    }
}
