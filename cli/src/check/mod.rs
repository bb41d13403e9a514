//! Implements `--check`, which recomputes elements of the output from the operands, slowly and in double precision.
//!
//! Checks all elements of the output if that needs few operations, otherwise a sample spread over the output. The
//! reference for an element is one sum over all dimensions of the expression. It uses nothing of the plan except labels
//! and extents, so that it is independent of mistakes in the plan. If such sums would cost much more than evaluating
//! the contraction tree, the reference is computed from intermediates along the tree. If computing each sampled element
//! separately would take too long, samples are computed in batches that share intermediates. Every rank checks its own
//! blocks, one part of the result at a time. It reads or generates the slices of the operands that it needs.
//!
//! | file | content |
//! |---|---|
//! | `cost`, `strategy`, `budget` | the cost of a check, the cheapest strategy, the memory budget |
//! | `select`, `fetch` | the selected indices, and the elements of operands at these indices |
//! | `along_tree`, `nest`, `sum` | elements of the result in double precision |
//! | `compare` | compares these elements with the elements of the run |
//! | `limits`, `verdict`, `overflow` | the allowed error, the verdict, the message about numbers beyond the type |

mod along_tree;
pub mod budget;
mod compare;
mod cost;
mod fetch;
mod limits;
#[cfg(test)]
mod mutations;
mod nest;
mod overflow;
mod select;
mod strategy;
mod sum;
mod verdict;

use einsum_dist::report::CheckReport;
use einsum_dist::{DistTensor, Element, World};

use super::Result;
use super::config::RunConfig;
use super::gather::gather;
use super::start::agree;
use compare::{Comparison, Pass};
use limits::{Limits, OperandLimits};
pub use overflow::Overflow;
use verdict::Tally;

/// Compares a result with its reference, part by part.
pub struct Check<'a> {
    world: &'a World,
    config: &'a RunConfig,
    comparison: Comparison<'a>,
    limits: Limits,
    first: Pass<'a>,
    /// Limits that depend on the operands, and the second pass if there is one; `None` until first needed.
    operands: Option<(OperandLimits, Option<Pass<'a>>)>,
    /// The findings of all ranks in all parts so far.
    tally: Tally,
}

