//! Classes of ranks: those whose blocks of all values have equal extents, and that have the same roles in the trees and
//! rings of redistributions.
//!
//! Their schedules are assumed to have the same kinds of tasks. The positions of blocks, and the order of peers with
//! larger and smaller blocks, differ.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use xxhash_rust::xxh3::Xxh3Default;

use super::structure::{Plan, Source, Value};
use crate::algorithm::{Movement, Tensor};
use crate::distribution::Alike;

/// A 128-bit hash of a rank's extents and roles, which ranks of a class share.
type Class = u128;

/// The classes of a plan's ranks.
pub struct Classes<'a> {
    plan: &'a Plan,
    movements: Vec<Option<(Tensor, Tensor, Movement)>>,
    /// Of each value.
    alike: Vec<Alike>,
    /// The first ranks of runs of one class, and of their class.
    runs: Vec<(usize, usize)>,
    /// The number of ranks of each class, by its first.
    sizes: BTreeMap<usize, usize>,
}

/// Cost: about a microsecond for each value and each run of ranks whose blocks have equal extents.
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
    let alike = plan.values.iter().map(|value| value.distribution.alike(&value.shape)).collect();
    let mut classes = Classes { plan, movements, alike, runs: Vec::new(), sizes: BTreeMap::new() };
    let mut known: HashMap<Class, usize> = HashMap::new();
    let mut rank = 0;
    while rank < plan.ranks() {
        let first = *known.entry(classes.class(rank)).or_insert(rank);
        classes.runs.push((rank, first));
        let next = classes.alike_until(rank).min(plan.ranks());
        *classes.sizes.entry(first).or_default() += next - rank;
        rank = next;
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

    /// A later rank, such that all before it from `rank` on have the same class.
    fn alike_until(&self, rank: usize) -> usize {
        let values = self.plan.values.iter().zip(&self.alike).zip(&self.movements);
        let until = values.map(|((value, alike), movement)| {
            let of_roles = match (&value.source, movement) {
                (Source::Contract { algorithm, group, .. }, _) => {
                    let Range { start, end } = group.clone().unwrap_or(0..self.plan.ranks());
                    let roles =
                        if rank < start { start } else { start.saturating_add(algorithm.alike_until(rank - start)) };
                    if rank < end { roles.min(end) } else { roles }
                }
                (_, Some((from, to, movement))) if *movement != Movement::Direct => {
                    let spans = [from, to].map(|tensor| tensor.distribution.span());
                    if spans.iter().any(|span| span.contains(&rank)) { rank + 1 } else { usize::MAX }
                }
                _ => usize::MAX,
            };
            alike.until(rank).min(of_roles)
        });
        until.min().unwrap_or(usize::MAX)
    }

    /// The first rank of each class, ascending.
    pub fn representatives(&self) -> Vec<usize> {
        self.sizes.keys().copied().collect()
    }

    /// The first rank of a rank's class.
    pub fn representative(&self, rank: usize) -> Option<usize> {
        Some(self.runs[..self.runs.partition_point(|(first, _)| *first <= rank)].last()?.1)
    }

    /// The number of ranks in a rank's class.
    pub fn size(&self, rank: usize) -> usize {
        self.representative(rank).and_then(|first| self.sizes.get(&first)).copied().unwrap_or(0)
    }
}
