//! From text to a plan.

use einsum_parser::{Expression, parse};

use super::{Error, Result};
use crate::exec::Contractor;
use crate::machine::Machine;
use crate::plan::{Options, Plan, SearchLimit};
use crate::tree::{Einsums, Tree};

/// A parsed expression: the first step to a [`Plan`].
///
/// ```
/// use einsum_dist::{Machine, Options, Problem};
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![64, 32], vec![32, 48]])?;
/// assert_eq!(shaped.output_shape(), [64, 48]);
/// // The same for one rank and for thousands; there is no data yet.
/// let plan = shaped.plan(&Machine::new(1000, 36), &Options::default())?;
/// assert_eq!(plan.ranks(), 1000);
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Problem {
    expression: Expression,
}

/// An expression over operands of known shapes.
#[derive(Debug, Clone)]
pub struct Shaped {
    text: String,
    einsums: Einsums,
}

impl Problem {
    /// Parses an expression: an einsum, a tree of them in brackets, or an einsum_ir tree. Cost: linear in the text.
    ///
    /// # Errors
    /// [`Error::Parse`] where the text is none.
    pub fn parse(text: &str) -> Result<Problem> {
        Ok(Problem { expression: parse(text)? })
    }

    /// Its terms, as written.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Resolves the expression over operands of these shapes, one per operand in written order, each with an extent for
    /// every label of its term (and for what `...` stands for). An extent of 1 is repeated along the others' of that
    /// label.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of operands, of an operand's dimensions or an extent does not fit.
    pub fn shapes(&self, shapes: &[Vec<usize>]) -> Result<Shaped> {
        let einsums = Einsums::new(&self.expression, shapes).map_err(Error::Shape)?;
        Ok(Shaped { text: self.expression.to_string(), einsums })
    }
}

impl Shaped {
    /// The einsums, of which those of several operands have no order yet.
    pub fn einsums(&self) -> &Einsums {
        &self.einsums
    }

    /// The tree that a plan for this machine and these options is made of.
    ///
    /// # Errors
    /// [`Error::Plan`] where the path that the options ask for cannot be had.
    pub fn tree(&self, machine: &Machine, options: &Options) -> Result<Tree> {
        Ok(Plan::tree(&self.einsums, machine, options)?)
    }

    /// As [`Shaped::tree`], with the limits that ended searches for a path early.
    ///
    /// # Errors
    /// Those of [`Shaped::tree`].
    pub fn searched_tree(&self, machine: &Machine, options: &Options) -> Result<(Tree, Vec<SearchLimit>)> {
        Ok(Plan::searched_tree(&self.einsums, machine, options)?)
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> Vec<usize> {
        self.einsums.shape(self.einsums.output())
    }

    /// Plans for a machine. No data, no communication, any number of ranks. What the kernels of a rank have is that of this
    /// machine unless the options say otherwise; ranks on machines of several kinds must be told the same.
    ///
    /// Cost: a search for the path ([`PathChoice`](crate::plan::PathChoice)) where einsums have more than two operands,
    /// and prices of a few layouts and algorithms for each step. With a memory limit that asks for slices, all but the
    /// search again for every dimension that is tried.
    ///
    /// # Errors
    /// [`Error::Plan`] where what the options fix cannot be had.
    pub fn plan(&self, machine: &Machine, options: &Options) -> Result<Plan> {
        self.plan_tree(&self.tree(machine, options)?, machine, options)
    }

    /// As [`Shaped::plan`], for a tree of this expression.
    ///
    /// # Errors
    /// As [`Shaped::plan`].
    pub fn plan_tree(&self, tree: &Tree, machine: &Machine, options: &Options) -> Result<Plan> {
        // A kernel that is not here is refused when the plan is compiled, and that may be elsewhere.
        let here = || Contractor::resolve(options.kernel, options.dtype).ok()?.target(machine.workers);
        let options = Options { target: options.target.or_else(here), ..options.clone() };
        Ok(Plan::new(&self.text, tree, machine, &options)?)
    }
}
