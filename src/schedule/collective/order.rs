//! Computes the order in which summands are added. A plan guarantees this order, and the verifier checks schedules
//! against it.
//!
//! The order is found by simulating the messages of a pattern, so it always agrees with the messages.

use std::collections::BTreeMap;

use super::pattern::Pattern;
use crate::distribution::Region;
use crate::schedule::verify::Summand;

/// The sum for one part, as computed by one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    pub part: usize,
    /// The members whose summands the sum contains, in order of addition, starting with the member that computes the
    /// sum.
    pub members: Vec<usize>,
}

impl Pattern {
    /// Returns the sums that each member computes: the sum for its own part, and the partial sums that it forwards for
    /// other members' parts. Empty unless the collective is a reduction. Cost: O(members^2); O(members^3) for a ring.
    ///
    /// ```
    /// use einsum_dist::schedule::collective::{Collective, Pattern, CollectiveAlgorithm};
    /// let own = |algorithm| {
    ///     let sums = Pattern::new(Collective::ReduceScatter, algorithm, 4).sums();
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

/// Returns one member's list of summands for the verifier. The list contains the member's own summands, followed by
/// other members' summands in the order in which this member adds them. `computed` returns a member's own summands, and
/// `part` returns the elements of a part.
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
