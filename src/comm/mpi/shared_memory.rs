//! Moves bytes between ranks of one node through shared memory, in slots of a channel or, if all boxes of a transfer
//! are in readable segments, by describing where they are.
//!
//! Both cores copy at the same time, with streaming stores, because they may share no cache (`StoreKind`).
//!
//! Invariants: transfers between two ranks use their channel one after the other. A lease ends when its box, or all
//! boxes of its description, have been copied. Dropped with transfers in flight, an end leaks the leases of described
//! boxes.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use super::Communicator;
use super::box_descriptions::{self, Mapped};
use super::channel::{Consumer, Filled, Layout, Producer, begin};
use super::collective::Reduce;
use super::node::Node;
use super::window::NodeMemory;
use crate::comm::bell::Bell;
use crate::comm::{CommError, Completion, Waker};
use crate::memory::{
    Aligned, ExportedView, Incoming, Outgoing, ReadLease, RemoteReader, StoreKind, WantedSegments, WriteLease,
};
use crate::sync::atomic::{Ordering, fence};

/// Slots per peer and direction before the next peer's turn.
const SLOTS_PER_TURN: usize = 2;
const COPY_BYTES: usize = 512 << 10;
/// Smaller transfers are copied through slots.
const MIN_LENT_BYTES: usize = 16 << 10;
const SAMPLE_BYTES: usize = 64 << 10;
/// The first bytes of larger transfers have left the cache before the last arrives.
const MAX_CACHED_BYTES: usize = 8 << 20;
const TURNS_PER_POLL: usize = 4;

#[derive(Debug)]
pub(super) struct Shared {
    rank: usize,
    process: u32,
    peers: Vec<Peer>,
    active: Vec<usize>,
    /// Set if the node's ranks can read each other's segments.
    readable_segments: Option<WantedSegments>,
    mapped: Mapped,
    bell: Bell,
    /// The memory that the other fields point into.
    _memory: NodeMemory,
}

#[derive(Debug)]
struct Peer {
    rank: usize,
    producer: Producer,
    consumer: Consumer,
    bell: Bell,
    sends: VecDeque<Send>,
    /// Sends that the peer reads in place, by slot.
    lent_sends: VecDeque<(u64, Send)>,
    copied: u64,
    recvs: VecDeque<Recv>,
    /// Whether this rank has made progress since the last ring.
    moved: bool,
}

#[derive(Debug)]
struct Send {
    ticket: usize,
    total: usize,
    from: Outgoing,
    description: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Recv {
    ticket: usize,
    total: usize,
    into: Incoming,
    begun: bool,
    reader: Option<RemoteReader>,
}

impl Shared {
    pub(super) fn bytes(ranks: usize) -> usize {
        Bell::BYTES + Layout::of(ranks).segment_bytes()
    }

    /// Collective over the world.
    ///
    /// # Errors
    /// If MPI fails, or the ranks of any node cannot share memory.
    pub(super) fn new(world: &Communicator, node: &Node) -> Result<Shared, CommError> {
        let memory = NodeMemory::new(world, node, Self::bytes(node.ranks))?;
        let peers = peers(node, &memory);
        // All ranks' memory is initialised when this returns.
        let readable_segments = can_read(world, node)?;
        Ok(Shared {
            rank: world.rank(),
            process: std::process::id(),
            peers,
            active: Vec::new(),
            readable_segments,
            mapped: Mapped::new(node.ranks),
            // SAFETY: `peers` has initialised the bell, whose memory lives as long as `memory`.
            bell: unsafe { Bell::new(memory.segment(node.number)) },
            _memory: memory,
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell
    }

    pub(super) fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) {
        let from = Outgoing::new(from);
        let peers = &mut self.peers[peer];
        let lend = self.readable_segments.is_some() && from.left() >= MIN_LENT_BYTES;
        let description =
            if lend { from.lend().map(|boxes| box_descriptions::write(self.process, &boxes)) } else { None };
        let description = description.filter(|description| description.len() <= peers.producer.slot_bytes());
        peers.sends.push_back(Send { ticket, total: from.left(), from, description });
        self.activate(peer);
    }

    pub(super) fn recv(&mut self, ticket: usize, peer: usize, into: Vec<WriteLease>) {
        let into = Incoming::new(into);
        self.peers[peer].recvs.push_back(Recv { ticket, total: into.left(), into, begun: false, reader: None });
        self.activate(peer);
    }

    fn activate(&mut self, peer: usize) {
        if !self.active.contains(&peer) {
            self.active.push(peer);
        }
    }

    /// Copies without waiting, up to `TURNS_PER_POLL` turns per peer.
    pub(super) fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let mut any = false;
        for _ in 0..TURNS_PER_POLL {
            let mut moved = false;
            for &peer in &self.active {
                moved |= self.peers[peer].turn(self.rank, &mut self.mapped, done)?;
            }
            any |= moved;
            if !moved {
                break;
            }
        }
        for &peer in &self.active {
            // Waking a thread costs as much as copying hundreds of kilobytes.
            if std::mem::take(&mut self.peers[peer].moved) {
                self.peers[peer].bell.ring();
            }
        }
        self.active.retain(|&peer| !self.peers[peer].is_idle());
        Ok(any)
    }

