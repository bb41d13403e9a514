//! Moves bytes between two ranks as MPI messages: the boxes' row-major bytes, in sequence, in pieces of at most
//! `MAX_MESSAGE_BYTES`.
//!
//! The receiver accepts any tag, but reports a wrong size or tag: pieces of transfer s of a pair have tag 2 s, except
//! the last, which has 2 s + 1. Different orders of equal sizes are not detected.
//!
//! Invariants: a lease lasts until its transfer is complete, or its box is packed. An endpoint dropped with transfers
//! in flight leaks their leases and buffers and its communicator, which MPI may still use. A transfer is packed before
//! its first piece is sent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_int;
use std::sync::Arc;

use super::Communicator;
use super::packing::Pool;
use super::requests::{Finished, Outcome, Piece, Requests};
use crate::comm::{CommError, Completion};
use crate::memory::{Aligned, Footprint, ReadLease, WriteLease};

/// MPI counts are `int`.
pub(super) const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// Transfers between two ranks before tags repeat; MPI guarantees tags up to 32767.
const TAG_PERIOD: u64 = 1 << 14;

#[derive(Debug)]
pub(super) struct Messages {
    communicator: Communicator,
    chunk: usize,
    requests: Requests,
    transfers: HashMap<u64, Transfer>,
    posted: u64,
    /// Sends posted to each rank; `received`: receives.
    sent: Vec<u64>,
    received: Vec<u64>,
    pool: Pool,
}

#[derive(Debug)]
struct Transfer {
    ticket: usize,
    peer: usize,
    open: usize,
    bytes: usize,
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Read { _from: Vec<ReadLease> },
    Written { _into: Vec<WriteLease> },
    Packed(Aligned),
    Unpacked { buffer: Aligned, into: Vec<WriteLease> },
}

impl Messages {
    /// A message has at most `chunk` bytes, up to 1 GiB and the same on every rank. Collective over the communicator.
    /// Buffers count towards `footprint`.
    pub(super) fn new(
        communicator: &Communicator,
        footprint: Arc<Footprint>,
        chunk: usize,
    ) -> Result<Messages, CommError> {
        let communicator = communicator.another()?;
        let ranks = communicator.size();
        Ok(Messages {
            communicator,
            chunk: chunk.clamp(1, MAX_MESSAGE_BYTES),
            requests: Requests::default(),
            transfers: HashMap::new(),
            posted: 0,
            sent: vec![0; ranks],
            received: vec![0; ranks],
            pool: Pool::new(footprint),
        })
    }

