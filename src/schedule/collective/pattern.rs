//! Computes a collective's messages.
//!
//! Invariants: without a reduction, a member receives each part at most once; with one, it sends a sum after it has
//! received all summands.
//!
//! One round of a member costs O(log members).

use super::steps::{Message, Step, exchange, rounds, spread};
use super::{Collective, CollectiveAlgorithm};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    collective: Collective,
    algorithm: CollectiveAlgorithm,
    members: usize,
}

impl Pattern {
    /// # Panics
    /// If there is no member, or the root is not a member.
    pub fn new(collective: Collective, algorithm: CollectiveAlgorithm, members: usize) -> Pattern {
        let root = match collective {
            Collective::Broadcast { root } | Collective::Scatter { root } | Collective::Gather { root } => root,
            Collective::AllGather | Collective::ReduceScatter | Collective::AllReduce => 0,
        };
        assert!(root < members, "the root is a member");
        Pattern { collective, algorithm, members }
    }

    pub fn members(&self) -> usize {
        self.members
    }

    pub fn parts(&self) -> usize {
        if matches!(self.collective, Collective::Broadcast { .. }) { 1 } else { self.members }
    }

    pub fn algorithm(&self) -> CollectiveAlgorithm {
        self.algorithm
    }

    pub fn reduces(&self) -> bool {
        matches!(self.collective, Collective::ReduceScatter | Collective::AllReduce)
    }

    pub fn rounds(&self) -> usize {
        let all = rounds(self.collective, self.algorithm, self.members);
        if self.collective == Collective::AllReduce { 2 * all } else { all }
    }

    pub fn step(&self, member: usize, round: usize) -> Step {
        let Pattern { collective, algorithm, members } = *self;
        let one_phase = rounds(collective, algorithm, members);
        if round >= self.rounds() {
            return Step::default();
        }
        match collective {
            Collective::Broadcast { root } => spread(algorithm, members, root, false, member, round),
            Collective::Scatter { root } => spread(algorithm, members, root, true, member, round),
            Collective::Gather { root } => {
                spread(algorithm, members, root, true, member, one_phase - 1 - round).back(false)
            }
            Collective::ReduceScatter | Collective::AllReduce if round < one_phase => {
                exchange(algorithm, members, member, one_phase - 1 - round).back(true)
            }
            Collective::AllReduce => exchange(algorithm, members, member, round - one_phase),
            Collective::AllGather | Collective::ReduceScatter => exchange(algorithm, members, member, round),
        }
    }

    /// All messages, in their total order. Cost: O(members x rounds).
    pub fn messages(self) -> impl Iterator<Item = Message> {
        (0..self.rounds()).flat_map(move |round| self.round(round))
    }

    pub fn round(self, round: usize) -> impl Iterator<Item = Message> {
        (0..self.members).filter_map(move |member| self.step(member, round).sent)
    }
}