    pub(super) fn sleep(&self, longest: Duration, waker: &Waker) {
        waker.sleep_on(self.bell, longest, || self.active.iter().any(|&peer| self.peers[peer].can_move()));
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The peer may still read the lent boxes, so their leases leak.
        std::mem::forget(std::mem::take(&mut self.lent_sends));
    }
}

impl Peer {
    fn is_idle(&self) -> bool {
        self.sends.is_empty() && self.lent_sends.is_empty() && self.recvs.is_empty()
    }

    fn can_move(&self) -> bool {
        !self.recvs.is_empty() && self.consumer.has_bytes()
            || !self.sends.is_empty() && self.producer.has_room()
            || self.lent_sends.front().is_some_and(|(slot, _)| self.producer.is_emptied(*slot))
    }

    fn turn(&mut self, rank: usize, mapped: &mut Mapped, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let mut moved = false;
        for _ in 0..SLOTS_PER_TURN {
            moved |= self.consume_slot(rank, mapped, done)?;
            moved |= self.fill_slot(done);
            moved |= self.complete_lent(done);
        }
        self.moved |= moved;
        Ok(moved | self.peer_advances())
    }

    /// Whether it has copied more since the last call.
    fn peer_advances(&mut self) -> bool {
        let copied = self.producer.copied();
        std::mem::replace(&mut self.copied, copied) != copied
    }

    fn consume_slot(
        &mut self,
        rank: usize,
        mapped: &mut Mapped,
        done: &mut Vec<Completion>,
    ) -> Result<bool, CommError> {
        let Some(recv) = self.recvs.front_mut() else { return Ok(false) };
        let (from, expected) = (self.rank, recv.total as u64);
        let taken = self.consumer.empty(|Filled { bytes, total, is_description }| {
            let wrong = CommError::Size { from, to: rank, sent: total as u64, expected };
            if !recv.begun && total as u64 != expected || !is_description && bytes.len() > recv.into.left() {
                return Err(wrong);
            }
            recv.begun = true;
            if !is_description {
                recv.into.write(bytes, store_kind(total));
                return Ok(true);
            }
            let refused = |error: Error| CommError::NoSharedMemory(format!("of rank {from}: {error}"));
            let mut reader = match recv.reader.take() {
                Some(reader) => reader,
                None => mapped.read(bytes).map_err(refused)?,
            };
            if reader.left() != recv.into.left() {
                return Err(refused(ErrorKind::InvalidData.into()));
            }
            let bytes = reader.left().min(COPY_BYTES);
            recv.into.copy(&mut reader, bytes, store_kind(total));
            recv.reader = (reader.left() > 0).then_some(reader);
            Ok(recv.into.left() == 0)
        })?;
        if taken && recv.into.left() == 0 {
            done.push(Completion { ticket: recv.ticket, bytes: expected });
            self.recvs.pop_front();
        }
        Ok(taken)
    }

