//! Specifies the result of a correct run. The specification lists the tensors of a plan and how each is computed,
//! independently of any schedule.

use std::ops::Range;

use crate::dims::Label;
use crate::distribution::{Distribution, Intervals, Region};

/// The step that produces a tensor. Inputs are indices into [`Spec::values`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The operand with this index.
    Operand(usize),
    Contract {
        left: usize,
        right: usize,
    },
    Unary {
        input: usize,
    },
    /// The same tensor as `input`, in a different distribution.
    Same {
        input: usize,
    },
}

/// Products that are added to some elements of a tensor at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summand {
    /// The elements of the tensor to which the products are added.
    pub of: Region,
    /// The products, as index sets of the summed dimensions. These are in the order of [`Spec::summed`].
    pub products: Region,
}

/// The order in which products are added to an element. A plan guarantees that results are bitwise reproducible, so it
/// must also determine this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// In ascending order of the indices of the summed dimensions.
    Ascending,
    /// In descending order along one summed dimension. The order is cyclic, so the last index follows index 0. Partial
    /// sums that travel around a ring are added in this order.
    RingDown(Label),
    /// For each rank, the summands that it adds, in order. Only the summands whose region contains an element apply to
    /// this element.
    Listed(Vec<Vec<Summand>>),
}

impl Order {
    /// Whether this order follows from the indices of the products alone. If so, adjacent regions of products may be
    /// merged into one.
    pub fn joins(&self) -> bool {
        !matches!(self, Order::Listed(_))
    }
}

/// A tensor in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub labels: Vec<Label>,
    pub shape: Vec<usize>,
    pub distribution: Distribution,
    pub origin: Origin,
    pub order: Order,
    /// Whether the stored elements are the complex conjugates of those in the expression. Those of the result are, until
    /// they are scaled by `alpha`.
    pub conjugated: bool,
}

/// The specification of a run, which lists all tensors in a plan. Invariant: the inputs of a value precede the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub values: Vec<Value>,
    /// The index of the value that is the result of the run.
    pub output: usize,
    /// Whether the output's buffer initially contains values of the user, which are multiplied by `beta` and added to
    /// the result.
    pub accumulate: bool,
}

impl Spec {
    /// Returns the index of the value before redistribution, which is `value` itself if it is not the result of a
    /// redistribution.
    pub fn tensor(&self, mut value: usize) -> usize {
        while let Origin::Same { input } = self.values[value].origin {
            value = input;
        }
        value
    }

    /// Returns the labels and the extents of the dimensions that are summed to compute a value. For an operand that is
    /// distributed as partial sums, returns the number of summands as the only extent, without a label.
    pub fn summed(&self, value: usize) -> (Vec<Label>, Vec<usize>) {
        let value = &self.values[self.tensor(value)];
        let input = match value.origin {
            Origin::Operand(_) => {
                let summands = value.distribution.summands();
                return (Vec::new(), if summands > 1 { vec![summands] } else { Vec::new() });
            }
            Origin::Contract { left, .. } => left,
            Origin::Unary { input } | Origin::Same { input } => input,
        };
        let input = &self.values[input];
        let mut labels: Vec<Label> = Vec::new();
        let mut extents = Vec::new();
        for (&label, &extent) in input.labels.iter().zip(&input.shape) {
            if !value.labels.contains(&label) && !labels.contains(&label) {
                labels.push(label);
                extents.push(extent);
            }
        }
        (labels, extents)
    }

    /// Whether the products `next` may be added directly after the products `last` to the elements `at` of `value`, on
    /// rank `rank`.
    pub fn follows(&self, value: usize, (rank, at): (usize, &Region), last: &Region, next: &Region) -> bool {
        match &self.values[self.tensor(value)].order {
            Order::Listed(by_rank) => {
                let place = |products: &Region| {
                    by_rank.get(rank)?.iter().position(|s| &s.products == products && s.of.meets(at))
                };
                place(last).zip(place(next)).is_some_and(|(last, next)| last < next)
            }
            Order::Ascending => {
                let starts = |products: &Region| products.dims().iter().map(|dim| span(dim).start).collect::<Vec<_>>();
                starts(last) < starts(next)
            }
            Order::RingDown(label) => {
                let (labels, extents) = self.summed(value);
                labels.iter().position(|l| l == label).is_some_and(|dim| {
                    let (last, next) = (span(&last.dims()[dim]), span(&next.dims()[dim]));
                    let wraps = last.start == 0 && next.end == extents[dim];
                    next.end == last.start || wraps
                })
            }
        }
    }

    /// Whether `value` is the result of the run, whose products are multiplied by `alpha`.
    pub fn is_result(&self, value: usize) -> bool {
        self.tensor(value) == self.tensor(self.output)
    }
}

/// Returns the range from the first index of a set to the last, inclusive.
fn span(set: &Intervals) -> Range<usize> {
    let ranges = set.ranges();
    ranges.first().map_or(0, |first| first.start)..ranges.last().map_or(0, |last| last.end)
}
