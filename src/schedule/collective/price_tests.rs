//! Tests the cost of collectives with numbers computed by hand, by simulating the messages on lanes.
//!
//! A transfer occupies both ends' lanes for the latency plus bytes / bandwidth. A summand occupies one of two scratch
//! buffers until the workers have added it.
//!
//! ```text
//! a ring broadcast of 12 bytes in 2 pieces, 3 members; latency 1, 3 bytes a second
//!   0 -> 1   piece 0  0..3   piece 1  3..6
//!   1 -> 2   piece 0  3..6   piece 1  6..9          9 seconds; in one piece 2 (1 + 12/3) = 10
//! ```
//!
//! Shared links are ignored; [`Price::carried`] measures their load.

use super::{Collective, CollectiveAlgorithm, Message, Pattern};
use crate::distribution::tile_bounds;

/// The rates at which bytes are transferred and added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Seconds per transfer, independent of its size.
    pub latency: f64,
    /// Bytes that one member receives per second.
    pub bandwidth: f64,
    /// Bytes that one member's workers access in memory per second.
    pub memory: f64,
}

/// The cost of a collective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Seconds until the last member has completed all transfers and additions.
    pub seconds: f64,
    /// Bytes that the busiest member receives.
    pub received: usize,
    /// The sum over all messages of bytes times cyclic distance.
    pub carried: usize,
}

/// Bytes moved per byte added (two reads, one write) or copied (with write-allocate).
const BYTES_MOVED: f64 = 3.0;

/// Returns the price of a pattern with parts of `sizes` bytes, and `pieces` transfers per message. Cost: O(pieces x
/// parts in all messages), quadratic in the members for rings and direct messages.
///
/// # Panics
/// If the number of sizes is not equal to the number of parts.
pub fn price(pattern: &Pattern, sizes: &[usize], pieces: usize, rates: Rates) -> Price {
    assert_eq!(sizes.len(), pattern.parts(), "one size for each part");
    let mut simulation = Simulation::new(pattern, sizes, pieces, rates);
    for round in 0..pattern.rounds() {
        let messages: Vec<Message> = pattern.round(round).collect();
        for piece in 0..pieces {
            messages.iter().for_each(|message| simulation.transfer(message, piece));
        }
    }
    let received = simulation.members.iter().map(|member| member.received).max().unwrap_or(0);
    Price { seconds: simulation.end, received, carried: simulation.carried }
}

/// One member; `send`, `receive` and `work` are when its lanes become free, in seconds.
#[derive(Debug, Clone)]
struct Member {
    send: f64,
    receive: f64,
    work: f64,
    /// When the two scratch buffers become free, the next one first.
    slots: [f64; 2],
    received: usize,
    /// When each piece, at `part * pieces + piece`, can be sent.
    since: Vec<f64>,
}

struct Simulation<'a> {
    sizes: &'a [usize],
    pieces: usize,
    rates: Rates,
    members: Vec<Member>,
    carried: usize,
    end: f64,
}

