//! From text to a plan.

use einsum_parser::{Expression, parse};

use super::{Error, Result};
use crate::machine::Machine;
use crate::plan::{Options, Plan};
use crate::tree::Tree;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Problem {
    expression: Expression,
}

/// An expression over operands of known shapes.
#[derive(Debug, Clone)]
pub struct Shaped {
    text: String,
    tree: Tree,
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
        let tree = Tree::new(&self.expression, shapes).map_err(Error::Shape)?;
        Ok(Shaped { text: self.expression.to_string(), tree })
    }
}

impl Shaped {
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Plans for a machine. Pure: no data, no communication, any number of ranks.
    ///
    /// # Errors
    /// [`Error::Plan`] where what the options fix cannot be had.
    pub fn plan(&self, machine: &Machine, options: &Options) -> Result<Plan> {
        Ok(Plan::new(&self.text, &self.tree, machine, options)?)
    }
}
