//! [`Generator`], the trait of all algorithms' parameters, and [`Setting`], from which they generate candidates.

use super::contraction::Contraction;
use super::cost::Contracted;
use super::objective::Objective;
use super::reorder::Reorder;
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Axis, Cut, Distribution, Role};
use crate::dtype::Dtype;
use crate::machine::Machine;
use crate::schedule::Builder;
use crate::schedule::verify::Order;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distributions {
    pub left: Distribution,
    pub right: Distribution,
    pub out: Distribution,
}

pub trait Generator {
    /// The dimensions cut among ranks; the user's `--cut` names the first, or all of them.
    fn cuts(&self) -> Vec<Label>;

    fn parameters(&self, name: &dyn Fn(Label) -> String) -> Vec<String> {
        self.cuts().into_iter().map(name).collect()
    }

    /// The number of ranks along each cut dimension, for reports.
    fn grid(&self, ranks: usize) -> Vec<(Label, usize)> {
        self.cuts().into_iter().take(1).map(|label| (label, ranks)).collect()
    }

    fn applies(&self, kinds: &Kinds) -> bool;

    /// The distributions of the operands and `out`; `None` if the algorithm accepts any. `tensors` has their labels.
    fn distributions(&self, tensors: [&[Label]; 3], ranks: usize) -> Option<Distributions>;

    /// Whether a single rank stores a complete tensor.
    fn holds_whole(&self) -> bool {
        false
    }

    /// How the ranks `of` add up the products for their blocks of `out`.
    fn order(&self, _contraction: &Contraction, _of: &[usize], _ranks: usize) -> Order {
        Order::Ascending
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction);

    /// Differs for ranks whose tasks differ although their extents are equal.
    fn role(&self, _rank: usize) -> usize {
        0
    }

    /// A later rank, such that all before it from `rank` on have the same role.
    fn alike_until(&self, _rank: usize) -> usize {
        usize::MAX
    }

    /// Predicted for the busiest rank, without redistributing operands.
    fn seconds(&self, contracted: &Contracted) -> f64;

    /// From the extents of tiles; `None` if the words depend on the distributions.
    fn words_received(&self, contraction: &Contraction, rank: usize, ranks: usize) -> Option<u64>;
}

#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub kinds: &'a Kinds,
    pub out: &'a [Label],
    pub extents: &'a [usize],
    pub machine: &'a Machine,
    pub dtype: Dtype,
    pub uncut: &'a [Label],
    pub memory: Option<f64>,
    pub idle: bool,
    pub forced: bool,
    /// Whether the user prescribed a distribution.
    pub fixed: bool,
    /// Whether there are other contractions.
    pub several: bool,
    pub reorder: Reorder,
    pub objective: Objective,
}

impl Setting<'_> {
    pub fn extent(&self, label: Label) -> usize {
        self.extents[label.0 as usize]
    }

    pub fn ranks(&self) -> usize {
        self.machine.ranks
    }

    pub fn pairs(&self) -> impl Iterator<Item = (Label, Label)> {
        self.kinds.m.iter().flat_map(|&m| self.kinds.n.iter().map(move |&n| (m, n)))
    }
}

pub fn is(kinds: &Kinds, label: Label, allowed: &[Kind]) -> bool {
    kinds.of(label).is_some_and(|kind| allowed.contains(&kind))
}

/// A tensor's distribution that is cut evenly along each label.
///
/// # Panics
/// If the tensor lacks a dimension, which its kind rules out in the planner.
pub fn cut<const N: usize>(labels: &[Label], cuts: [(Label, usize); N]) -> Distribution {
    let axis = |(label, ranks)| {
        let dim = labels.iter().position(|&l| l == label);
        let dim = dim.unwrap_or_else(|| panic!("the tensor has the dimension that it is cut along"));
        Axis { ranks, role: Role::Cut { dim, how: Cut::Even } }
    };
    Distribution::new(cuts.map(axis).into())
}
