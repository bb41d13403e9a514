//! Computes the two basic patterns of messages, which others reverse or combine: a spread from a root to all members,
//! and an exchange from all to all.
//!
//! A step is a member's messages in one round: at most one sent and one received.

use super::{Collective, CollectiveAlgorithm};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl Numbers {
    pub const fn one(first: usize) -> Numbers {
        Numbers { first, step: 1, count: 1 }
    }

    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.first + at * self.step)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub parts: Numbers,
    /// Whether the receiver adds the message to its own values.
    pub reduce: bool,
}

impl Message {
    /// All messages reversed turn a scatter into a gather, and an all-gather into a reduce-scatter (if `reduce`).
    fn back(self, reduce: bool) -> Message {
        Message { from: self.to, to: self.from, reduce, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    pub sent: Option<Message>,
    pub received: Option<Message>,
}

impl Step {
    pub(super) fn back(self, reduce: bool) -> Step {
        let back = |message: Option<Message>| message.map(|message| message.back(reduce));
        Step { sent: back(self.received), received: back(self.sent) }
    }
}

fn levels(members: usize) -> usize {
    members.next_power_of_two().trailing_zeros() as usize
}

/// The number of rounds; for an all-reduce, of one of its two phases.
pub fn rounds(collective: Collective, algorithm: CollectiveAlgorithm, members: usize) -> usize {
    match (algorithm, collective) {
        (CollectiveAlgorithm::Ring | CollectiveAlgorithm::Direct, _) => members - 1,
        (
            CollectiveAlgorithm::Tree,
            Collective::Broadcast { .. } | Collective::Scatter { .. } | Collective::Gather { .. },
        ) => levels(members),
        // The second round of a level is for the member without a partner.
        (CollectiveAlgorithm::Tree, _) => 2 * levels(members),
    }
}

fn step(member: usize, from: usize, to: usize, parts: Numbers) -> Step {
    let message = Message { from, to, parts, reduce: false };
    Step { sent: (member == from).then_some(message), received: (member == to).then_some(message) }
}

/// One member's step, of own parts if `scatter`, otherwise of the same part.
pub fn spread(
    algorithm: CollectiveAlgorithm,
    members: usize,
    root: usize,
    scatter: bool,
    member: usize,
    round: usize,
) -> Step {
    let parts = |own: Numbers| if scatter { own } else { Numbers::one(0) };
    match algorithm {
        CollectiveAlgorithm::Direct => {
            let to = (root + round + 1) % members;
            step(member, root, to, parts(Numbers::one(to)))
        }
        CollectiveAlgorithm::Ring => {
            let behind = (member + members - root) % members;
            let at = |behind: usize| (root + behind) % members;
            let message = |from: usize| {
                let own = Numbers::one(at(members - 1 - round + from));
                let goes = if scatter { from <= round } else { from == round };
                let message = Message { from: at(from), to: at(from + 1), parts: parts(own), reduce: false };
                (goes && from + 1 < members).then_some(message)
            };
            Step { sent: message(behind), received: behind.checked_sub(1).and_then(message) }
        }
        CollectiveAlgorithm::Tree => {
            let (mut group, mut holder) = (0..members, root);
            for level in 0..=round {
                if group.len() <= 1 {
                    break;
                }
                let middle = group.start + group.len().div_ceil(2);
                let halves = [group.start..middle, middle..group.end];
                // The `holder` sends everything for the other half to its nearest member.
                let (other, nearest) = if holder < middle { (&halves[1], middle) } else { (&halves[0], middle - 1) };
                if level == round {
                    let own = Numbers { first: other.start, step: 1, count: other.len() };
                    return step(member, holder, nearest, parts(own));
                }
                if other.contains(&member) {
                    holder = nearest;
                }
                group = halves[usize::from(member >= middle)].clone();
            }
            Step::default()
        }
    }
}

pub fn exchange(algorithm: CollectiveAlgorithm, members: usize, member: usize, round: usize) -> Step {
    let copy = |from: usize, to: usize, parts: Numbers| Some(Message { from, to, parts, reduce: false });
    let [next, previous] = [1, members - 1].map(|distance| (member + distance) % members);
    match algorithm {
        CollectiveAlgorithm::Ring => {
            let part = |of: usize| Numbers::one((of + members - round) % members);
            Step { sent: copy(member, next, part(member)), received: copy(previous, member, part(previous)) }
        }
        CollectiveAlgorithm::Direct => {
            let distance = round + 1;
            let (to, from) = ((member + distance) % members, (member + members - distance) % members);
            let part = Numbers::one;
            Step { sent: copy(member, to, part(member)), received: copy(from, member, part(from)) }
        }
        CollectiveAlgorithm::Tree => {
            let level = levels(members) - 1 - round / 2;
            // The subgroup at this level is `first + i * stride` for `i < count`; this member has `i = at`.
            let (mut first, mut stride, mut count, mut at) = (0, 1, members, member);
            for _ in 0..level {
                let odd = at % 2;
                (first, count) = (first + odd * stride, (count + 1 - odd) / 2);
                (stride, at) = (2 * stride, at / 2);
            }
            let half =
                |odd: usize| Numbers { first: first + odd * stride, step: 2 * stride, count: (count + 1 - odd) / 2 };
            let number = |at: usize| first + at * stride;
            if round.is_multiple_of(2) {
                let partner = at ^ 1;
                if partner >= count {
                    return Step::default();
                }
                let sent = copy(member, number(partner), half(at % 2));
                return Step { sent, received: copy(number(partner), member, half(partner % 2)) };
            }
            if count.is_multiple_of(2) || count == 1 {
                return Step::default();
            }
            step(member, number(count - 2), number(count - 1), half(1))
        }
    }
}