impl<'a> Simulation<'a> {
    fn new(pattern: &Pattern, sizes: &'a [usize], pieces: usize, rates: Rates) -> Simulation<'a> {
        let since = vec![0.0; sizes.len() * pieces];
        let idle = Member { send: 0.0, receive: 0.0, work: 0.0, slots: [0.0; 2], received: 0, since };
        let mut simulation =
            Simulation { sizes, pieces, rates, members: vec![idle; pattern.members()], carried: 0, end: 0.0 };
        // A member first copies its own summand.
        if pattern.reduces() {
            for (number, &size) in sizes.iter().enumerate() {
                let seconds = simulation.work(size);
                let member = &mut simulation.members[number];
                member.work = seconds;
                member.since[number * pieces..(number + 1) * pieces].fill(seconds);
                simulation.end = simulation.end.max(seconds);
            }
        }
        simulation
    }

    fn work(&self, bytes: usize) -> f64 {
        BYTES_MOVED * bytes as f64 / self.rates.memory
    }

    fn transfer(&mut self, message: &Message, piece: usize) {
        let parts: Vec<usize> = message.parts.iter().collect();
        let bytes: usize = parts.iter().map(|&part| tile_bounds(self.sizes[part], self.pieces, piece).len()).sum();
        if bytes == 0 {
            return;
        }
        let at = |part: usize| part * self.pieces + piece;
        let (from, to) = (&self.members[message.from], &self.members[message.to]);
        let here = parts.iter().map(|&part| from.since[at(part)]).fold(0.0, f64::max);
        let mut start = from.send.max(to.receive).max(here);
        if message.reduce {
            start = start.max(to.slots[0]);
        }
        let end = start + self.rates.latency + bytes as f64 / self.rates.bandwidth;
        let mut there = end;
        let seconds = self.work(bytes);
        let members = self.members.len();
        self.members[message.from].send = end;
        let to = &mut self.members[message.to];
        to.receive = end;
        to.received += bytes;
        if message.reduce {
            there = to.work.max(end) + seconds;
            to.work = there;
            to.slots = [to.slots[1], there];
        }
        for &part in &parts {
            to.since[part * self.pieces + piece] = there;
        }
        let distance = message.from.abs_diff(message.to);
        self.carried += bytes * distance.min(members - distance);
        self.end = self.end.max(there);
    }
}

/// With these rates, transferring 6 bytes takes 3 seconds, and adding them takes 1 second.
pub const RATES: Rates = Rates { latency: 1.0, bandwidth: 3.0, memory: 18.0 };

fn seconds(collective: Collective, sizes: &[usize], pieces: usize) -> [f64; 3] {
    let members = if matches!(collective, Collective::Broadcast { .. }) { 3 } else { sizes.len() };
    CollectiveAlgorithm::ALL
        .map(|algorithm| price(&Pattern::new(collective, algorithm, members), sizes, pieces, RATES).seconds)
}

#[test]
fn prices_of_copies() {
    // Every algorithm needs two transfers of 5 seconds, one after the other. Ring: 0 -> 1, then 1 -> 2. Tree: 0 -> 2,
    // then 0 -> 1. Direct: 0 -> 1, then 0 -> 2.
    assert_eq!(seconds(Collective::Broadcast { root: 0 }, &[12], 1), [10.0, 10.0, 10.0]);
    // Each of the two pieces takes 3 seconds. The ring forwards the first piece while it receives the second.
    assert_eq!(seconds(Collective::Broadcast { root: 0 }, &[12], 2), [9.0, 12.0, 12.0]);
    // Tree: 12 bytes are sent to member 2 (5 seconds), then two members send 6 bytes at the same time.
    assert_eq!(seconds(Collective::Scatter { root: 0 }, &[6; 4], 1), [9.0, 8.0, 9.0]);
    assert_eq!(seconds(Collective::Gather { root: 0 }, &[6; 4], 1), [9.0, 8.0, 9.0]);
    // Tree: a transfer of 6 bytes, then a transfer of 12 bytes.
    assert_eq!(seconds(Collective::AllGather, &[6; 4], 1), [9.0, 8.0, 9.0]);
    // Empty parts are not sent. In a ring and in a tree of three members, the only non-empty part is sent twice, one
    // transfer after the other.
    assert_eq!(seconds(Collective::AllGather, &[0, 6, 0], 1), [6.0, 6.0, 6.0]);
    assert_eq!(seconds(Collective::AllGather, &[0; 5], 1), [0.0; 3]);
}

#[test]
fn prices_of_reductions() {
    // Ring: a member adds its summand before it forwards the sum. Tree: 5 seconds to transfer two parts and 2 to add
    // them, then 3 and 1 for one part. Direct: three transfers, then the addition of the last summand.
    assert_eq!(seconds(Collective::ReduceScatter, &[6; 4], 1), [12.0, 11.0, 10.0]);
    // The ring adds one half of a part while it receives the other: 6 transfers of 2 seconds each, and half an
    // addition.
    assert_eq!(seconds(Collective::ReduceScatter, &[6; 4], 2)[0], 12.5);
    assert_eq!(seconds(Collective::AllReduce, &[6; 4], 1), [21.0, 19.0, 19.0]);
    // Each addition takes 10 seconds, and so does copying a member's own summand. Messages must wait for a free scratch
    // buffer.
    let slow = Rates { memory: 1.8, ..RATES };
    let direct = Pattern::new(Collective::ReduceScatter, CollectiveAlgorithm::Direct, 5);
    assert_eq!(price(&direct, &[6; 5], 1, slow), Price { seconds: 50.0, received: 24, carried: 5 * 6 * 6 });
    // Only one part is non-empty. The tree has two levels, the ring has three transfers, and with direct messages one
    // member receives three messages.
    assert_eq!(seconds(Collective::ReduceScatter, &[6, 0, 0, 0], 1), [12.0, 8.0, 10.0]);
}
