//! Collectives as fragments of schedule: who sends which parts to whom, what that costs, and the tasks of one rank.
//!
//! A *group* is some ranks in an order, its *members* are numbered in that order. What moves is cut in *parts*: a broadcast
//! has one, all others have one of each member. Parts may differ in size, and be empty.
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
//!                      after  a0+a2+a1     b1+b0+b2     c2+c1+c0        (direct; other ways add in other orders)
//! all-reduce           before a0 b0 c0     a1 b1 c1     a2 b2 c2
//!                      after  all three sums            everywhere
//! ```
//!
//! | way | broadcast | scatter, gather | all-gather, reduce-scatter |
//! |---|---|---|---|
//! | ring | from each member to the next | the same, the part with the longest way first | to the next, for s - 1 rounds |
//! | tree | halves of neighbours | halves of neighbours | halves of every second one |
//! | direct | the root to everybody | the root with everybody | everybody with everybody, by distance |
//!
//! **Trees with least distance** (Kwasniewski et al., Red-Blue Pebbling Revisited, section 7.2: "the distance in the grid between
//! communicating processors is minimized"). From a root, the group is cut in two halves of neighbours, and what the other half
//! needs goes to the nearest of its members; so every part travels straight to its owner, and the many messages at the end go
//! to neighbours. Where everybody needs everything, the messages at the end are the large ones: the group is cut in its even
//! and its odd members, which are neighbours, and these exchange what each half has put together. Both work for any number
//! of members; of an odd number the last one has no partner and is served by the one before it.
//!
//! | file | what |
//! |---|---|
//! | `pattern` | the messages of a collective, as a list in one order and by member: pure arithmetic |
//! | `steps` | where they come from: spreading from a root, exchange among all |
//! | `order` | in which order summands meet |
//! | `price` | seconds, bytes and distances |
//! | `fragment` | the tasks of one rank |
//!
//! Invariant: in a round a member sends at most one message and receives at most one. Transfers are ordered by round, then
//! piece, and what a message needs has come in earlier rounds: that is one total order of the transfers of all members, so a
//! run ends with one transfer in flight and nothing buffered.
//!
//! Deliberately absent: choosing a way ([`price()`] is for those who do); a reduction to one root, which is a reduce-scatter
//! all of whose other parts are empty; reductions in which a member's summands and its result share a buffer.

mod fragment;
mod order;
mod pattern;
mod price;
#[cfg(test)]
mod proofs;
mod steps;
#[cfg(test)]
mod tests;

pub use fragment::{Parts, append};
pub use order::{Sum, listed};
pub use pattern::{Message, Numbers, Pattern, Step};
pub use price::{Price, Rates, price};

use serde::{Deserialize, Serialize};

/// What a group does together. Roots are members, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Everybody gets what the root has.
    Broadcast { root: usize },
    /// Each gets its part of what the root has.
    Scatter { root: usize },
    /// The root gets the parts of all.
    Gather { root: usize },
    /// Everybody gets the parts of all.
    AllGather,
    /// Each gets the sum of what all have of its part.
    ReduceScatter,
    /// A reduce-scatter, then an all-gather of the sums.
    AllReduce,
}

/// Along which messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CollectiveAlgorithm {
    /// Each member with the next one, the last with the first.
    Ring,
    /// By halves of halves: the fewest rounds.
    Tree,
    /// From where a part is to where it ends.
    #[default]
    Direct,
}

impl CollectiveAlgorithm {
    pub const ALL: [CollectiveAlgorithm; 3] =
        [CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree, CollectiveAlgorithm::Direct];
}

/// Some ranks in an order, as one of them sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    ranks: Vec<usize>,
    me: usize,
}

impl Group {
    /// `None` where `rank` is not one of them.
    pub fn new(ranks: Vec<usize>, rank: usize) -> Option<Group> {
        let me = ranks.iter().position(|&member| member == rank)?;
        Some(Group { ranks, me })
    }

    /// The ranks, in the order of the members.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Which member this rank is.
    pub fn me(&self) -> usize {
        self.me
    }
}
