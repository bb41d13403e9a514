//! Specifies a correct run by the tensors of a plan and their origins, independently of any schedule.

use std::ops::Range;

use crate::dims::Label;
use crate::distribution::{Distribution, Intervals, Region};

/// The origin of a tensor.
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

/// Products that are added to some elements of a tensor in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summand {
    /// The elements of the tensor.
    pub of: Region,
    /// Indices in the summed dimensions, in the order of [`Spec::summed`].
    pub products: Region,
}

/// The order in which products are added to an element. A plan guarantees that results are bitwise reproducible, so it
/// must also guarantee this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Ascending along the summed dimensions.
    Ascending,
    /// Descending along one summed dimension, where index 0 is followed by the last index. Partial sums on a ring are
    /// added in this order.
    RingDown(Label),
    /// For each rank, a list of the summands that it adds, in order. The entries that cover an element apply to that
    /// element.
    Listed(Vec<Vec<Summand>>),
}

impl Order {
    /// Whether the starts of regions of products determine the order. If so, one region may represent several
    /// consecutive regions.
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
}

/// All tensors in a plan. Invariant: the inputs of a value precede it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub values: Vec<Value>,
    /// The index of the value that the run computes.
    pub output: usize,
    /// Whether the output's buffer contains user values, which are multiplied by `beta` and added to the result.
    pub accumulate: bool,
}

impl Spec {
    /// Returns the index of the value from which `value` was redistributed; `value` itself if it was not.
    pub fn tensor(&self, mut value: usize) -> usize {
        while let Origin::Same { input } = self.values[value].origin {
            value = input;
        }
        value
    }

    /// Returns the labels and the extents of the dimensions over which a value is summed: k of a contraction, or the
    /// summed dimensions of a unary step. For an operand that is distributed as partial sums, returns the number of
    /// summands, without a label.
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

    /// Whether the products `next` may be added after `last` to the elements `at` of `value`, on a given rank.
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

    /// Whether `value` is the tensor whose tasks multiply by `alpha`.
    pub fn is_result(&self, value: usize) -> bool {
        self.tensor(value) == self.tensor(self.output)
    }
}

/// Returns the range from the first index of a set to the last.
fn span(set: &Intervals) -> Range<usize> {
    let ranges = set.ranges();
    ranges.first().map_or(0, |first| first.start)..ranges.last().map_or(0, |last| last.end)
}
