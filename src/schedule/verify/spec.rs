//! Specifies the result of a correct run: the tensors of a plan and how each is computed.

use std::collections::{BTreeMap, HashMap};

use crate::dims::Label;
use crate::distribution::{Distribution, Intervals, Region};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Operand(usize),
    Contract {
        left: usize,
        right: usize,
    },
    Unary {
        input: usize,
    },
    /// The tensor `input` in a different distribution.
    Same {
        input: usize,
    },
}

/// Products that are added to elements at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summand {
    /// The elements to which they are added.
    pub of: Region,
    /// Index sets of the summed dimensions, in the order of [`Spec::summed`].
    pub products: Region,
}

/// Of one rank, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summands {
    list: Vec<Summand>,
    places: HashMap<Region, Vec<usize>>,
    /// Whether no two summands have a product in common.
    disjoint: bool,
}

impl From<Vec<Summand>> for Summands {
    fn from(list: Vec<Summand>) -> Summands {
        let mut places: HashMap<Region, Vec<usize>> = HashMap::with_capacity(list.len());
        for (place, summand) in list.iter().enumerate() {
            places.entry(summand.products.clone()).or_default().push(place);
        }
        let disjoint = Region::are_disjoint(&list.iter().map(|summand| &summand.products).collect::<Vec<_>>());
        Summands { list, places, disjoint }
    }
}

impl Summands {
    pub fn into_list(self) -> Vec<Summand> {
        self.list
    }

    fn place(&self, products: &Region, at: &Region) -> Option<usize> {
        self.places.get(products)?.iter().copied().find(|&place| self.list[place].of.meets(at))
    }
}

/// The order of adding products to an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// In ascending order of the summed indices.
    Ascending,
    /// In cyclic descending order along one summed dimension, as on a ring.
    RingDown(Label),
    /// The summands that a rank adds, in order, for the ranks that are proved.
    Listed(BTreeMap<usize, Summands>),
}

impl Order {
    /// Whether the order alone excludes that `rank` adds a product twice.
    pub fn excludes_repetition(&self, rank: usize) -> bool {
        matches!(self, Order::Listed(by_rank) if by_rank.get(&rank).is_some_and(|summands| summands.disjoint))
    }

    pub fn joins(&self) -> bool {
        !matches!(self, Order::Listed(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub labels: Vec<Label>,
    pub shape: Vec<usize>,
    pub distribution: Distribution,
    pub origin: Origin,
    pub order: Order,
    /// Whether stored elements are conjugates of the expression's, as in the result until it is scaled by `alpha`.
    pub conjugated: bool,
}

/// All tensors in a plan. Invariant: the inputs of a value precede it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub values: Vec<Value>,
    pub output: usize,
    pub accumulate: bool,
}

impl Spec {
    /// The index of the value before any redistribution.
    pub fn tensor(&self, mut value: usize) -> usize {
        while let Origin::Same { input } = self.values[value].origin {
            value = input;
        }
        value
    }

    /// The labels and extents of summed dimensions, or the number of summands, without a label, for an operand of
    /// partial sums.
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

    /// The products in the partial sums of `rank`; `None` unless `value` is an operand, or each rank computes its
    /// partial sums from its own blocks.
    pub fn stored_products(&self, value: usize, rank: usize) -> Option<Region> {
        let Value { distribution, origin, .. } = &self.values[value];
        let inputs = match *origin {
            Origin::Operand(_) => {
                let summand = distribution.summand(rank)?;
                return Some(Region::from(vec![Intervals::from(summand..summand + 1)]));
            }
            Origin::Contract { left, right } => vec![left, right],
            Origin::Unary { input } => vec![input],
            Origin::Same { .. } => return None,
        };
        let index_set = |label: &Label| {
            inputs.iter().find_map(|&input| {
                let Value { labels, shape, distribution, .. } = &self.values[input];
                let dim = labels.iter().position(|other| other == label)?;
                Some(distribution.block(shape, rank)?.dims()[dim].clone())
            })
        };
        Some(Region::from(self.summed(value).0.iter().map(index_set).collect::<Option<Vec<_>>>()?))
    }

    /// Whether `rank` may add `next` directly after `last` to the elements `at` of `value`.
    pub fn follows(&self, value: usize, (rank, at): (usize, &Region), last: &Region, next: &Region) -> bool {
        match &self.values[self.tensor(value)].order {
            Order::Listed(by_rank) => {
                let place = |products: &Region| by_rank.get(&rank)?.place(products, at);
                place(last).zip(place(next)).is_some_and(|(last, next)| last < next)
            }
            Order::Ascending => {
                let starts = |products: &Region| products.dims().iter().map(|dim| dim.span().start).collect::<Vec<_>>();
                starts(last) < starts(next)
            }
            Order::RingDown(label) => {
                let (labels, extents) = self.summed(value);
                labels.iter().position(|l| l == label).is_some_and(|dim| {
                    let (last, next) = (last.dims()[dim].span(), next.dims()[dim].span());
                    let wraps = last.start == 0 && next.end == extents[dim];
                    next.end == last.start || wraps
                })
            }
        }
    }

    /// Whether `value` is the run's result, whose products are multiplied by `alpha`.
    pub fn is_result(&self, value: usize) -> bool {
        self.tensor(value) == self.tensor(self.output)
    }
}
