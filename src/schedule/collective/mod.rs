//! Builds collectives as schedule fragments. Computes the messages between members, their cost, and the tasks of one
//! rank.
//!
//! A *group* is an ordered list of ranks. Its *members* are numbered in that order. The data is cut into *parts*: a
//! broadcast has one part, and every other collective has one part per member. Parts may differ in size, and may be
//! empty.
//!
//! ```text
//! members                    0            1            2
//! broadcast from 1     before .            a            .
//!                      after  a            a            a
//! scatter from 1       before .            a b c        .
//!                      after  a            b            c
//! gather to 1          before a            b            c
//!                      after  .            a b c        .
//! all-gather           before a            b            c
//!                      after  a b c        a b c        a b c
//! reduce-scatter       before a0 b0 c0     a1 b1 c1     a2 b2 c2
//!                      after  a0+a2+a1     b1+b0+b2     c2+c1+c0        (direct; others add in other orders)
//! all-reduce           before a0 b0 c0     a1 b1 c1     a2 b2 c2
//!                      after  all three sums            everywhere
//! ```
//!
//! | algorithm | broadcast | scatter, gather | all-gather, reduce-scatter |
//! |---|---|---|---|
//! | ring | from each member to the next | the same, with the farthest part first | to the next, for s - 1 rounds |
//! | tree | halves of adjacent members | halves of adjacent members | halves of even and of odd members |
//! | direct | the root to each member | the root with each member | every member with every other, by distance |
//!
//! **Trees with minimum distance** (Kwasniewski et al., Red-Blue Pebbling Revisited, section 7.2: "the distance in the
//! grid between communicating processors is minimized"). For a collective with a root, the group is cut into two halves
//! of adjacent members. The data for the half without the root is sent to the member of that half that is nearest to
//! the root. Every part therefore only moves towards its owner, and the last round, which has the most messages, is
//! between neighbours.
//!
//! If all members need all parts, the messages of the last round are the largest. In this case the group is cut into
//! its even and its odd members, and each even member and its odd neighbour exchange the data that their halves have
//! gathered. Both trees work for any number of members. If the number is odd, the last member has no partner and
//! receives the data from the member before it.
//!
//! | file | topic |
//! |---|---|
//! | `message` | one message, and the messages of a member in a round |
//! | `pattern` | the messages of a collective, in total order or for one member |
//! | `steps` | the two basic patterns, which spread data from a root and exchange data among all members |
//! | `order` | the order in which summands are added |
//! | `price` | seconds, bytes and distances |
//! | `fragment` | the tasks of one rank |
//!
//! Invariant: in each round, a member sends at most one message and receives at most one. Transfers are ordered by
//! round, then by piece, and the data of a message has arrived in rounds before the message's own round. This is one
//! total order for the transfers of all members, so a run terminates even with one transfer in flight per lane and no
//! buffering.
//!
//! Callers choose the algorithm, with the help of [`price()`]. There is no reduction to one root, because such a
//! reduction is a reduce-scatter in which all parts but one are empty. In a reduction, a member's summands and its
//! result must be in different buffers.

mod fragment;
mod message;
mod order;
mod pattern;
mod price;
#[cfg(test)]
mod proof_tests;
mod steps;
#[cfg(test)]
mod tests;

pub use fragment::{Parts, append};
pub use message::{Message, Numbers, Step};
pub use order::{Sum, listed};
pub use pattern::Pattern;
pub use price::{Price, Rates, price};

use serde::{Deserialize, Serialize};

/// A collective operation of a group. Roots are given as member numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// All members receive the root's data.
    Broadcast { root: usize },
    /// Each member receives its part of the root's data.
    Scatter { root: usize },
    /// The root receives the parts of all members.
    Gather { root: usize },
    /// All members receive the parts of all members.
    AllGather,
    /// Each member receives the sum of all members' summands for its part.
    ReduceScatter,
    /// A reduce-scatter, followed by an all-gather of the sums.
    AllReduce,
}

/// The algorithm of a collective, which determines the members that exchange messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CollectiveAlgorithm {
    /// Each member sends to the next member, and the last member to the first.
    Ring,
    /// Recursive halving, which has the fewest rounds.
    Tree,
    /// Each part is sent directly from its source to its destination.
    #[default]
    Direct,
}

impl CollectiveAlgorithm {
    pub const ALL: [CollectiveAlgorithm; 3] =
        [CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree, CollectiveAlgorithm::Direct];
}

/// An ordered list of ranks, and the member number of this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    ranks: Vec<usize>,
    me: usize,
}

impl Group {
    /// Creates the group as seen by rank `rank`; `None` if `rank` is not in the list.
    pub fn new(ranks: Vec<usize>, rank: usize) -> Option<Group> {
        let me = ranks.iter().position(|&member| member == rank)?;
        Some(Group { ranks, me })
    }

    /// Returns the ranks in the order of the members.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Returns the member number of this rank.
    pub fn me(&self) -> usize {
        self.me
    }
}
