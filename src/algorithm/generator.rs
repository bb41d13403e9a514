//! Defines [`Generator`], the trait of all algorithms' parameters, and [`Setting`], from which they generate their
//! candidates (parameters that they offer to the planner).
//!
//! Each algorithm has its own file, and [`super::registry`] lists them; [`crate::plan`] chooses among the candidates
//! only through the trait and the registry.

use super::contraction::Contraction;
use super::cost::Contracted;
use super::reorder::Reorder;
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::Distribution;
use crate::dtype::Dtype;
use crate::machine::Machine;
use crate::schedule::Builder;
use crate::schedule::verify::Order;

/// The distributions of the three tensors of a contraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distributions {
    pub left: Distribution,
    pub right: Distribution,
    pub out: Distribution,
}

/// An algorithm with its parameters.
pub trait Generator {
    /// The dimensions that the algorithm cuts among ranks; the user's `--cut` names the first, or all of them.
    fn cuts(&self) -> Vec<Label>;

    /// The parameters, which plans print in parentheses after the name.
    fn parameters(&self, name: &dyn Fn(Label) -> String) -> Vec<String> {
        self.cuts().into_iter().map(name).collect()
    }

    /// The number of ranks along each cut dimension, of `ranks` in total, for reports.
    fn grid(&self, ranks: usize) -> Vec<(Label, usize)> {
        self.cuts().into_iter().take(1).map(|label| (label, ranks)).collect()
    }

    /// Whether the cut dimensions have the kinds that the algorithm requires.
    fn applies(&self, kinds: &Kinds) -> bool;

    /// The distributions of the operands and `out` on `ranks` ranks; `None` if the algorithm accepts any. `tensors`
    /// contains the labels of `left`, `right` and `out`.
    fn distributions(&self, tensors: [&[Label]; 3], ranks: usize) -> Option<Distributions>;

    /// Whether the algorithm stores a complete tensor on a single rank.
    fn holds_whole(&self) -> bool {
        false
    }

    /// The order in which a rank adds up the products for its block of `out`, on `ranks` ranks.
    fn order(&self, _contraction: &Contraction, _ranks: usize) -> Order {
        Order::Ascending
    }

    /// Appends the tasks of the builder's rank to the schedule.
    fn generate(&self, builder: &mut Builder, contraction: &Contraction);

    /// Predicted seconds on the busiest rank if the operands are already distributed as required.
    fn seconds(&self, contracted: &Contracted) -> f64;

    /// The number of words that `rank` receives on `ranks` ranks, from the extents of tiles; `None` if it depends on
    /// the distributions.
    fn words_received(&self, contraction: &Contraction, rank: usize, ranks: usize) -> Option<u64>;
}

/// The input from which an algorithm generates its candidates.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub kinds: &'a Kinds,
    /// The dimensions of `out`.
    pub out: &'a [Label],
    /// The extent of each label.
    pub extents: &'a [usize],
    pub machine: &'a Machine,
    pub dtype: Dtype,
    /// Dimensions that must not be distributed.
    pub uncut: &'a [Label],
    /// Maximum number of elements that a rank can store; `None` means no limit.
    pub memory: Option<f64>,
    /// Whether ranks may be idle, for example for a square number.
    pub idle: bool,
    /// Whether the user prescribed the algorithm.
    pub forced: bool,
    /// Whether the user prescribed a distribution.
    pub fixed: bool,
    /// The order of the chunks of a rank in the algorithm `slicing`.
    pub reorder: Reorder,
}

impl Setting<'_> {
    pub fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }

    /// The number of ranks of the machine.
    pub fn ranks(&self) -> usize {
        self.machine.ranks
    }

    /// Every pair of an m dimension and an n dimension.
    pub fn pairs(&self) -> impl Iterator<Item = (Label, Label)> {
        self.kinds.m.iter().flat_map(|&m| self.kinds.n.iter().map(move |&n| (m, n)))
    }
}

/// Whether a label is of one of these kinds.
pub fn is(kinds: &Kinds, label: Label, allowed: &[Kind]) -> bool {
    kinds.of(label).is_some_and(|kind| allowed.contains(&kind))
}

/// The distribution of a tensor that is cut evenly along the dimension `label`.
///
/// # Panics
/// If the tensor lacks the dimension, which its kind rules out in the planner.
pub fn cut(labels: &[Label], label: Label, ranks: usize) -> Distribution {
    let dim = labels.iter().position(|&l| l == label);
    Distribution::cut(dim.unwrap_or_else(|| panic!("the tensor has the dimension that it is cut along")), ranks)
}
