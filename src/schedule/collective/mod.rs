//! Builds collectives from sends, receives and work tasks.
//!
//! A *group* is an ordered list of ranks, its numbered *members*. The data has one *part* per member (one in a
//! broadcast), of any size.
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
//! | tree | between halves of adjacent members | the same | between even and odd members |
//! | direct | the root to each member | the root with each member | every member with every other, by distance |
//!
//! **Trees with minimum distance** (Kwasniewski et al., Red-Blue Pebbling Revisited, section 7.2: "the distance in the
//! grid between communicating processors is minimized"). With a root, the group is recursively halved. The root sends
//! the data for the other half to its nearest member, so parts only move towards their owners.
//!
//! If all members need all parts, the last messages are the largest, so even and odd members gather separately before
//! neighbours exchange. The last of an odd number receives the data from the member before it.
//!
//! Invariants: a member sends and receives at most one message per round, of data that it had before. Transfers have
//! one total order, by round, then by piece, so a run terminates even with one unbuffered transfer in flight per lane.
//!
//! A member's summands and result must be in different buffers.

mod fragment;
mod order;
mod pattern;
#[cfg(test)]
mod price_tests;
#[cfg(test)]
mod proof_tests;
mod steps;
#[cfg(test)]
mod tests;

pub use fragment::{Meaning, Parts, append};
pub use order::{Sum, listed};
pub use pattern::Pattern;
pub use steps::{Message, Numbers, Step};

use serde::{Deserialize, Serialize};

/// `root` is the number of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// All members receive the root's data.
    Broadcast { root: usize },
    /// Each member receives its own part of the root's data.
    Scatter { root: usize },
    /// The root receives the parts of all members.
    Gather { root: usize },
    /// All members receive the parts of all members.
    AllGather,
    /// Each member receives the sum of all members' summands for its own part.
    ReduceScatter,
    /// A reduce-scatter, followed by an all-gather of the sums.
    AllReduce,
}

/// Which members exchange messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CollectiveAlgorithm {
    /// To the next member, cyclically.
    Ring,
    /// Recursive halving, which has the fewest rounds.
    Tree,
    #[default]
    Direct,
}

impl CollectiveAlgorithm {
    pub const ALL: [CollectiveAlgorithm; 3] =
        [CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree, CollectiveAlgorithm::Direct];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    ranks: Vec<usize>,
    me: usize,
}

impl Group {
    /// `None` if `rank` is not in the list.
    pub fn new(ranks: Vec<usize>, rank: usize) -> Option<Group> {
        let me = ranks.iter().position(|&member| member == rank)?;
        Some(Group { ranks, me })
    }

    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    pub fn me(&self) -> usize {
        self.me
    }
}
