//! Parses an expression and plans it.

use einsum_parser::{Expression, parse};

use super::{Error, Result, World};
use crate::exec::ResolvedKernel;
use crate::machine::Machine;
use crate::plan::{Plan, PlanOptions, PlanOrigin, SearchedTree};
use crate::tree::{Einsums, Tree};

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Problem {
    expression: Expression,
}

/// An expression with the operands' shapes.
#[derive(Debug, Clone)]
pub struct Shaped {
    text: String,
    einsums: Einsums,
}

impl Problem {
    /// Parses an einsum, a bracketed tree of einsums, or an einsum_ir tree. Cost: O(length of the text).
    ///
    /// # Errors
    /// If the text is no expression ([`Error::Parse`]).
    pub fn parse(text: &str) -> Result<Problem> {
        Ok(Problem { expression: parse(text)? })
    }

    /// The parsed expression, with its terms as written.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Resolves the expression for the operands' shapes, in order. A shape has an extent for each label in its term and
    /// each dimension of `...`; 1 is broadcast.
    ///
    /// # Errors
    /// If the number of operands, an operand's number of dimensions, or an extent does not match ([`Error::Shape`]).
    pub fn shapes(&self, shapes: &[Vec<usize>]) -> Result<Shaped> {
        let einsums = Einsums::new(&self.expression, shapes).map_err(Error::Shape)?;
        Ok(Shaped { text: self.expression.to_string(), einsums })
    }
}

impl Shaped {
    /// The einsums, without contraction orders yet.
    pub fn einsums(&self) -> &Einsums {
        &self.einsums
    }

    /// The contraction tree for this machine and these options.
    ///
    /// # Errors
    /// If the options' contraction path is invalid for this expression ([`Error::Plan`]).
    pub fn tree(&self, machine: &Machine, options: &PlanOptions) -> Result<Tree> {
        Ok(Plan::tree(&self.einsums, machine, options)?)
    }

    /// Like [`Shaped::tree`], but also returns what the path searches did.
    ///
    /// # Errors
    /// Those of [`Shaped::tree`].
    pub fn searched_tree(&self, machine: &Machine, options: &PlanOptions) -> Result<SearchedTree> {
        Ok(Plan::searched_tree(&self.einsums, machine, options)?)
    }

    /// The same expression with other extents, which are functions of each dimension's name and extent. Extents of 1 that
    /// are broadcast have names of their own.
    #[must_use]
    pub fn with_extents(&self, extent: impl Fn(&str, usize) -> usize) -> Shaped {
        let mut shaped = self.clone();
        let Einsums { names, extents, .. } = &mut shaped.einsums;
        extents.iter_mut().zip(names).for_each(|(old, name)| *old = extent(name, *old));
        shaped
    }

    pub(super) fn origin(&self, searched: &SearchedTree, machine: &Machine, options: &PlanOptions) -> PlanOrigin {
        PlanOrigin::new((&self.text, &self.einsums), machine, options, searched)
    }

    /// See [`PlanOrigin::found`].
    pub(super) fn tree_of(
        &self,
        origin: &PlanOrigin,
        machine: &Machine,
        options: &PlanOptions,
    ) -> Option<(SearchedTree, Machine, PlanOptions)> {
        origin.found((&self.text, &self.einsums), machine, options)
    }

    /// The result's shape.
    pub fn output_shape(&self) -> Vec<usize> {
        self.einsums.shape(self.einsums.output())
    }

    /// Makes a plan for any number of ranks, without data or communication. Kernels are planned for this host, unless
    /// [`PlanOptions::target`] is set, which ranks on different kinds of hosts must set alike.
    ///
    /// Cost: einsums with more than two operands need a path search ([`PathChoice`](crate::plan::PathChoice)). Each
    /// step needs estimates for a few distributions and algorithms, again for every dimension that the planner tries to
    /// slice.
    ///
    /// # Errors
    /// If no plan satisfies the options ([`Error::Plan`]).
    pub fn plan(&self, machine: &Machine, options: &PlanOptions) -> Result<Plan> {
        self.plan_tree(&self.tree(machine, options)?, machine, options)
    }

    /// Like [`Shaped::plan`], with a memory limit if the world has too little memory. Collective.
    pub(super) fn plan_within_memory(&self, world: &World, machine: &Machine, options: &PlanOptions) -> Result<Plan> {
        // A product has no intermediates to slice.
        let slices = self.einsums.operands > 2;
        let options = if slices { world.with_free_memory(options)? } else { options.clone() };
        let searched = self.searched_tree(machine, &options)?;
        let plan = self.plan_tree(&searched.tree, machine, &options)?;
        let limited = world.within_memory(&plan, &searched, &options)?;
        Ok(limited.and_then(|options| self.plan(machine, &options).ok()).unwrap_or(plan))
    }

    /// Like [`Shaped::plan`], but for a given tree of this expression.
    ///
    /// # Errors
    /// Those of [`Shaped::plan`].
    pub fn plan_tree(&self, tree: &Tree, machine: &Machine, options: &PlanOptions) -> Result<Plan> {
        // A missing kernel is an error only when the plan is compiled.
        let here = || ResolvedKernel::resolve(options.kernel, options.dtype).ok()?.target(machine.workers);
        let options = PlanOptions { target: options.target.or_else(here), ..options.clone() };
        Ok(Plan::new(&self.text, tree, machine, &options)?)
    }
}

#[cfg(test)]
mod tests;