impl<'a> Check<'a> {
    /// Prepares the check, and reads the headers of files for it. Collective.
    ///
    /// # Errors
    /// If a file cannot be read, or there is too little memory.
    pub fn new(world: &'a World, config: &'a RunConfig) -> Result<Check<'a>> {
        let limits = Limits::new(&config.plan, &config.tree);
        let comparison = agree(world, Comparison::new(config, limits))?;
        let first = agree(world, comparison.first_pass())?;
        let tally = Tally { bound: limits.relative, ..Tally::default() };
        Ok(Check { world, config, comparison, limits, first, operands: None, tally })
    }

    /// Compares the part of the result that begins at `corner`. Returns whether all parts compared so far are correct.
    /// Collective.
    ///
    /// # Errors
    /// If a file cannot be read again.
    pub fn part<T: Element>(&mut self, part: &DistTensor<T>, corner: &[usize]) -> Result<bool> {
        let mut found = self.run_pass(&self.first, part, corner)?;
        if found.is_open() {
            let (operand_limits, second) = self.operands()?;
            // Elements that are correctly infinite because operands are infinite need no second pass.
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

    /// Compares the part in one pass, and returns the combined findings of all ranks. Collective.
    fn run_pass<T: Element>(&self, pass: &Pass<'_>, part: &DistTensor<T>, corner: &[usize]) -> Result<Tally> {
        let tally = agree(self.world, self.comparison.part(pass, part, corner))?;
        let all = gather(self.world, &tally.numbers(corner.len()))?;
        Ok(all.iter().map(|numbers| Tally::of_numbers(numbers)).fold(Tally::default(), Tally::merge))
    }

    /// Moves the operand limits and the second pass out of `self`, and computes them on first use. The limits are the
    /// same on every rank. The caller must store both in `self` again. Collective.
    fn operands(&mut self) -> Result<(OperandLimits, Option<Pass<'a>>)> {
        if let Some(known) = self.operands.take() {
            return Ok(known);
        }
        let largest = agree(self.world, self.comparison.largest_operands())?;
        let operand_limits = OperandLimits::new(&self.config.tree, &self.limits, &largest);
        let second = self.comparison.second_pass(&self.first, &largest, &operand_limits);
        // The number of threads may differ between ranks, so a second pass may be too slow on some ranks. In that case,
        // no rank makes a second pass.
        let all = gather(self.world, &[f64::from(u8::from(second.is_some()))])?;
        let second = second.filter(|_| all.iter().all(|has| *has == [1.0]));
        Ok((operand_limits, second))
    }

    /// Returns a report of the findings in all parts so far.
    pub fn report(&self) -> CheckReport {
        let Tally { checked, error, bound, .. } = self.tally;
        // These two fields count infinite or NaN elements that differ from their reference, so the error is not finite.
        let max_error = if self.tally.unexplained + self.tally.overflowed_sums > 0 { f64::INFINITY } else { error };
        CheckReport { checked, max_error, bound, ok: self.tally.is_right() }
    }

    /// Returns the overflow, if there is one.
    pub fn overflow(&self) -> Option<Overflow> {
        Overflow::new(self.config, &self.tally, &self.limits)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::Args;
    use super::strategy::SAMPLE_ELEMENTS;
    use super::*;

    /// Computes a result on one process, adds `off` to one element, and checks it.
    fn checked(arguments: &[&str], off: f32) -> CheckReport {
        let first = |block: &mut ndarray::ArrayViewMutD<'_, f32>| {
            let place = vec![0; block.ndim()];
            block[place.as_slice()] += off;
        };
        changed(arguments, first)
    }

    /// Computes a result on one process, modifies it by `change`, and checks it.
    fn changed(arguments: &[&str], change: impl Fn(&mut ndarray::ArrayViewMutD<'_, f32>)) -> CheckReport {
        let world = World::single();
        let arguments = ["einsum-dist", "-t1", "--check"].iter().chain(arguments);
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
        out.blocks_mut().for_each(|(_, mut block)| change(&mut block));
        let mut check = Check::new(&world, &config).unwrap();
        check.part(&out, &vec![0; output.shape.len()]).unwrap();
        check.report()
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
        assert!(sample.ok && sample.checked as usize == SAMPLE_ELEMENTS, "{sample:?}");
    }

    #[test]
    fn long_chains_are_followed_along_the_tree() {
        // One sum over all dimensions would have 40^6 products.
        let arguments = ["ab,bc,cd,de,ef,fg,gh->ah", "-s40,a=1,h=1"];
        assert!(checked(&arguments, 0.0).ok);
        assert!(!checked(&arguments, 1e6).ok);
        // There are too many elements to check all of them.
        let sample = checked(&["ab,bc,cd,de,ef,fg,gh->ah", "-s40,a=3600,h=3600"], 0.0);
        assert!(sample.ok && sample.checked as usize == SAMPLE_ELEMENTS, "{sample:?}");
    }

    /// Each of the eight tensors has 3 to 5 of the 14 labels. The direct sum has 2 * 10^13 products, and an evaluation
    /// along the tree has 2 * 10^7.
    #[test]
    fn a_network_of_many_labels_takes_no_time() {
        let started = std::time::Instant::now();
        let arguments = ["abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc", "-s9,b=8,d=8,g=10"];
        let right = checked(&arguments, 0.0);
        assert!(right.ok && right.checked == 81, "{right:?}");
        assert!(!checked(&arguments, 1e8).ok);
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    /// Elements of long trees are tiny compared with the sums of their absolute products, so a loose error bound would
    /// accept zeros.
    #[test]
    fn wrong_results_of_trees_are_found() {
        let labels: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
        let chain = |steps: usize| {
            let terms: Vec<String> = labels[..steps + 2].windows(2).map(|pair| pair.iter().collect()).collect();
            format!("{}->{}{}", terms.join(","), labels[0], labels[steps + 1])
        };
        let network = "abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc".to_owned();
        for (text, sizes) in [(chain(3), "-s30"), (chain(10), "-s24"), (chain(40), "-s4,b=7"), (network, "-s6")] {
            let arguments = [text.as_str(), sizes];
            let right = changed(&arguments, |_| ());
            assert!(right.ok && right.max_error < 0.3 * right.bound, "{text}: {right:?}");
            assert!(!changed(&arguments, |block| block.fill(0.0)).ok, "{text}: zeros");
            assert!(!changed(&arguments, |block| block.mapv_inplace(|x| -x)).ok, "{text}: the other sign");
            assert!(!changed(&arguments, |block| block.mapv_inplace(|x| 1.5 * x)).ok, "{text}: half as much more");
            let swapped = changed(&arguments, |block| {
                let (one, other) = ([0, 0], [1, 1]);
                let kept = block[one.as_slice()];
                block[one.as_slice()] = block[other.as_slice()];
                block[other.as_slice()] = kept;
            });
            assert!(!swapped.ok, "{text}: two elements exchanged");
        }
    }

    /// Each slice adds only a few terms to the result, but there are many slices.
    #[test]
    fn bounds_of_slices_do_not_let_zeros_pass() {
        for (text, sizes, limit) in [
            ("[a,b->ab],b->a", "-sa=400,b=100000", "--memory-limit=1.7MB"),
            ("[a,b->ab],b->a", "-sa=3,b=100000", "--memory-limit=900kB"),
            ("[a,b->ba],b->a", "-sa=400,b=100000", "--memory-limit=1.7MB"),
        ] {
            let right = changed(&[text, sizes, limit], |_| ());
            assert!(right.ok && right.bound < 1e-3, "{text}: {right:?}");
            assert!(!changed(&[text, sizes, limit], |block| block.fill(0.0)).ok, "{text}: zeros");
        }
    }

    /// With a low memory limit, the same elements are computed in small pieces.
    #[test]
    fn little_memory_is_enough() {
        for limit in ["--memory-limit=60kB", "--memory-limit=2MB"] {
            let right = checked(&["mk,kn->mn", "-s40,k=50", limit], 0.0);
            assert!(right.ok && right.checked == 1600, "{limit}: {right:?}");
            assert!(!checked(&["mk,kn->mn", "-s40,k=50", limit], 0.01).ok, "{limit}");
        }
    }

    #[test]
    fn networks_with_few_operations_are_checked_whole() {
        // A direct sum would have more than 2^67 products. Along the tree, this is a chain of small contractions.
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
        let terms: Vec<String> = letters.windows(3).map(|window| window.iter().collect()).collect();
        let text = format!("{}->abYZ", terms.join(","));
        let arguments = [text.as_str(), "-s2,a=40,b=30,Y=20,Z=30"];
        let right = checked(&arguments, 0.0);
        assert!(right.ok && right.checked == 40 * 30 * 20 * 30, "{right:?}");
        assert!(!checked(&arguments, 1e6).ok);
    }
}
