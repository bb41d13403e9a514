//! Copies bytes between ranks of one process. The receiver drops the sender's read leases after copying, so a send
//! completes exactly when its bytes have been read (rendezvous).
//!
//! A *throttled* fabric completes a copy when a link of this bandwidth would have delivered it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{CommError, Completion, Waker};
use crate::memory::{Aligned, OutOfMemory, ReadLease, WriteLease};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};

#[derive(Debug)]
pub struct Fabric {
    ranks: usize,
    /// Offers from `source` to `target` are in the mailbox at `source * ranks + target`.
    mailboxes: Vec<Mutex<VecDeque<Offer>>>,
    wakers: Vec<Waker>,
    bytes_per_second: Option<f64>,
    failure: Mutex<Option<(usize, String)>>,
}

#[derive(Debug)]
struct Offer {
    from: Vec<ReadLease>,
    taken: Arc<AtomicBool>,
}

impl Fabric {
    /// Throttles the link of each ordered pair of ranks to `bytes_per_second`, if set.
    pub fn new(ranks: usize, bytes_per_second: Option<f64>) -> Arc<Fabric> {
        Arc::new(Fabric {
            ranks,
            mailboxes: (0..ranks * ranks).map(|_| Mutex::default()).collect(),
            wakers: (0..ranks).map(|_| Waker::default()).collect(),
            bytes_per_second,
            failure: Mutex::default(),
        })
    }

    pub fn endpoint(self: &Arc<Self>, rank: usize) -> Endpoint {
        Endpoint { fabric: self.clone(), rank, sends: Vec::new(), recvs: Vec::new(), links: vec![None; self.ranks] }
    }

    /// Stops the run: each rank's next poll returns [`CommError::Peer`] with the first failure.
    pub fn fail(&self, rank: usize, message: &str) {
        lock(&self.failure).get_or_insert_with(|| (rank, message.to_owned()));
        self.wakers.iter().for_each(Waker::wake);
    }

    pub fn failure(&self) -> Option<(usize, String)> {
        lock(&self.failure).clone()
    }
}

#[derive(Debug)]
struct PendingSend {
    ticket: usize,
    peer: usize,
    bytes: u64,
    taken: Arc<AtomicBool>,
}

#[derive(Debug)]
struct PendingRecv {
    ticket: usize,
    peer: usize,
    into: Vec<WriteLease>,
    /// Once copied, until the throttled link delivers it.
    arriving: Option<(Instant, Offer)>,
}

#[derive(Debug)]
pub struct Endpoint {
    fabric: Arc<Fabric>,
    rank: usize,
    sends: Vec<PendingSend>,
    recvs: Vec<PendingRecv>,
    /// When each throttled link is free.
    links: Vec<Option<Instant>>,
}

impl Endpoint {
    pub(super) fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) -> Result<(), CommError> {
        let bytes = from.iter().map(|lease| lease.bytes() as u64).sum();
        let taken = Arc::new(AtomicBool::new(false));
        lock(&self.fabric.mailboxes[self.rank * self.fabric.ranks + peer])
            .push_back(Offer { from, taken: taken.clone() });
        self.fabric.wakers[peer].wake();
        self.sends.push(PendingSend { ticket, peer, bytes, taken });
        Ok(())
    }

    pub(super) fn recv(&mut self, ticket: usize, peer: usize, into: Vec<WriteLease>) -> Result<(), CommError> {
        self.recvs.push(PendingRecv { ticket, peer, into, arriving: None });
        Ok(())
    }

    pub(super) fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let before = done.len();
        if let Some((rank, message)) = self.fabric.failure() {
            return Err(CommError::Peer { rank, message });
        }
        self.sends.retain(|send| {
            let taken = send.taken.load(Ordering::Acquire);
            if taken {
                done.push(Completion { ticket: send.ticket, bytes: send.bytes });
            }
            !taken
        });
        let mut at = 0;
        while at < self.recvs.len() {
            // Transfers between two ranks match in posting order.
            let peer = self.recvs[at].peer;
            let first = self.recvs[..at].iter().all(|earlier| earlier.peer != peer || earlier.arriving.is_some());
            if first && self.recvs[at].arriving.is_none() {
                self.take_offer(at)?;
            }
            match &self.recvs[at].arriving {
                Some((when, _)) if *when <= Instant::now() => self.finish_recv(at, done),
                _ => at += 1,
            }
        }
        Ok(done.len() > before)
    }

    pub(super) fn idle(&mut self, _in_flight: bool, _computing: bool, longest: Duration) {
        let now = Instant::now();
        let next =
            self.recvs.iter().filter_map(|r| r.arriving.as_ref().map(|(when, _)| when.duration_since(now))).min();
        self.waker().sleep(next.map_or(longest, |next| next.min(longest)));
    }

    pub(super) fn waker(&self) -> Waker {
        self.fabric.wakers[self.rank].clone()
    }

    pub(super) fn packing_bytes(&self) -> usize {
        0
    }

    fn take_offer(&mut self, at: usize) -> Result<(), CommError> {
        let recv = &mut self.recvs[at];
        let mailbox = &self.fabric.mailboxes[recv.peer * self.fabric.ranks + self.rank];
        let Some(offer) = lock(mailbox).pop_front() else { return Ok(()) };
        let sent: u64 = offer.from.iter().map(|lease| lease.bytes() as u64).sum();
        let expected: u64 = recv.into.iter().map(|lease| lease.bytes() as u64).sum();
        if sent != expected {
            return Err(CommError::Size { from: recv.peer, to: self.rank, sent, expected });
        }
        copy(&offer.from, &mut recv.into)?;
        let when = match self.fabric.bytes_per_second {
            None => Instant::now(),
            Some(rate) => {
                let start = self.links[recv.peer].map_or_else(Instant::now, |free| free.max(Instant::now()));
                start + Duration::from_secs_f64(sent as f64 / rate)
            }
        };
        self.links[recv.peer] = Some(when);
        recv.arriving = Some((when, offer));
        Ok(())
    }

    fn finish_recv(&mut self, at: usize, done: &mut Vec<Completion>) {
        let recv = self.recvs.remove(at);
        let bytes = recv.into.iter().map(|lease| lease.bytes() as u64).sum();
        if let Some((_, offer)) = recv.arriving {
            drop(offer.from);
            offer.taken.store(true, Ordering::Release);
            self.fabric.wakers[recv.peer].wake();
        }
        done.push(Completion { ticket: recv.ticket, bytes });
    }
}

impl Drop for Endpoint {
    /// Removes the offers of a failed run, which lease this rank's buffers.
    fn drop(&mut self) {
        for send in &self.sends {
            lock(&self.fabric.mailboxes[self.rank * self.fabric.ranks + send.peer]).clear();
        }
    }
}

fn copy(from: &[ReadLease], into: &mut [WriteLease]) -> Result<(), OutOfMemory> {
    let same = from.len() == into.len() && from.iter().zip(into.iter()).all(|(f, i)| f.extents() == i.extents());
    if same {
        from.iter().zip(into).for_each(|(from, into)| into.copy_from(from));
        return Ok(());
    }
    let mut packed = Aligned::private(from.iter().map(ReadLease::bytes).sum(), &Arc::default())?;
    ReadLease::pack_all(from, packed.as_mut_slice());
    WriteLease::unpack_all(into, packed.as_slice());
    Ok(())
}
