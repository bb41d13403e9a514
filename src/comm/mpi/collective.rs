//! Collective operations.
//!
//! Invariants: every rank makes the same calls in the same order. A waiting rank yields its core between polls, and
//! later sleeps; in blocking calls, MPICH would spin.

use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::time::{Duration, Instant};

use ::mpi::collective::SystemOperation;
use ::mpi::datatype::{Equivalence, SystemDatatype};
use ::mpi::ffi;
use ::mpi::raw::AsRaw;

use super::Communicator;
use super::pause::Pause;
use crate::comm::CommError;

/// MPI counts are `int`.
const MAX_CALL_BYTES: usize = 1 << 30;
/// A wait becomes at most this part longer, or [`MAX_SLEEP`].
const WAIT_PER_SLEEP: u32 = 32;
const MAX_SLEEP: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub rank: usize,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    Sum,
    Max,
}

/// A number that MPI can add and compare.
pub trait Number: Equivalence<Out = SystemDatatype> + Copy + Default + sealed::Sealed {}
impl Number for f64 {}
impl Number for u64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for u64 {}
}

impl Communicator {
    pub fn barrier(&self) -> Result<(), CommError> {
        // SAFETY: the communicator is live, and `complete` waits for the request.
        self.complete("MPI_Ibarrier", |request| unsafe { ffi::MPI_Ibarrier(self.raw(), request) })
    }

    /// Waits until every rank has called this function and is awake, for measurements: ranks that sleep between polls
    /// (`pause`) may leave a barrier late, but not a third.
    pub fn line_up(&self) -> Result<(), CommError> {
        (0..3).try_for_each(|_| self.barrier())
    }

    /// Combines the ranks' values, of equal number, element by element.
    ///
    /// # Errors
    /// If MPI fails, or there are more values than an MPI count can represent.
    pub fn all_reduce<T: Number>(&self, reduce: Reduce, values: &[T]) -> Result<Vec<T>, CommError> {
        let op = match reduce {
            Reduce::Sum => SystemOperation::sum(),
            Reduce::Max => SystemOperation::max(),
        };
        let mut all = vec![T::default(); values.len()];
        let (count, kind) = (count("MPI_Iallreduce", values.len())?, T::equivalent_datatype().as_raw());
        let (from, into) = (values.as_ptr().cast(), all.as_mut_ptr().cast());
        self.complete("MPI_Iallreduce", |request| {
            // SAFETY: both arrays hold `count` elements of `kind`, do not overlap, and outlive the request.
            unsafe { ffi::MPI_Iallreduce(from, into, count, kind, op.as_raw(), self.raw(), request) }
        })?;
        Ok(all)
    }

    /// The root's bytes on every rank; others' are ignored.
    pub fn broadcast_bytes(&self, root: usize, bytes: Option<&[u8]>) -> Result<Vec<u8>, CommError> {
        let mine = bytes.filter(|_| self.rank() == root).unwrap_or_default();
        let mut length = (mine.len() as u64).to_ne_bytes();
        self.broadcast(root, &mut length)?;
        let mut all = mine.to_vec();
        all.resize(u64::from_ne_bytes(length) as usize, 0);
        all.chunks_mut(MAX_CALL_BYTES).try_for_each(|chunk| self.broadcast(root, chunk))?;
        Ok(all)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), CommError> {
        let (start, count, kind) = (bytes.as_mut_ptr().cast(), count("MPI_Ibcast", bytes.len())?, byte());
        self.complete("MPI_Ibcast", |request| {
            // SAFETY: `start` points at `count` bytes, which are borrowed exclusively until the request is complete.
            unsafe { ffi::MPI_Ibcast(start, count, kind, root as c_int, self.raw(), request) }
        })
    }

