//! Computes the order in which a reduction adds, which the verifier checks, from the pattern's messages, so it cannot
//! differ from them.

use std::collections::BTreeMap;

use super::CollectiveAlgorithm;
use super::pattern::Pattern;
use crate::distribution::Region;
use crate::schedule::verify::Summand;

/// The sum that one member computes for one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    pub part: usize,
    /// In the order of addition, the computing member first.
    pub members: Vec<usize>,
}

impl Pattern {
    /// For each member, the sum for its own part, and partial sums that it forwards. Cost: O(members^2), or
    /// O(members^3) for a ring.
    pub fn sums(&self) -> Vec<Vec<Sum>> {
        if !self.reduces() {
            return vec![Vec::new(); self.members()];
        }
        let mut sums_of_member: Vec<BTreeMap<usize, Vec<usize>>> =
            (0..self.members()).map(|member| BTreeMap::from([(member, vec![member])])).collect();
        for message in self.messages().filter(|message| message.reduce) {
            for part in message.parts.iter() {
                let more = sums_of_member[message.from].get(&part).cloned().unwrap_or_else(|| vec![message.from]);
                sums_of_member[message.to].entry(part).or_insert_with(|| vec![message.to]).extend(more);
            }
        }
        let sums = |sums: BTreeMap<usize, Vec<usize>>| sums.into_iter().map(|(part, members)| Sum { part, members });
        sums_of_member.into_iter().map(|sums_of_member| sums(sums_of_member).collect()).collect()
    }
}

impl Pattern {
    /// The members, in order, in the sum that a member sends for a part. Cost: O(members), for trees that of
    /// [`Pattern::sums`].
    pub fn sum(&self, member: usize, part: usize) -> Vec<usize> {
        match self.algorithm() {
            CollectiveAlgorithm::Direct => return vec![member],
            CollectiveAlgorithm::Ring => return self.passed(member, part),
            CollectiveAlgorithm::Tree => {}
        }
        let sums = self.sums().swap_remove(member);
        sums.into_iter().find(|sum| sum.part == part).map_or_else(|| vec![member], |sum| sum.members)
    }

    /// [`Pattern::sums`] of one member. Cost: O(members) for direct messages, O(members^2) for a ring.
    pub fn sums_of(&self, member: usize) -> Vec<Sum> {
        let members = self.members();
        match self.algorithm() {
            CollectiveAlgorithm::Direct if self.reduces() => {
                let behind = (0..members).map(|distance| (member + members - distance) % members);
                vec![Sum { part: member, members: behind.collect() }]
            }
            CollectiveAlgorithm::Ring if self.reduces() => {
                let parts = (0..members).filter(|&part| part == member || part != (member + 1) % members);
                parts.map(|part| Sum { part, members: self.passed(member, part) }).collect()
            }
            _ => self.sums().swap_remove(member),
        }
    }

    /// Those in a member's sum for a part in a ring: sums start before the part's member, and pass down.
    fn passed(&self, member: usize, part: usize) -> Vec<usize> {
        let members = self.members();
        let count = (part + members - member - 1) % members + 1;
        (member..member + count).map(|member| member % members).collect()
    }
}

/// The summands that member `me` adds, in order. `computed` has a member's own.
pub fn listed(
    sums: &[Sum],
    me: usize,
    computed: impl Fn(usize) -> Vec<Summand>,
    part: impl Fn(usize) -> Option<Region>,
) -> Vec<Summand> {
    let mut list = computed(me);
    for sum in sums {
        let Some(region) = part(sum.part) else { continue };
        let others = sum.members.iter().filter(|&&member| member != me).flat_map(|&member| computed(member));
        list.extend(others.map(|summand| Summand { of: summand.of.intersect(&region), ..summand }));
    }
    list
}
