//! Describes a message between two members of a group, and a member's messages in one round.
//!
//! Invariant: a member sends and receives at most one message per round.

/// The numbers of `count` parts, from `first` in steps of `step`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl Numbers {
    /// Returns the list of only `first`.
    pub const fn one(first: usize) -> Numbers {
        Numbers { first, step: 1, count: 1 }
    }

    /// Iterates over all numbers in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.first + at * self.step)
    }
}

/// A message from member `from` to member `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub parts: Numbers,
    /// Whether the receiver adds the message, which contains summands, to its own values.
    pub reduce: bool,
}

impl Message {
    /// Reverses the message: all messages reversed turn a scatter into a gather, and an all-gather into a
    /// reduce-scatter (if `reduce`).
    fn back(self, reduce: bool) -> Message {
        Message { from: self.to, to: self.from, reduce, ..self }
    }
}

/// The messages that one member sends and receives in one round.
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
