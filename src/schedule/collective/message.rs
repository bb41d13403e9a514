//! One message between the members of a group, and the messages of one member in one round.
//!
//! Invariant: a member sends at most one message in a round and receives at most one. Deliberately absent: the list of
//! the messages of a collective, and their bytes.

/// The part numbers `first`, `first + step`, and so on: `count` numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl Numbers {
    /// A single number.
    pub const fn one(first: usize) -> Numbers {
        Numbers { first, step: 1, count: 1 }
    }

    /// All numbers, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.first + at * self.step)
    }
}

/// One message between members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub parts: Numbers,
    /// Whether the parts are summands, which the receiver adds to its own values of these parts.
    pub reduce: bool,
}

impl Message {
    /// The reverse message: turns a scatter into a gather, or copies into summands.
    fn back(self, reduce: bool) -> Message {
        Message { from: self.to, to: self.from, reduce, ..self }
    }
}

/// The messages of one member in one round.
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