    fn fill_slot(&mut self, done: &mut Vec<Completion>) -> bool {
        let Some(send) = self.sends.front_mut() else { return false };
        let (total, left) = (send.total, send.from.left());
        let slot = match &send.description {
            Some(description) => self.producer.fill_description(total, description),
            None => self.producer.fill(total, left, |slot| send.from.read(slot, StoreKind::Streaming)),
        };
        let Some(slot) = slot else { return false };
        if send.description.is_some() {
            self.lent_sends.extend(self.sends.pop_front().map(|send| (slot, send)));
        } else if send.from.left() == 0 {
            done.push(Completion { ticket: send.ticket, bytes: total as u64 });
            self.sends.pop_front();
        }
        true
    }

    fn complete_lent(&mut self, done: &mut Vec<Completion>) -> bool {
        match self.lent_sends.front() {
            Some((slot, send)) if self.producer.is_emptied(*slot) => {
                done.push(Completion { ticket: send.ticket, bytes: send.total as u64 });
                self.lent_sends.pop_front();
                true
            }
            _ => false,
        }
    }
}

fn store_kind(total: usize) -> StoreKind {
    if total > MAX_CACHED_BYTES { StoreKind::Streaming } else { StoreKind::Cached }
}

fn peers(node: &Node, memory: &NodeMemory) -> Vec<Peer> {
    let (layout, own) = (Layout::of(node.ranks), memory.segment(node.number));
    // SAFETY: a segment has room for the bell, followed by the channels. No rank uses them before all ranks have
    // initialised them (`Shared::new`).
    unsafe {
        Bell::begin(own);
        begin(layout, own.add(Bell::BYTES));
    }
    fence(Ordering::SeqCst);
    let here = node.members.iter().enumerate().filter_map(|(rank, number)| Some((rank, (*number)?)));
    let peer = |(rank, number)| {
        let theirs = memory.segment(number);
        // SAFETY: segments live as long as the memory, which outlives the peers. There is one channel from each rank of
        // the node to each. This process creates the only producer of each channel that it sends through, and the only
        // consumer of each that it receives from.
        unsafe {
            let bell = Bell::new(theirs);
            let producer = Producer::new(layout, own.add(Bell::BYTES), number);
            let consumer = Consumer::new(layout, theirs.add(Bell::BYTES), node.number);
            let (sends, lent_sends, recvs) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
            Peer { rank, producer, consumer, bell, sends, lent_sends, copied: 0, recvs, moved: false }
        }
    };
    here.map(peer).collect()
}

/// If the ranks of this node can read each other's segments, makes large buffers segments. Collective over the world.
fn can_read(world: &Communicator, node: &Node) -> Result<Option<WantedSegments>, CommError> {
    if !node.any_shared() {
        return world.barrier().map(|()| None);
    }
    let wanted = WantedSegments::default();
    // Without a sample, the description is empty.
    let mut sample = Aligned::zeroed(SAMPLE_BYTES, &Default::default()).ok();
    let process = std::process::id();
    // The token identifies this process even if another namespace has its id.
    let address = sample.as_ref().map_or(0, |sample| sample.as_ptr() as u64);
    let token = [u64::from(process), address, world.rank() as u64].map(u64::to_ne_bytes).concat();
    if let Some(sample) = &mut sample {
        sample.as_mut_slice()[..token.len()].copy_from_slice(&token);
    }
    let description = sample
        .as_ref()
        .and_then(ExportedView::sample)
        .map(|view| box_descriptions::write(process, &[view]))
        .unwrap_or_default();
    let all = world.all_gather_bytes(&[token.as_slice(), &description].concat())?;
    let read = |(bytes, number): (&Vec<u8>, &Option<usize>)| {
        if number.is_none() {
            return true;
        }
        let (token, description) = bytes.split_at(token.len());
        let mut there = vec![0; token.len()];
        let Ok(mut reader) = Mapped::new(node.ranks).read(description) else { return false };
        if reader.left() != SAMPLE_BYTES {
            return false;
        }
        reader.read(&mut there);
        there == token
    };
    let mut failed = vec![0; world.size()];
    failed[node.node] = u64::from(!all.iter().zip(&node.members).all(read));
    let well = world.all_reduce(Reduce::Max, &failed)?[node.node] == 0;
    // All ranks have read it.
    drop(sample);
    Ok((well && node.ranks > 1).then_some(wanted))
}
