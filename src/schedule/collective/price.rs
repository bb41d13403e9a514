//! Estimates the cost of a collective by simulating its messages on lanes, without building schedules.
//!
//! Every member has a send lane, a receive lane and workers. A transfer occupies the send lane of its sender and the
//! receive lane of its receiver, for the latency plus bytes / bandwidth. A received summand occupies one of two scratch
//! buffers until the workers have added it.
//!
//! ```text
//! a ring broadcast of 12 bytes in 2 pieces, 3 members; latency 1, 3 bytes a second
//!   0 -> 1   piece 0  0..3   piece 1  3..6
//!   1 -> 2   piece 0  3..6   piece 1  6..9          9 seconds; in one piece 2 (1 + 12/3) = 10
//! ```
//!
//! The simulation ignores that several messages may share a link. [`Price::carried`] is a measure of the load on shared
//! links.

use super::message::Message;
use super::pattern::Pattern;
use crate::distribution::tile_bounds;
use crate::machine::Machine;

/// The rates at which bytes are transferred and added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Seconds per transfer, independent of its size.
    pub latency: f64,
    /// Number of bytes that one member receives per second.
    pub bandwidth: f64,
    /// Number of bytes that one member's workers read or write in memory per second.
    pub memory: f64,
}

impl From<&Machine> for Rates {
    fn from(machine: &Machine) -> Rates {
        Rates {
            latency: machine.link_latency,
            bandwidth: machine.link_bandwidth,
            memory: machine.memory_bandwidth * machine.workers as f64,
        }
    }
}

/// The cost of a collective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Seconds until the last member has completed all of its transfers and additions.
    pub seconds: f64,
    /// Number of bytes that the busiest member receives.
    pub received: usize,
    /// The sum, over all messages, of bytes times the distance between the two members in the group. Distances are
    /// cyclic, so the first and the last member are neighbours.
    pub carried: usize,
}

/// Number of bytes moved between memory and processor for each byte that is added or copied. An addition reads both
/// summands and writes the sum. A copy reads its input, reads its target into the cache (write-allocate), and writes
/// its target.
const BYTES_MOVED: f64 = 3.0;

/// Returns the price of a pattern whose parts have `sizes` bytes. Each message is divided into `pieces` transfers.
/// Cost: O(pieces x parts in all messages), which is quadratic in the number of members for rings and direct messages.
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

/// The state of one member. `send`, `receive` and `work` are the times in seconds at which its lanes become free.
#[derive(Debug, Clone)]
struct Member {
    send: f64,
    receive: f64,
    work: f64,
    /// The times at which the two scratch buffers become free. The first is the buffer that is used next.
    slots: [f64; 2],
    received: usize,
    /// The time from which each piece of each part can be sent. The index of a piece is `part * pieces + piece`.
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
        // In a reduction, a member first copies its own summand to the buffer for its sum.
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