    pub(super) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(super) fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) -> Result<(), CommError> {
        let bytes = from.iter().map(ReadLease::bytes).sum();
        let dense = match from.as_slice() {
            [only] => only.as_dense().map(<[u8]>::as_ptr),
            _ => None,
        };
        let (start, memory) = match dense {
            Some(start) => (start, Memory::Read { _from: from }),
            None => {
                let mut buffer = self.pool.take(bytes)?;
                ReadLease::pack_all(&from, buffer.as_mut_slice());
                (buffer.as_ptr().cast_const(), Memory::Packed(buffer))
            }
        };
        let sequence = next(&mut self.sent[peer]);
        let transfer = self.enter(Transfer { ticket, peer, open: pieces(bytes, self.chunk).count(), bytes, memory });
        for (offset, bytes, last) in pieces(bytes, self.chunk) {
            let piece = Piece { transfer, offset, bytes, tag: tag(sequence, last) };
            // SAFETY: the piece is inside the transfer's bytes, which are leased for reading or in a buffer. This stays
            // in `transfers` until the last piece is finished, and is otherwise leaked.
            unsafe { self.requests.send(&self.communicator, peer, piece, start.add(offset))? };
        }
        Ok(())
    }

    pub(super) fn recv(&mut self, ticket: usize, peer: usize, mut into: Vec<WriteLease>) -> Result<(), CommError> {
        let bytes = into.iter().map(WriteLease::bytes).sum();
        let dense = match into.as_mut_slice() {
            [only] => only.as_dense_mut().map(<[u8]>::as_mut_ptr),
            _ => None,
        };
        let (start, memory) = match dense {
            Some(start) => (start, Memory::Written { _into: into }),
            None => {
                let buffer = self.pool.take(bytes)?;
                (buffer.as_ptr(), Memory::Unpacked { buffer, into })
            }
        };
        let sequence = next(&mut self.received[peer]);
        let transfer = self.enter(Transfer { ticket, peer, open: pieces(bytes, self.chunk).count(), bytes, memory });
        for (offset, bytes, last) in pieces(bytes, self.chunk) {
            let piece = Piece { transfer, offset, bytes, tag: tag(sequence, last) };
            // SAFETY: as in `send`, and the lease is for writing.
            unsafe { self.requests.recv(&self.communicator, peer, piece, start.add(offset))? };
        }
        Ok(())
    }

    pub(super) fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let finished = self.requests.take_finished(&self.communicator)?;
        // All, even if one has failed.
        finished.iter().map(|end| self.finish(end, done)).fold(Ok(()), Result::and)?;
        Ok(!finished.is_empty())
    }

    pub(super) fn packing_bytes(&self) -> usize {
        self.pool.peak()
    }

    fn enter(&mut self, transfer: Transfer) -> u64 {
        self.posted += 1;
        self.transfers.insert(self.posted, transfer);
        self.posted
    }

    fn finish(&mut self, end: &Finished, done: &mut Vec<Completion>) -> Result<(), CommError> {
        let Entry::Occupied(mut entry) = self.transfers.entry(end.piece.transfer) else { return Ok(()) };
        check(end, entry.get(), self.communicator.rank())?;
        entry.get_mut().open -= 1;
        if entry.get().open > 0 {
            return Ok(());
        }
        let Transfer { ticket, bytes, memory, .. } = entry.remove();
        match memory {
            Memory::Read { .. } | Memory::Written { .. } => {}
            Memory::Packed(buffer) => self.pool.give_back(buffer),
            Memory::Unpacked { buffer, mut into } => {
                WriteLease::unpack_all(&mut into, buffer.as_slice());
                self.pool.give_back(buffer);
            }
        }
        done.push(Completion { ticket, bytes: bytes as u64 });
        Ok(())
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        if !self.requests.is_empty() || !self.transfers.is_empty() {
            std::mem::forget(std::mem::take(&mut self.transfers));
            self.communicator.keep();
        }
    }
}

/// Each piece's offset and size, and whether it is the last; an empty transfer has one empty piece.
fn pieces(bytes: usize, chunk: usize) -> impl Iterator<Item = (usize, usize, bool)> {
    let count = bytes.div_ceil(chunk).max(1);
    (0..count).map(move |at| (at * chunk, chunk.min(bytes - at * chunk), at + 1 == count))
}

fn next(posted: &mut u64) -> u64 {
    *posted += 1;
    *posted - 1
}

fn tag(sequence: u64, last: bool) -> c_int {
    // The result is below 2^15, because `TAG_PERIOD` is 2^14.
    ((sequence % TAG_PERIOD) * 2) as c_int + c_int::from(last)
}

fn check(end: &Finished, transfer: &Transfer, rank: usize) -> Result<(), CommError> {
    let Finished { piece, tag, bytes, outcome } = end;
    let (peer, expected) = (transfer.peer, transfer.bytes as u64);
    match outcome {
        Outcome::Failed(message) => Err(CommError::Mpi { call: "MPI_Testsome", message: message.clone() }),
        Outcome::Truncated => Err(CommError::Longer { from: peer, to: rank, expected }),
        Outcome::Arrived if *tag == piece.tag && *bytes == piece.bytes as u64 => Ok(()),
        Outcome::Arrived if tag / 2 != piece.tag / 2 => {
            let (received, wanted) = (tag / 2, piece.tag / 2);
            let message =
                format!("transfer {received} of rank {peer} came where rank {rank} expects transfer {wanted}");
            Err(CommError::Mpi { call: "MPI_Irecv", message })
        }
        Outcome::Arrived if tag % 2 == 0 => Err(CommError::Longer { from: peer, to: rank, expected }),
        Outcome::Arrived => Err(CommError::Size { from: peer, to: rank, sent: piece.offset as u64 + bytes, expected }),
    }
}

#[cfg(test)]
mod tests;
