//! The order in which summands are added: a plan promises it, and the verifier compares schedules with it.
//!
//! Found by simulating the messages of a pattern, so it cannot disagree with them.

use std::collections::BTreeMap;

use super::pattern::Pattern;
use crate::distribution::Region;
use crate::schedule::verify::Summand;

/// The sum of one part that a member makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    pub part: usize,
    /// The members whose summands it contains, in the order in which they are added: its own first.
    pub members: Vec<usize>,
}

impl Pattern {
    /// By member, the sums that it makes: of its own part, and of parts of others in transit. Empty if the collective
    /// adds nothing. Cost: quadratic in the number of members; cubic for a ring.
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

/// One member's list of summands for the verifier: those that it makes itself, then those of others in the order in
/// which they are added here. `made` returns a member's own summands, `part` the elements of a part.
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