    /// All ranks' bytes, of any number each, in rank order.
    pub fn all_gather_bytes(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        // A reduction takes log2(ranks) rounds, a gathering one per rank. So lengths are reduced and, if each rank's
        // fit into its part of 8 kB, all bytes.
        let words = 1 + (1024 / self.size()).min(16);
        let mut packets = vec![0u64; self.size() * words];
        let packet = &mut packets[self.rank() * words..];
        packet[0] = mine.len() as u64;
        for (word, bytes) in packet[1..words].iter_mut().zip(mine.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
        // Not the maximum, which MPICH 4.0 takes of signed numbers.
        let packets = self.all_reduce(Reduce::Sum, &packets)?;
        let lengths: Vec<u64> = packets.iter().step_by(words).copied().collect();
        if lengths.iter().all(|&length| length <= 8 * (words as u64 - 1)) {
            let bytes = |packet: &[u64]| {
                packet[1..].iter().flat_map(|word| word.to_ne_bytes()).take(packet[0] as usize).collect()
            };
            return Ok(packets.chunks(words).map(bytes).collect());
        }
        if lengths.iter().sum::<u64>() > MAX_CALL_BYTES as u64 {
            let each = |rank| self.broadcast_bytes(rank, Some(mine));
            return (0..self.size()).map(each).collect();
        }
        // The sum of all lengths is at most `MAX_CALL_BYTES`.
        let counts: Vec<c_int> = lengths.iter().map(|&length| length as c_int).collect();
        let starts: Vec<c_int> = counts.iter().scan(0, |end, &n| Some(std::mem::replace(end, *end + n))).collect();
        let mut all = vec![0u8; counts.iter().sum::<c_int>() as usize];
        // Open MPI takes the address of an empty slice, 1, for MPI_IN_PLACE.
        let from: *const c_void = if mine.is_empty() { [0u8].as_slice() } else { mine }.as_ptr().cast();
        let into = all.as_mut_ptr().cast();
        let (count, kind) = (mine.len() as c_int, byte());
        self.complete("MPI_Iallgatherv", |request| {
            // SAFETY: `from` points at `count` bytes; `into` has room for each rank's count at that rank's start; the
            // four arrays outlive the request.
            unsafe {
                let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
                ffi::MPI_Iallgatherv(from, count, kind, into, counts, starts, kind, self.raw(), request)
            }
        })?;
        let pieces = starts.iter().zip(&counts);
        Ok(pieces.map(|(&start, &count)| all[start as usize..(start + count) as usize].to_vec()).collect())
    }

    /// Each rank's own value if all succeeded, otherwise all failures, in rank order.
    pub fn agree<T, E: Display>(&self, mine: Result<T, E>) -> Result<Result<T, Vec<Failure>>, CommError> {
        let failed = self.all_reduce(Reduce::Max, &[u64::from(mine.is_err())])?;
        match mine {
            Ok(value) if failed == [0] => Ok(Ok(value)),
            mine => {
                // An extra first byte marks failures, whose message may be empty.
                let message = mine.err().map_or_else(String::new, |error| format!("!{error}"));
                let failures = self.all_gather_bytes(message.as_bytes())?.into_iter().enumerate();
                let failures = failures.filter(|(_, message)| !message.is_empty());
                let text = |message: &[u8]| String::from_utf8_lossy(&message[1..]).into_owned();
                Ok(Err(failures.map(|(rank, message)| Failure { rank, message: text(&message) }).collect()))
            }
        }
    }

    /// Like [`Communicator::agree`], with failures as [`CommError::NoSharedMemory`].
    ///
    /// # Errors
    /// If any rank passes an error ([`CommError::NoSharedMemory`], the same on all ranks), or if MPI fails.
    pub(super) fn agree_on_memory<T, E: Display>(&self, mine: Result<T, E>) -> Result<T, CommError> {
        self.agree(mine)?.map_err(|failures| {
            let text = failures.first().map(|failure| format!("rank {}: {}", failure.rank, failure.message));
            CommError::NoSharedMemory(text.unwrap_or_default())
        })
    }

    /// Starts a collective call and waits for it. Its memory must live until this returns, also after a failure: to
    /// MPI, a failed request is complete.
    pub(super) fn complete(
        &self,
        name: &'static str,
        start: impl FnOnce(*mut ffi::MPI_Request) -> c_int,
    ) -> Result<(), CommError> {
        // SAFETY: reads a constant of the MPI library.
        let (mut request, ignore) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_STATUS_IGNORE) };
        self.session().call(name, || start(&raw mut request))?;
        let mut pause = Pause::new(false);
        let started = Instant::now();
        loop {
            let mut done = 0;
            // SAFETY: `request` is the request just started, or null once it is complete; `request` and `done` outlive
            // the call.
            self.session().call(name, || unsafe { ffi::MPI_Test(&raw mut request, &raw mut done, ignore) })?;
            if done != 0 {
                return Ok(());
            }
            if let Some(timeout) = self.timeout().filter(|timeout| started.elapsed() > *timeout) {
                // Only this informs the others.
                self.abort(1, &format!("no answer from other ranks for {} s, in {name}", timeout.as_secs_f64()));
            }
            pause.pause(false, |time| {
                // Dozens of ranks per core leave the core to those that are late.
                let time = time.max((started.elapsed() / WAIT_PER_SLEEP).min(MAX_SLEEP));
                std::thread::sleep(time);
                time
            });
        }
    }
}

pub(super) fn byte() -> ffi::MPI_Datatype {
    u8::equivalent_datatype().as_raw()
}

fn count(call: &'static str, count: usize) -> Result<c_int, CommError> {
    c_int::try_from(count).map_err(|_| CommError::Mpi { call, message: format!("{count} is beyond its counts") })
}
