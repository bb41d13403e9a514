//! Builds collectives from sends, receives and work tasks (`docs/algorithms.md`).
//!
//! A *group* is an ordered list of ranks, its numbered *members*. The data has one *part* per member (one in a
//! broadcast), of any size. Source of trees with minimum distance: Kwasniewski et al., Red-Blue Pebbling Revisited,
//! section 7.2.
//!
//! Invariants: a member sends and receives at most one message per round, of data that it had before. Transfers have
//! one total order, by round, then by piece, so a run terminates even with one unbuffered transfer in flight per lane.
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
