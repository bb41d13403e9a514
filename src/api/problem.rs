//! Parses the text of an expression and makes a plan from it.

use einsum_parser::{Expression, parse};

use super::{Error, Result};
use crate::exec::ResolvedKernel;
use crate::machine::Machine;
use crate::plan::{Plan, PlanOptions, SearchLimit};
use crate::tree::{Einsums, Tree};

/// A parsed expression, from which a [`Plan`] is made.
///
/// ```
/// use einsum_dist::{Machine, PlanOptions, Problem};
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![64, 32], vec![32, 48]])?;
/// assert_eq!(shaped.output_shape(), [64, 48]);
/// // A plan is made without data, for any number of ranks.
/// let plan = shaped.plan(&Machine::new(1000, 36), &PlanOptions::default())?;
/// assert_eq!(plan.ranks(), 1000);
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Problem {
    expression: Expression,
}

/// An expression whose operands have known shapes.
#[derive(Debug, Clone)]
pub struct Shaped {
    text: String,
    einsums: Einsums,
}

impl Problem {
    /// Parses an expression, which can be an einsum, a bracketed tree of einsums, or an einsum_ir tree. Cost: O(length
    /// of the text).
    ///
    /// # Errors
    /// If the text is not an expression ([`Error::Parse`]).
    pub fn parse(text: &str) -> Result<Problem> {
        Ok(Problem { expression: parse(text)? })
    }

    /// The parsed expression, with its terms as written.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Resolves the expression for operands with these shapes. `shapes` lists the operands in the order of their terms.
    /// A shape has one extent for each label in its term, and one for each dimension that `...` stands for. An extent
    /// of 1 is broadcast to the extent of the same label in other operands.
    ///
    /// # Errors
    /// If the number of operands, the number of dimensions of an operand, or an extent does not match the expression
    /// ([`Error::Shape`]).
    pub fn shapes(&self, shapes: &[Vec<usize>]) -> Result<Shaped> {
        let einsums = Einsums::new(&self.expression, shapes).map_err(Error::Shape)?;
        Ok(Shaped { text: self.expression.to_string(), einsums })
    }
}

impl Shaped {
    /// The einsums in the expression. An einsum with more than two operands has no contraction order yet.
    pub fn einsums(&self) -> &Einsums {
        &self.einsums
    }

    /// Returns the contraction tree that a plan for this machine and these options would use.
    ///
    /// # Errors
    /// If the contraction path in the options is not valid for this expression ([`Error::Plan`]).
    pub fn tree(&self, machine: &Machine, options: &PlanOptions) -> Result<Tree> {
        Ok(Plan::tree(&self.einsums, machine, options)?)
    }

