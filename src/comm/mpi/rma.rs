//! Moves bytes by one-sided gets of exposed memory.
//!
//! An endpoint has one window, in one epoch, with a fixed number of slots (buffers of equal size) per rank. Notes
//! (messages) announce filled and free slots.
//!
//! Invariants: transfers between two ranks are announced in posting order. The oldest gets free slots first, because
//! others may wait for it. A slot is reused only once its receiver has reported it free. A dropped endpoint leaks the
//! memory that MPI may still use.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ::mpi::environment::is_finalized;

use super::Communicator;
use super::packing::Pool;
use super::requests::{Outcome, Piece, Requests};
use super::window::Window;
use crate::comm::{CommError, Completion};
use crate::memory::{Aligned, Footprint, Incoming, Outgoing, ReadLease, StoreKind, WriteLease};

const SLOTS: usize = 16;
const MAX_SLOTS_PER_TRANSFER: usize = SLOTS / 4;
const MAX_SLOT_BYTES: usize = 1 << 20;
const MIN_SLOT_BYTES: usize = 64 << 10;
/// Limit on a node's bytes in slots; slots of minimum size may exceed it.
const MAX_NODE_BYTES: usize = 128 << 20;

/// A note's kind, slot, and bytes in the slot and in the whole transfer.
const NOTE_LEN: usize = 4;
type Note = [u64; NOTE_LEN];
const FILLED: u64 = 1;
const FREE: u64 = 2;

#[derive(Debug)]
pub(super) struct Rma {
    communicator: Communicator,
    window: Option<Window>,
    slot: usize,
    requests: Requests,
    calls: HashMap<u64, Call>,
    started: u64,
    free: Vec<usize>,
    pool: Pool,
    sends: VecDeque<Send>,
    peers: Vec<Peer>,
}

#[derive(Debug)]
enum Call {
    SendNote { _note: Box<Note> },
    RecvNote { peer: usize, note: Box<Note> },
    Get { peer: usize },
}

#[derive(Debug)]
struct Send {
    ticket: usize,
    peer: usize,
    total: usize,
    from: Outgoing,
    unannounced: usize,
    slots: Vec<usize>,
}

#[derive(Debug, Default)]
struct Peer {
    recvs: VecDeque<Recv>,
    /// In order, without a get yet.
    announcements: VecDeque<Note>,
    /// Posted pieces that the peer has not announced; negative if announced before posting.
    awaited: isize,
    /// Not freed by the peer yet.
    unread_slots: usize,
    awaits_note: bool,
    gets: VecDeque<Get>,
}

#[derive(Debug)]
struct Get {
    call: u64,
    slot: u64,
    buffer: Aligned,
    bytes: usize,
    done: bool,
}

#[derive(Debug)]
struct Recv {
    ticket: usize,
    total: usize,
    requested: usize,
    into: Incoming,
}

impl Rma {
    pub(super) fn bytes(max_ranks: usize) -> usize {
        SLOTS * slot(max_ranks)
    }

    /// For nodes of up to `max_ranks` ranks. Collective.
    ///
    /// # Errors
    /// If MPI fails on any rank, mostly for lack of shared memory.
    pub(super) fn new(
        communicator: &Communicator,
        max_ranks: usize,
        footprint: Arc<Footprint>,
    ) -> Result<Rma, CommError> {
        let communicator = communicator.another()?;
        let window = Window::remote(&communicator, Self::bytes(max_ranks))?;
        let peers = (0..communicator.size()).map(|_| Peer::default()).collect();
        Ok(Rma {
            communicator,
            window: Some(window),
            slot: slot(max_ranks),
            requests: Requests::default(),
            calls: HashMap::new(),
            started: 0,
            free: (0..SLOTS).rev().collect(),
            pool: Pool::new(footprint),
            sends: VecDeque::new(),
            peers,
        })
    }

    /// Collective. No rank may have transfers in flight.
    pub(super) fn close(mut self) -> Result<(), CommError> {
        self.drain();
        self.window.take().map_or(Ok(()), Window::close)
    }

    fn drain(&mut self) {
        while self.is_idle() && !self.requests.is_empty() && self.poll(&mut Vec::new()).is_ok() {}
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.is_idle()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.sends.is_empty() && self.peers.iter().all(|peer| peer.recvs.is_empty())
    }

