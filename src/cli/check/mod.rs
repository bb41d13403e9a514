//! `--check`: elements of the output once more, in double precision and slowly, from the operands.
//!
//! Whole outputs where that takes few operations, else a sample spread over the output. What an element should be comes
//! from one sum over all dimensions of the expression at once, which shares nothing with the plan but labels and extents,
//! or, where that takes more operations, from intermediates along the tree; samples share these, in batches, where each by
//! itself would take too long. Every rank looks at blocks of its own, a part of the result after the other, and
//! reads or makes the slices of the operands that it needs.
//!
//! | file | what |
//! |---|---|
//! | `cost`, `ways`, `budget` | what a check costs, the cheapest way, the memory that it has |
//! | `select`, `fetch` | which indices take part, and the elements of operands with these |
//! | `along_tree`, `nest`, `sum` | elements of the result in double precision |
//! | `compare` | these with what the run made |
//! | `limits`, `verdict`, `overflow` | how far elements may be off, which are right, what is said of numbers beyond the type |

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
mod sum;
mod verdict;
mod ways;

use einsum_dist::plan::CheckReport;
use einsum_dist::{DistTensor, Element, World};

use super::Result;
use super::config::RunConfig;
use super::run::gather;
use super::start::agree;
use compare::{Comparison, Look};
use limits::{Limits, Reach};
pub use overflow::Overflow;
use verdict::Tally;

/// Compares a result with what it should be, part by part.
pub struct Check<'a> {
    world: &'a World,
    config: &'a RunConfig,
    comparison: Comparison<'a>,
    limits: Limits,
    first: Look<'a>,
    /// What the operands make possible, and a second look where there is one, once that was asked for.
    operands: Option<(Reach, Option<Look<'a>>)>,
    /// Of all ranks, in the parts up to now.
    tally: Tally,
}

impl<'a> Check<'a> {
    /// Reads the headers of files. Collective.
    ///
    /// # Errors
    /// A file cannot be read, or there is too little memory.
    pub fn new(world: &'a World, config: &'a RunConfig) -> Result<Check<'a>> {
        let limits = Limits::new(&config.plan, &config.tree);
        let comparison = agree(world, Comparison::new(config, limits))?;
        let first = agree(world, comparison.first())?;
        let tally = Tally { bound: limits.relative, ..Tally::default() };
        Ok(Check { world, config, comparison, limits, first, operands: None, tally })
    }

    /// Compares the part of the result that begins at `corner`; says whether all is well up to now. Collective.
    ///
    /// # Errors
    /// A file cannot be read again.
    pub fn part<T: Element>(&mut self, part: &DistTensor<T>, corner: &[usize]) -> Result<bool> {
        let mut found = self.look(&self.first, part, corner)?;
        if found.is_open() {
            let (reach, again) = self.operands()?;
            // What is infinite because operands are, and right, needs no other look.
            let unclear = found.is_unclear(&self.limits, &reach) && (reach.finite || !found.is_right());
            let look = match again.as_ref().filter(|_| unclear) {
                Some(again) => {
                    found = self.look(again, part, corner)?;
                    again
                }
                None => &self.first,
            };
            found.settle(&look.limits, &reach);
            self.operands = Some((reach, again));
        }
        let known = std::mem::take(&mut self.tally);
        self.tally = if found.checked > 0 { known.merge(found) } else { known };
        Ok(self.tally.is_right())
    }

    /// What all ranks find. Collective.
    fn look<T: Element>(&self, look: &Look<'_>, part: &DistTensor<T>, corner: &[usize]) -> Result<Tally> {
        let tally = agree(self.world, self.comparison.part(look, part, corner))?;
        let all = gather(self.world, &tally.numbers(corner.len()))?;
        Ok(all.iter().map(|numbers| Tally::of_numbers(numbers)).fold(Tally::default(), Tally::merge))
    }

    /// What the operands make possible, the same on every rank, and a second look; to be put back. Collective.
    fn operands(&mut self) -> Result<(Reach, Option<Look<'a>>)> {
        if let Some(known) = self.operands.take() {
            return Ok(known);
        }
        let largest = agree(self.world, self.comparison.largest_operands())?;
        let reach = Reach::new(&self.config.tree, &self.limits, &largest);
        let again = self.comparison.again(&self.first, &largest, &reach);
        // Ranks have as many threads as their machine, so some may have no time for it: then none looks again.
        let all = gather(self.world, &[f64::from(u8::from(again.is_some()))])?;
        let again = again.filter(|_| all.iter().all(|has| *has == [1.0]));
        Ok((reach, again))
    }

    /// What was found in the parts up to now.
    pub fn report(&self) -> CheckReport {
        let Tally { checked, error, bound, .. } = self.tally;
        // A number where there is none, or none where there should be one.
        let max_error = if self.tally.lost + self.tally.spilled > 0 { f64::INFINITY } else { error };
        CheckReport { checked, max_error, bound, ok: self.tally.is_right() }
    }

    /// The overflow, if there is one.
    pub fn overflow(&self) -> Option<Overflow> {
        Overflow::new(self.config, &self.tally, &self.limits)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::Args;
    use super::ways::SAMPLE;
    use super::*;

    /// Checks a result that one process computes, with one element off by `off`.
    fn checked(arguments: &[&str], off: f32) -> CheckReport {
        let first = |block: &mut ndarray::ArrayViewMutD<'_, f32>| {
            let place = vec![0; block.ndim()];
            block[place.as_slice()] += off;
        };
        changed(arguments, first)
    }

    /// Checks a result that one process computes, with something done to it.
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

    /// Eight tensors of 3 to 5 of 14 labels: 2 * 10^13 products at once, 2 * 10^7 along the tree.
    #[test]
    fn a_network_of_many_labels_takes_no_time() {
        let started = std::time::Instant::now();
        let arguments = ["abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc", "-s9,b=8,d=8,g=10"];
        let right = checked(&arguments, 0.0);
        assert!(right.ok && right.checked == 81, "{right:?}");
        assert!(!checked(&arguments, 1e8).ok);
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    /// Elements of long trees are a tiny part of their absolute products.
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

    /// Within little memory elements come from small pieces, and are the same ones.
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
