//! Specifies the result of a correct run: the tensors of a plan and how each is computed, independently of any
//! schedule.

use std::ops::Range;

use crate::dims::Label;
use crate::distribution::{Distribution, Intervals, Region};

/// The step that produces a tensor from inputs in [`Spec::values`].
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
    /// The elements to which the products are added.
    pub of: Region,
    /// The products, as index sets of the summed dimensions in the order of [`Spec::summed`].
    pub products: Region,
}

/// The order in which products are added to an element, which a plan fixes for bitwise reproducible results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// In ascending order of the summed indices.
    Ascending,
    /// In cyclic descending order along one summed dimension, as partial sums on a ring.
    RingDown(Label),
    /// For each rank, the summands that it adds, in order, to the elements of their regions.
    Listed(Vec<Vec<Summand>>),
}

impl Order {
    /// Whether the indices of the products alone determine this order, so that adjacent regions may be merged.
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
    /// Whether stored elements are conjugates of those in the expression, as in the result until it is scaled by
    /// `alpha`.
    pub conjugated: bool,
}

/// The specification of a run: all tensors in a plan. Invariant: the inputs of a value precede the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub values: Vec<Value>,
    /// The index of the value that is the result of the run.
    pub output: usize,
    /// Whether `beta` times the user's values in the output are added to the result.
    pub accumulate: bool,
}

impl Spec {
    /// Returns the index of the value before any redistribution.
    pub fn tensor(&self, mut value: usize) -> usize {
        while let Origin::Same { input } = self.values[value].origin {
            value = input;
        }
        value
    }

    /// Returns the labels and extents of a value's summed dimensions, or the number of summands without a label for an
    /// operand of partial sums.
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

    /// Whether `next` may be added directly after `last` to the elements `at` of `value`, on rank `rank`.
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

fn span(set: &Intervals) -> Range<usize> {
    let ranges = set.ranges();
    ranges.first().map_or(0, |first| first.start)..ranges.last().map_or(0, |last| last.end)
}