    pub(super) fn packing_bytes(&self) -> usize {
        self.pool.peak()
    }

    pub(super) fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) -> Result<(), CommError> {
        let from = Outgoing::new(from);
        let total = from.left();
        let unannounced = pieces(total, self.slot);
        self.sends.push_back(Send { ticket, peer, total, from, unannounced, slots: Vec::new() });
        self.fill_slots()
    }

    pub(super) fn recv(&mut self, ticket: usize, peer: usize, into: Vec<WriteLease>) -> Result<(), CommError> {
        let into = Incoming::new(into);
        let total = into.left();
        self.peers[peer].awaited += pieces(total, self.slot) as isize;
        self.peers[peer].recvs.push_back(Recv { ticket, total, requested: 0, into });
        self.get(peer)?;
        self.post_note_recv(peer)
    }

    pub(super) fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let mut any = self.progress(done)?;
        if any && self.is_idle() {
            // Polling stops after the last transfer.
            any |= self.progress(done)?;
        }
        self.fill_slots()?;
        Ok(any)
    }

    fn progress(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let finished = self.requests.take_finished(&self.communicator)?;
        let any = !finished.is_empty();
        for end in finished {
            let Some(call) = self.calls.remove(&end.piece.transfer) else { continue };
            if let Outcome::Failed(message) = end.outcome {
                return Err(CommError::Mpi { call: "MPI_Testsome", message });
            }
            match call {
                Call::SendNote { .. } => {}
                Call::RecvNote { peer, note } => self.handle_note(peer, *note, done)?,
                Call::Get { peer } => self.handle_piece(peer, end.piece.transfer, done)?,
            }
        }
        Ok(any)
    }

    fn fill_slots(&mut self) -> Result<(), CommError> {
        let (size, mut busy) = (self.slot, Vec::new());
        for at in 0..self.sends.len() {
            if self.free.is_empty() {
                break;
            }
            let (Some(window), send) = (&self.window, &mut self.sends[at]) else { break };
            let peer = send.peer;
            if busy.contains(&peer) {
                continue;
            }
            let mut notes: Vec<Note> = Vec::new();
            while send.unannounced > 0 && send.slots.len() < MAX_SLOTS_PER_TRANSFER {
                let Some(slot) = self.free.pop() else { break };
                let bytes = send.from.left().min(size);
                // SAFETY: the slot is in this rank's segment, and it is free, so no call from another rank reads it.
                let memory = unsafe { std::slice::from_raw_parts_mut(window.own().as_ptr().add(slot * size), bytes) };
                send.from.read(memory, StoreKind::Cached);
                send.unannounced -= 1;
                send.slots.push(slot);
                notes.push([FILLED, slot as u64, bytes as u64, send.total as u64]);
            }
            if send.unannounced > 0 {
                busy.push(peer);
            }
            if !notes.is_empty() {
                window.sync()?;
                self.peers[peer].unread_slots += notes.len();
                notes.into_iter().try_for_each(|note| self.send_note(peer, note))?;
                self.post_note_recv(peer)?;
            }
        }
        Ok(())
    }

    fn handle_note(&mut self, peer: usize, note: Note, done: &mut Vec<Completion>) -> Result<(), CommError> {
        self.peers[peer].awaits_note = false;
        let [what, slot, ..] = note;
        if what == FREE {
            self.peers[peer].unread_slots -= 1;
            let slot = slot as usize;
            self.free.push(slot);
            if let Some(at) = self.sends.iter().position(|send| send.slots.contains(&slot)) {
                let send = &mut self.sends[at];
                send.slots.retain(|&other| other != slot);
                if send.slots.is_empty() && send.unannounced == 0 {
                    done.push(Completion { ticket: send.ticket, bytes: send.total as u64 });
                    self.sends.remove(at);
                }
            }
        } else {
            self.peers[peer].awaited -= 1;
            self.peers[peer].announcements.push_back(note);
            self.get(peer)?;
        }
        self.post_note_recv(peer)
    }

    fn get(&mut self, peer: usize) -> Result<(), CommError> {
        let Some(window) = &self.window else { return Ok(()) };
        let theirs = &mut self.peers[peer];
        let mut next = theirs.recvs.iter().position(|recv| !recv.is_requested());
        while let (Some(at), Some(&[_, slot, bytes, total])) = (next, theirs.announcements.front()) {
            theirs.announcements.pop_front();
            let recv = &mut theirs.recvs[at];
            let (bytes, expected) = (bytes as usize, recv.total as u64);
            if total != expected || recv.total - recv.requested.min(recv.total) < bytes {
                let to = self.communicator.rank();
                return Err(CommError::Size { from: peer, to, sent: total, expected });
            }
            recv.requested += bytes.max(1);
            next = if recv.is_requested() { Some(at + 1).filter(|&at| at < theirs.recvs.len()) } else { next };
            self.started += 1;
            let (call, buffer) = (self.started, self.pool.take(bytes)?);
            let piece = Piece { transfer: call, offset: slot as usize * self.slot, bytes, tag: 0 };
            // SAFETY: the buffer stays in place, in `gets`, until the request is complete, or is leaked; the slot has
            // that many bytes, and they stay unchanged until its owner is notified that it is free.
            unsafe { self.requests.get(&self.communicator, window, peer, piece, buffer.as_ptr())? };
            self.calls.insert(call, Call::Get { peer });
            theirs.gets.push_back(Get { call, slot, buffer, bytes, done: false });
        }
        Ok(())
    }

    fn handle_piece(&mut self, peer: usize, call: u64, done: &mut Vec<Completion>) -> Result<(), CommError> {
        let theirs = &mut self.peers[peer];
        let Some(get) = theirs.gets.iter_mut().find(|get| get.call == call) else { return Ok(()) };
        get.done = true;
        let slot = get.slot;
        while theirs.gets.front().is_some_and(|get| get.done) {
            let (Some(get), Some(recv)) = (theirs.gets.pop_front(), theirs.recvs.front_mut()) else { break };
            recv.into.write(&get.buffer.as_slice()[..get.bytes], StoreKind::Cached);
            self.pool.give_back(get.buffer);
            if recv.into.left() == 0 {
                done.push(Completion { ticket: recv.ticket, bytes: recv.total as u64 });
                theirs.recvs.pop_front();
            }
        }
        self.send_note(peer, [FREE, slot, 0, 0])
    }

    fn send_note(&mut self, peer: usize, note: Note) -> Result<(), CommError> {
        self.started += 1;
        let note = Box::new(note);
        let piece = Piece { transfer: self.started, offset: 0, bytes: size_of::<Note>(), tag: 0 };
        // SAFETY: the note stays in place, in `calls`, until the request is complete, or is leaked.
        unsafe { self.requests.send(&self.communicator, peer, piece, note.as_ptr().cast())? };
        self.calls.insert(self.started, Call::SendNote { _note: note });
        Ok(())
    }

    fn post_note_recv(&mut self, peer: usize) -> Result<(), CommError> {
        let theirs = &mut self.peers[peer];
        if theirs.awaits_note || (theirs.awaited <= 0 && theirs.unread_slots == 0) {
            return Ok(());
        }
        theirs.awaits_note = true;
        self.started += 1;
        let mut note = Box::new([0; NOTE_LEN]);
        let piece = Piece { transfer: self.started, offset: 0, bytes: size_of::<Note>(), tag: 0 };
        // SAFETY: as in `send_note`.
        unsafe { self.requests.recv(&self.communicator, peer, piece, note.as_mut_ptr().cast())? };
        self.calls.insert(self.started, Call::RecvNote { peer, note });
        Ok(())
    }
}

impl Recv {
    fn is_requested(&self) -> bool {
        self.requested >= self.total.max(1)
    }
}

fn slot(max_ranks: usize) -> usize {
    let slot = (MAX_NODE_BYTES / (SLOTS * max_ranks.max(1))).clamp(MIN_SLOT_BYTES, MAX_SLOT_BYTES);
    slot - slot % MIN_SLOT_BYTES
}

fn pieces(bytes: usize, slot: usize) -> usize {
    bytes.div_ceil(slot).max(1)
}

impl Drop for Rma {
    fn drop(&mut self) {
        // If the user has already finalised MPI, nothing is in flight.
        if is_finalized() {
            return;
        }
        self.drain();
        if !self.requests.is_empty() {
            std::mem::forget(std::mem::take(&mut self.calls));
            std::mem::forget(std::mem::take(&mut self.peers));
            self.communicator.keep();
        }
    }
}

#[cfg(test)]
mod tests;
