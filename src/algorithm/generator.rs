//! What every algorithm implements for its parameters, and what its candidates are generated from.
//!
//! Each algorithm implements [`Generator`] in its own file and lists its candidates there; [`super::registry`] lists the
//! algorithms. Invariant: the planner knows an algorithm through these two alone. Deliberately absent: choosing among
//! candidates ([`crate::plan`]).

use super::contraction::Contraction;
use super::cost::Contracted;
use super::reorder::Reorder;
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::Distribution;
use crate::dtype::Dtype;
use crate::machine::Machine;
use crate::schedule::Builder;
use crate::schedule::verify::Order;

/// The distributions of a contraction's tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distributions {
    pub left: Distribution,
    pub right: Distribution,
    pub out: Distribution,
}

/// An algorithm with its parameters.
pub trait Generator {
    /// The dimensions that it cuts among ranks; `--cut` names the first, or all.
    fn cuts(&self) -> Vec<Label>;

    /// Its parameters as plans print them, in parentheses after the name.
    fn parameters(&self, name: &dyn Fn(Label) -> String) -> Vec<String> {
        self.cuts().into_iter().map(name).collect()
    }

    /// The ranks along each dimension, for reports. `ranks` take part.
    fn grid(&self, ranks: usize) -> Vec<(Label, usize)> {
        self.cuts().into_iter().take(1).map(|label| (label, ranks)).collect()
    }

    /// Whether the parameters are dimensions of the kinds that it cuts.
    fn applies(&self, kinds: &Kinds) -> bool;

    /// The distributions that it requires and produces on `ranks` ranks, for tensors with these labels; `None` if any
    /// will do.
    fn distributions(&self, tensors: [&[Label]; 3], ranks: usize) -> Option<Distributions>;

    /// Whether one rank holds a whole tensor.
    fn holds_whole(&self) -> bool {
        false
    }

    /// The order in which it adds summands of out on `ranks` ranks.
    fn order(&self, _contraction: &Contraction, _ranks: usize) -> Order {
        Order::Ascending
    }

    /// Appends the tasks of the builder's rank.
    fn generate(&self, builder: &mut Builder, contraction: &Contraction);

    /// Predicted seconds on the busiest rank, with the operands already distributed as required.
    fn seconds(&self, contracted: &Contracted) -> f64;

    /// The words that a rank receives, in closed form: from the extents of tiles alone, not from a schedule. `None` if
    /// they depend on the distributions. `ranks` take part.
    fn words_received(&self, contraction: &Contraction, rank: usize, ranks: usize) -> Option<u64>;
}

/// What candidates are generated from.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub kinds: &'a Kinds,
    /// The dimensions of out.
    pub out: &'a [Label],
    /// Extents by label.
    pub extents: &'a [usize],
    pub machine: &'a Machine,
    pub dtype: Dtype,
    /// Dimensions that must not be distributed.
    pub uncut: &'a [Label],
    /// Maximum elements that a rank may hold.
    pub memory: Option<f64>,
    /// Algorithms that need a particular number of ranks may leave others idle.
    pub idle: bool,
    /// The user asked for this algorithm.
    pub forced: bool,
    /// The user prescribed a distribution.
    pub fixed: bool,
    /// The order in which `slicing` contracts.
    pub reorder: Reorder,
}

impl Setting<'_> {
    pub fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.machine.ranks
    }

    /// Every pair of a dimension of kind m and one of kind n.
    pub fn pairs(&self) -> impl Iterator<Item = (Label, Label)> {
        self.kinds.m.iter().flat_map(|&m| self.kinds.n.iter().map(move |&n| (m, n)))
    }
}

/// Whether a label is of one of these kinds.
pub fn is(kinds: &Kinds, label: Label, allowed: &[Kind]) -> bool {
    kinds.of(label).is_some_and(|kind| allowed.contains(&kind))
}

/// The distribution of a tensor that is cut evenly along one of its dimensions.
///
/// # Panics
/// When the tensor lacks the dimension: the planner makes algorithms from the kinds.
pub fn cut(labels: &[Label], label: Label, ranks: usize) -> Distribution {
    let dim = labels.iter().position(|&l| l == label);
    Distribution::cut(dim.unwrap_or_else(|| panic!("the tensor has the dimension that it is cut along")), ranks)
}
