//! In which order summands meet: what a plan promises, and the verifier compares schedules with.
//!
//! Found by playing the messages of a pattern, so it cannot disagree with them.

use std::collections::BTreeMap;

use super::pattern::Pattern;
use crate::distribution::Region;
use crate::schedule::verify::Summand;

/// What a member adds up of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    pub part: usize,
    /// Whose summands, in the order in which they meet: its own first.
    pub members: Vec<usize>,
}

impl Pattern {
    /// By member, the sums that it makes: of its own part, and of those of others on their way to them. None where nothing is
    /// added. Cost: the square of the number of members; the cube of a ring.
    ///
    /// ```
    /// use einsum_dist::schedule::collective::{Collective, Pattern, CollectiveAlgorithm};
    /// let own = |way| {
    ///     let sums = Pattern::new(Collective::ReduceScatter, way, 4).sums();
    ///     sums[1].iter().find(|sum| sum.part == 1).map(|sum| sum.members.clone())
    /// };
    /// assert_eq!(own(CollectiveAlgorithm::Direct), Some(vec![1, 0, 3, 2]));
    /// assert_eq!(own(CollectiveAlgorithm::Ring), Some(vec![1, 2, 3, 0]));
    /// assert_eq!(own(CollectiveAlgorithm::Tree), Some(vec![1, 0, 3, 2]));
    /// ```
    pub fn sums(&self) -> Vec<Vec<Sum>> {
        if !self.reduces() {
            return vec![Vec::new(); self.members()];
        }
        let mut held: Vec<BTreeMap<usize, Vec<usize>>> =
            (0..self.members()).map(|member| BTreeMap::from([(member, vec![member])])).collect();
        for message in self.messages().filter(|message| message.reduce) {
            for part in message.parts.iter() {
                let more = held[message.from].get(&part).cloned().unwrap_or_else(|| vec![message.from]);
                held[message.to].entry(part).or_insert_with(|| vec![message.to]).extend(more);
            }
        }
        let sums = |sums: BTreeMap<usize, Vec<usize>>| sums.into_iter().map(|(part, members)| Sum { part, members });
        held.into_iter().map(|held| sums(held).collect()).collect()
    }
}

/// What the verifier is told of one member: the summands that it makes itself, then those of others in the order in which they
/// meet here. `made` has each member's own; `part` says which elements a part is.
pub fn listed(
    sums: &[Sum],
    me: usize,
    made: impl Fn(usize) -> Vec<Summand>,
    part: impl Fn(usize) -> Option<Region>,
) -> Vec<Summand> {
    let mut list = made(me);
    for sum in sums {
        let Some(region) = part(sum.part) else { continue };
        let others = sum.members.iter().filter(|&&member| member != me).flat_map(|&member| made(member));
        list.extend(others.map(|summand| Summand { of: summand.of.intersect(&region), ..summand }));
    }
    list
}
