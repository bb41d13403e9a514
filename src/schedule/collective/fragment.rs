//! Generates one rank's tasks for a collective from its pattern (the messages between members).
//!
//! Copied parts are received in place, and summands in two alternating scratch buffers. Each piece of a message is a
//! transfer.
//!
//! Invariants: all members pass the same algorithm and number of pieces, and views of equal extents for each part.

use super::pattern::Pattern;
use super::steps::Message;
use super::{Collective, CollectiveAlgorithm, Group};
use crate::distribution::{Bounds, Region};
use crate::schedule::{Buffer, BufferId, Builder, CarriedSum, Home, Transfer, View, Work};

/// Where this rank stores the parts of a collective.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// For each part, even if only forwarded, its boxes; in a reduction, those of the sum.
    pub at: Vec<Vec<View>>,
    /// For each part of a reduction, this rank's summand, in which forwarded partial sums accumulate.
    pub summands: Vec<Vec<View>>,
    /// Whether `beta` times the old values are added.
    pub onto: bool,
}

/// What the messages of a collective carry, for proofs of one rank.
pub struct Meaning<'a> {
    /// The first number of the transfers' keys.
    pub phase: usize,
    /// In indices of the whole tensor; `None` if the part is empty.
    pub part: &'a dyn Fn(usize) -> Option<Bounds>,
    /// The products in a member's summand, in order.
    pub products: &'a dyn Fn(usize) -> Vec<Region>,
}

impl Meaning<'_> {
    fn of(&self, pattern: &Pattern, message: &Message, piece: usize, pieces: usize) -> (Vec<Bounds>, CarriedSum) {
        let boxes = message.parts.iter().filter_map(|part| Some(tile((self.part)(part)?, pieces, piece)));
        let members =
            message.parts.iter().next().filter(|_| message.reduce).map(|part| pattern.sum(message.from, part));
        let sum = members.map_or(CarriedSum::Complete, |members| {
            CarriedSum::Products(members.into_iter().flat_map(|member| (self.products)(member)).collect())
        });
        (boxes.collect(), sum)
    }
}

fn tile(bounds: Bounds, pieces: usize, piece: usize) -> Bounds {
    let empty = || bounds.iter().map(|_| 0..0).collect();
    View { buffer: 0, bounds: bounds.clone() }.tile(pieces, piece).map_or_else(empty, |view| view.bounds)
}

impl Parts {
    /// `own` is a receiver's own part, and `None` for the sender.
    fn views(&self, message: &Message, piece: usize, pieces: usize, own: Option<usize>) -> Vec<View> {
        let views = message.parts.iter().flat_map(|part| {
            let place = if message.reduce && own != Some(part) { &self.summands } else { &self.at };
            place[part].iter().filter_map(move |view| view.tile(pieces, piece))
        });
        views.collect()
    }
}

/// Appends this rank's tasks for a collective, with `pieces` transfers per message.
///
/// # Panics
/// If `parts` lacks a list for a part that this rank sends, receives or adds.
pub fn append(
    builder: &mut Builder,
    (collective, algorithm): (Collective, CollectiveAlgorithm),
    group: &Group,
    parts: &Parts,
    pieces: usize,
    meaning: Option<&Meaning>,
) {
    let pattern = Pattern::new(collective, algorithm, group.ranks().len());
    let (me, rank) = (group.me(), |member: usize| group.ranks()[member]);
    if pattern.reduces() {
        for (input, out) in parts.summands[me].iter().zip(&parts.at[me]).filter(|(_, out)| out.elements() > 0) {
            let (input, out) = (input.clone(), out.clone());
            builder.work(if parts.onto { Work::Update { input, out } } else { Work::Unary { input, out } });
        }
    }
    let arriving = |message: &Message, piece: usize| parts.views(message, piece, pieces, Some(me));
    let slots = slots(builder, &pattern, me, pieces, arriving);
    let mut turn = 0;
    for round in 0..pattern.rounds() {
        let step = pattern.step(me, round);
        let describe = |transfer: Transfer, message: &Message, piece: usize| {
            if let Some(meaning) = meaning {
                transfer.carries([meaning.phase, round, piece], || meaning.of(&pattern, message, piece, pieces));
            }
        };
        for piece in 0..pieces {
            if let Some(message) = &step.sent {
                let sent = builder.send(rank(message.to), parts.views(message, piece, pieces, None));
                describe(sent, message, piece);
            }
            let Some(message) = &step.received else { continue };
            let targets = arriving(message, piece);
            if !message.reduce {
                describe(builder.recv(rank(message.from), targets), message, piece);
            } else if !targets.is_empty() {
                let inputs: Vec<View> = slots[turn % slots.len()]
                    .iter()
                    .zip(&targets)
                    .map(|(&slot, view)| View::corner(slot, view.extents()))
                    .collect();
                turn += 1;
                describe(builder.recv(rank(message.from), inputs.clone()), message, piece);
                for (input, out) in inputs.into_iter().zip(targets) {
                    builder.work(Work::Add { input, out });
                }
            }
        }
    }
}

/// Up to two, each with as many buffers as the message with the most boxes.
fn slots(
    builder: &mut Builder,
    pattern: &Pattern,
    me: usize,
    pieces: usize,
    arriving: impl Fn(&Message, usize) -> Vec<View>,
) -> Vec<Vec<BufferId>> {
    let mut count = 0;
    let mut boxes: Vec<Buffer> = Vec::new();
    for round in 0..pattern.rounds() {
        let Some(message) = pattern.step(me, round).received.filter(|message| message.reduce) else { continue };
        for targets in (0..pieces).map(|piece| arriving(&message, piece)).filter(|targets| !targets.is_empty()) {
            count += 1;
            for (at, view) in targets.iter().enumerate() {
                if at == boxes.len() {
                    let extents = vec![0; view.bounds.len()];
                    boxes.push(Buffer {
                        extents,
                        home: Home::Exchange,
                        place: None,
                        ..builder.buffer(view.buffer).clone()
                    });
                }
                let extents = boxes[at].extents.iter_mut().zip(&view.bounds);
                extents.for_each(|(extent, range)| *extent = (*extent).max(range.len()));
            }
        }
    }
    let slot = |_| {
        let boxes = boxes.iter().map(|buffer| Buffer { within: buffer.extents.clone(), ..buffer.clone() });
        boxes.map(|buffer| builder.declare(buffer)).collect()
    };
    (0..count.min(2)).map(slot).collect()
}