    /// Like [`Shaped::tree`], but also returns the limits that ended path searches early.
    ///
    /// # Errors
    /// The same as for [`Shaped::tree`].
    pub fn searched_tree(&self, machine: &Machine, options: &PlanOptions) -> Result<(Tree, Vec<SearchLimit>)> {
        Ok(Plan::searched_tree(&self.einsums, machine, options)?)
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> Vec<usize> {
        self.einsums.shape(self.einsums.output())
    }

    /// Makes a plan for a machine with any number of ranks, without data or communication. Kernels are planned for the
    /// instructions, caches and threads of this host, unless [`PlanOptions::target`] is set. Ranks on different kinds
    /// of hosts must set the same target.
    ///
    /// Cost: Einsums with more than two operands need a path search ([`PathChoice`](crate::plan::PathChoice)). Each
    /// step needs cost estimates for a few distributions and algorithms. If a memory limit requires slices, the planner
    /// repeats all of its work except the path search for every dimension that it tries to slice.
    ///
    /// # Errors
    /// If no plan satisfies the options ([`Error::Plan`]).
    pub fn plan(&self, machine: &Machine, options: &PlanOptions) -> Result<Plan> {
        self.plan_tree(&self.tree(machine, options)?, machine, options)
    }

    /// Like [`Shaped::plan`], but for a given tree of this expression.
    ///
    /// # Errors
    /// The same as for [`Shaped::plan`].
    pub fn plan_tree(&self, tree: &Tree, machine: &Machine, options: &PlanOptions) -> Result<Plan> {
        // A kernel that is not available on this host is an error only when the plan is compiled, which may happen on a
        // different host.
        let here = || ResolvedKernel::resolve(options.kernel, options.dtype).ok()?.target(machine.workers);
        let options = PlanOptions { target: options.target.or_else(here), ..options.clone() };
        Ok(Plan::new(&self.text, tree, machine, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{AlgorithmName, PathChoice, PipelineChoice};

    const HUGE: usize = usize::MAX;

    fn expressions() -> Vec<(&'static str, Vec<Vec<usize>>)> {
        let (rows, cube, large) = (1 << 40, 1 << 29, 1 << 58);
        vec![
            // The result has 2^80 elements.
            ("mk,kn->mn", vec![vec![rows, 2], vec![2, rows]]),
            // Every tensor can be addressed, but the contraction has 2^87 multiply-adds.
            ("mk,kn->mn", vec![vec![cube, cube]; 2]),
            ("mk,kn->mn", vec![vec![large, 1], vec![1, 1]]),
            ("mk,kn->mn", vec![vec![1, large], vec![large, 1]]),
            ("mk,kn->mn", vec![vec![HUGE, 0], vec![0, HUGE]]),
            ("bmk,bkn->bmn", vec![vec![large, 1, 1]; 2]),
            ("i,i->", vec![vec![HUGE]; 2]),
            ("i,i->", vec![vec![large]; 2]),
            ("i,j->ij", vec![vec![HUGE]; 2]),
            ("ii->", vec![vec![HUGE, HUGE]]),
            ("i->", vec![vec![large]]),
            ("ij->ji", vec![vec![cube, cube]]),
            ("ij,jk,kl,lm->im", vec![vec![HUGE, HUGE]; 4]),
            ("ij,jk,kl,lm->im", vec![vec![0, HUGE], vec![HUGE, 0], vec![0, HUGE], vec![HUGE, 0]]),
            ("[ij,jk->ik],kl->il", vec![vec![cube, cube]; 3]),
        ]
    }

    /// Tests that planning returns a plan or an error for any extents, and that every plan can compute all of its
    /// predictions.
    #[test]
    fn extents_that_no_memory_holds() {
        let forced = AlgorithmName::ALL.map(|name| PlanOptions { algorithm: Some(name), ..PlanOptions::default() });
        let more = [
            PlanOptions::default(),
            PlanOptions { memory_limit: Some(0), ..PlanOptions::default() },
            PlanOptions { memory_limit: Some(u64::MAX), in_parts: true, ..PlanOptions::default() },
            PlanOptions { pipeline: PipelineChoice::Of { batches: HUGE, groups: HUGE }, ..PlanOptions::default() },
            PlanOptions { path: PathChoice::Optimal, constant: vec![0], accumulate: true, ..PlanOptions::default() },
            PlanOptions { constant: vec![HUGE], ..PlanOptions::default() },
            PlanOptions { path: PathChoice::Explicit(vec![vec![0, HUGE]]), ..PlanOptions::default() },
        ];
        for (text, shapes) in expressions() {
            let Ok(shaped) = Problem::parse(text).unwrap().shapes(&shapes) else { continue };
            for options in more.iter().chain(&forced) {
                for (ranks, workers) in [(1, 1), (4, 3)] {
                    if let Ok(plan) = shaped.plan(&Machine::new(ranks, workers), options) {
                        let values = (plan.seconds(), plan.total_gflop(), plan.peak_bytes(0), plan.roundings());
                        assert!(
                            values.0 >= 0.0 && plan.explain().to_string().contains("predicted"),
                            "{text} {shapes:?}"
                        );
                    }
                }
            }
        }
        let (text, shapes) = &expressions()[0];
        let error =
            Problem::parse(text).unwrap().shapes(shapes).unwrap().plan(&Machine::default(), &PlanOptions::default());
        assert_eq!(error.unwrap_err().to_string(), "tensor `mn` has more elements than a machine can address");
    }

    #[test]
    fn machines_that_cannot_be_planned_for() {
        let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![64, 64], vec![64, 64]]).unwrap();
        for (machine, says) in [
            (Machine::new(0, 1), "a plan needs at least one rank and one worker"),
            (Machine::new(100_000, 1), "plans are made for at most 32768 ranks, not for 100000"),
            (Machine::new(HUGE, HUGE), "plans are made for at most 32768 ranks, not for 18446744073709551615"),
            (Machine::new(1, HUGE), "the machine cannot be planned for: workers is 18446744073709551615"),
            (Machine { flops: f64::NAN, ..Machine::new(2, 1) }, "the machine cannot be planned for: flops is NaN"),
            (
                Machine { link_bandwidth: 0.0, ..Machine::new(2, 1) },
                "the machine cannot be planned for: link_bandwidth is",
            ),
            (
                Machine { ranks_per_node: 0, ..Machine::new(2, 1) },
                "the machine cannot be planned for: ranks_per_node is 0",
            ),
        ] {
            let error = shaped.plan(&machine, &PlanOptions::default()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
