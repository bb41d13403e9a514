//! From text to a plan.

use einsum_parser::{Expression, parse};

use super::{Error, Result};
use crate::exec::Contractor;
use crate::machine::Machine;
use crate::plan::{Options, Plan};
use crate::tree::{Einsums, Tree};

/// A parsed expression.
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
    /// Parses an expression.
    ///
    /// # Errors
    /// [`Error::Parse`] where the text is none.
    ///
    /// ```
    /// use einsum_dist::{Machine, Options, Problem};
    /// let plan = Problem::parse("mk,kn->mn")?
    ///     .shapes(&[vec![64, 32], vec![32, 48]])?
    ///     .plan(&Machine::new(4, 1), &Options::default())?;
    /// println!("{}", plan.explain());
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Problem> {
        Ok(Problem { expression: parse(text)? })
    }

    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Resolves the expression over operands of these shapes, one per operand in written order.
    ///
    /// # Errors
    /// [`Error::Shape`] where a number of operands, a rank or an extent does not fit.
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

    /// The shape of the result.
    pub fn output_shape(&self) -> Vec<usize> {
        self.einsums.shape(self.einsums.output())
    }

    /// Plans for a machine. No data, no communication, any number of ranks. What the kernels of a rank have is that of this
    /// machine unless the options say otherwise; ranks on machines of several kinds must be told the same.
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
