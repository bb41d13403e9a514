//! Defines [`Generator`], the trait that the parameters of every algorithm implement. Also defines [`Setting`], the
//! input from which an algorithm generates its candidates (parameters that it offers to the planner).
//!
//! Each algorithm implements [`Generator`] in its own file, which also lists its candidates. [`super::registry`] lists
//! the algorithms. The planner uses an algorithm only through the trait and the registry. [`crate::plan`] chooses among
//! the candidates.

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
    /// The dimensions that the algorithm cuts among ranks. The user's `--cut` names the first of these dimensions, or
    /// all of them.
    fn cuts(&self) -> Vec<Label>;

    /// The parameters as text. Plans print them in parentheses after the algorithm's name.
    fn parameters(&self, name: &dyn Fn(Label) -> String) -> Vec<String> {
        self.cuts().into_iter().map(name).collect()
    }

    /// The number of ranks along each cut dimension, for reports. `ranks` is the number of ranks that participate in
    /// the contraction.
    fn grid(&self, ranks: usize) -> Vec<(Label, usize)> {
        self.cuts().into_iter().take(1).map(|label| (label, ranks)).collect()
    }

    /// Whether the cut dimensions have the kinds that the algorithm requires.
    fn applies(&self, kinds: &Kinds) -> bool;

    /// The distributions that the algorithm requires for the operands and produces for `out`, on `ranks` ranks. `None`
    /// if the algorithm accepts any distributions. `tensors` contains the labels of `left`, `right` and `out`.
    fn distributions(&self, tensors: [&[Label]; 3], ranks: usize) -> Option<Distributions>;

    /// Whether the algorithm stores a complete tensor on a single rank.
    fn holds_whole(&self) -> bool {
        false
    }

    /// The order in which a rank adds up the products for its block of `out`, if there are `ranks` ranks.
    fn order(&self, _contraction: &Contraction, _ranks: usize) -> Order {
        Order::Ascending
    }

    /// Appends the tasks of the builder's rank to the schedule.
    fn generate(&self, builder: &mut Builder, contraction: &Contraction);

    /// Predicted seconds on the busiest rank if the operands are already distributed as required.
    fn seconds(&self, contracted: &Contracted) -> f64;

    /// The number of words that `rank` receives if `ranks` ranks participate. The number is computed from the extents
    /// of tiles, without a schedule. `None` if the number depends on the distributions.
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
    /// Whether an algorithm may leave ranks idle, for example because it needs a square number of ranks.
    pub idle: bool,
    /// Whether the user prescribed the algorithm.
    pub forced: bool,
    /// Whether the user prescribed a distribution.
    pub fixed: bool,
    /// The order in which the algorithm `slicing` contracts the chunks of a rank's work.
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
/// If the tensor lacks the dimension. This never happens in the planner, because the kind of a dimension determines
/// which tensors have it.
pub fn cut(labels: &[Label], label: Label, ranks: usize) -> Distribution {
    let dim = labels.iter().position(|&l| l == label);
    Distribution::cut(dim.unwrap_or_else(|| panic!("the tensor has the dimension that it is cut along")), ranks)
}
