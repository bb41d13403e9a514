//! Classes of ranks: those whose blocks of all values have equal extents, and that have the same roles in the trees and
//! rings of redistributions.
//!
//! Their schedules are assumed to have the same kinds of tasks. The positions of blocks, and the order in which peers
//! with larger and smaller blocks follow each other, differ. A grid of 10 x 10 x 10 ranks has up to eight classes if
//! the extents are not divisible by 10.

use std::collections::HashMap;

use xxhash_rust::xxh3::Xxh3Default;

use super::structure::{Plan, Source, Value};
use crate::algorithm::{Movement, Tensor};

/// A 128-bit hash of a rank's extents and roles, which ranks of a class share.
type Class = u128;

/// The classes of a plan's ranks.
pub struct Classes<'a> {
    plan: &'a Plan,
    movements: Vec<Option<(Tensor, Tensor, Movement)>>,
    /// The first rank of each class, and the number of its ranks.
    first: HashMap<Class, (usize, usize)>,
}

/// Cost: O(ranks x values), about a microsecond each.
pub fn classes(plan: &Plan) -> Classes<'_> {
    let movement = |(id, value): (usize, &Value)| match value.source {
        Source::Redistribute { input } => {
            let (from, to) = (plan.tensor(input, 0), plan.tensor(id, 0));
            let movement = Movement::of(&from, &to);
            Some((from, to, movement))
        }
        _ => None,
    };
    let movements = plan.values.iter().enumerate().map(movement).collect();
    let mut classes = Classes { plan, movements, first: HashMap::new() };
    for rank in 0..plan.ranks() {
        let class = classes.class(rank);
        classes.first.entry(class).or_insert((rank, 0)).1 += 1;
    }
    classes
}

impl Classes<'_> {
    fn class(&self, rank: usize) -> Class {
        let mut hash = Xxh3Default::new();
        for (value, movement) in self.plan.values.iter().zip(&self.movements) {
            let extents = value.distribution.block_extents(&value.shape, rank);
            hash.update(&[u8::from(extents.is_some())]);
            extents.iter().flatten().for_each(|extent| hash.update(&extent.to_ne_bytes()));
            let role = match (&value.source, movement) {
                (Source::Contract { algorithm, group, .. }, _) => {
                    let first = group.as_ref().map_or(0, |group| group.start);
                    rank.checked_sub(first).map_or(0, |rank| algorithm.role(rank))
                }
                (_, Some((from, to, movement))) => movement.role(from, to, rank),
                _ => 0,
            };
            hash.update(&role.to_ne_bytes());
        }
        hash.digest128()
    }

    /// The first rank of each class, ascending.
    pub fn representatives(&self) -> Vec<usize> {
        let mut chosen: Vec<usize> = self.first.values().map(|&(rank, _)| rank).collect();
        chosen.sort_unstable();
        chosen
    }

    /// The first rank of a rank's class.
    pub fn representative(&self, rank: usize) -> Option<usize> {
        self.first.get(&self.class(rank)).map(|&(first, _)| first)
    }

    /// The number of ranks in a rank's class.
    pub fn size(&self, rank: usize) -> usize {
        self.first.get(&self.class(rank)).map_or(0, |&(_, size)| size)
    }
}
