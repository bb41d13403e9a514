//! Transfers between ranks of one node through memory that both can load and store.
//!
//! ```text
//! rank 0   box of 700 KiB --copy--> slots [256][256][188] of the channel 0 -> 1        complete when all is in slots
//! rank 1                                 \----copy----> boxes of any shape             while rank 0 fills the next slot
//! ```
//!
//! The first slot of a transfer says how large it is, so ends that disagree find out. Each end maps its boxes in its own way, without
//! other buffers. Two cores copy at the same time, the slots stay in a cache that both reach.
//!
//! Invariants: transfers of a pair follow one another in their channel; the leases of a box end when its bytes have been copied. An end that is
//! dropped with transfers in flight, which happens only after a failure, leaves its window to the others. Deliberately absent: reading the other's buffers in place (only their owner's process has them), ranks of other nodes.

use std::collections::VecDeque;
use std::time::Duration;

use super::bell::Bell;
use super::channel::{Inlet, Layout, Outlet};
use super::node::Node;
use super::window::Window;
use crate::comm::{CommError, Completion, Waker};
use crate::memory::{Incoming, Outgoing, ReadLease, WriteLease};

/// Slots in each direction that a peer has its turn for; then the next has.
const TURN: usize = 2;
/// Turns of all peers until the caller looks after other things.
const TURNS: usize = 4;

/// One rank's end of the channels of its node.
#[derive(Debug)]
pub(super) struct Shared {
    rank: usize,
    peers: Vec<Peer>,
    /// The peers that have anything in flight.
    active: Vec<usize>,
    bell: Bell,
    // Dropped last: all others point into it.
    window: Window,
}

#[derive(Debug)]
struct Peer {
    /// In the world.
    rank: usize,
    outlet: Outlet,
    inlet: Inlet,
    bell: Bell,
    sends: VecDeque<Send>,
    recvs: VecDeque<Recv>,
}

#[derive(Debug)]
struct Send {
    ticket: usize,
    total: usize,
    from: Outgoing,
}

#[derive(Debug)]
struct Recv {
    ticket: usize,
    total: usize,
    into: Incoming,
    begun: bool,
}

impl Shared {
    /// Collective over the node; `rank` is that of the world.
    ///
    /// # Errors
    /// MPI fails: most often as there is too little shared memory.
    pub(super) fn new(node: &Node, rank: usize) -> Result<Shared, CommError> {
        let communicator = &node.communicator;
        let layout = Layout::of(communicator.size());
        let window = Window::shared(communicator, Bell::BYTES + layout.segment_bytes())?;
        let mine = communicator.rank();
        let here = node.members.iter().enumerate().filter_map(|(rank, number)| Some((rank, (*number)?)));
        let peer = |(rank, number)| -> Result<Peer, CommError> {
            let theirs = window.segment(number)?;
            // SAFETY: every segment is as large as asked for, begins as zeros and lives as long as `window`, which is dropped
            // after the peers; this process has one outlet to and one inlet from each rank of its node.
            unsafe {
                let bell = Bell::new(theirs);
                let outlet = Outlet::new(layout, window.own().add(Bell::BYTES), number);
                let inlet = Inlet::new(layout, theirs.add(Bell::BYTES), mine);
                Ok(Peer { rank, outlet, inlet, bell, sends: VecDeque::new(), recvs: VecDeque::new() })
            }
        };
        let peers = here.map(peer).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: as above.
        let bell = unsafe { Bell::new(window.own()) };
        Ok(Shared { rank, peers, active: Vec::new(), bell, window })
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell
    }

    /// Starts sending to a rank of the node, by its number there.
    pub(super) fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) {
        let from = Outgoing::new(from);
        self.peers[peer].sends.push_back(Send { ticket, total: from.left(), from });
        self.activate(peer);
    }

    /// Starts receiving from a rank of the node, by its number there.
    pub(super) fn recv(&mut self, ticket: usize, peer: usize, into: Vec<WriteLease>) {
        let into = Incoming::new(into);
        self.peers[peer].recvs.push_back(Recv { ticket, total: into.left(), into, begun: false });
        self.activate(peer);
    }

    fn activate(&mut self, peer: usize) {
        if !self.active.contains(&peer) {
            self.active.push(peer);
        }
    }

    /// Copies what can be copied, up to some turns of all peers; whether there was anything.
    pub(super) fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let mut any = false;
        for _ in 0..TURNS {
            let mut moved = false;
            for &peer in &self.active {
                moved |= self.peers[peer].turn(self.rank, done)?;
            }
            self.active.retain(|&peer| !self.peers[peer].is_idle());
            any |= moved;
            if !moved {
                break;
            }
        }
        Ok(any)
    }

    /// Sleeps until a peer has moved, this rank's waker is raised, or `longest` has passed.
    pub(super) fn sleep(&self, longest: Duration, waker: &Waker) {
        waker.sleep_on(self.bell, longest, || self.active.iter().any(|&peer| self.peers[peer].can_move()));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.active.is_empty() {
            self.window.abandon();
        }
    }
}

impl Peer {
    fn is_idle(&self) -> bool {
        self.sends.is_empty() && self.recvs.is_empty()
    }

    fn can_move(&self) -> bool {
        !self.recvs.is_empty() && self.inlet.has_bytes() || !self.sends.is_empty() && self.outlet.has_room()
    }

    /// Copies some slots out, then some in; whether there were any.
    fn turn(&mut self, rank: usize, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let mut moved = false;
        for _ in 0..TURN {
            moved |= self.take(rank, done)?;
            moved |= self.give(done);
        }
        if moved {
            self.bell.ring();
        }
        Ok(moved)
    }

    fn take(&mut self, rank: usize, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let Some(recv) = self.recvs.front_mut() else { return Ok(false) };
        let (from, expected) = (self.rank, recv.total as u64);
        let taken = self.inlet.empty(|bytes, sent| {
            if !recv.begun && sent as u64 != expected || bytes.len() > recv.into.left() {
                return Err(CommError::Size { from, to: rank, sent: sent as u64, expected });
            }
            recv.begun = true;
            recv.into.write(bytes);
            Ok(())
        });
        let Some(taken) = taken else { return Ok(false) };
        taken?;
        if recv.into.left() == 0 {
            done.push(Completion { ticket: recv.ticket, bytes: expected });
            self.recvs.pop_front();
        }
        Ok(true)
    }

    fn give(&mut self, done: &mut Vec<Completion>) -> bool {
        let Some(send) = self.sends.front_mut() else { return false };
        let (total, left) = (send.total, send.from.left());
        if self.outlet.fill(total, left, |slot| send.from.read(slot)).is_none() {
            return false;
        }
        if send.from.left() == 0 {
            done.push(Completion { ticket: send.ticket, bytes: total as u64 });
            self.sends.pop_front();
        }
        true
    }
}
