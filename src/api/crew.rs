//! Starts the threads of a local rank and pins them to the rank's cores.
//!
//! Threads start only if the address space has room.

use super::error::Rank;
use super::own_cores::keep_global_pool_on_own_cores;
use super::{Error, Result, cores, memory_limits};
use crate::machine::RankPlacement;
use crate::memory::probe;
use crate::sync::{ThreadPool, ThreadPoolBuilder};

/// The result of [`World::place`](super::World::place).
pub(super) struct AgreedPlacement {
    pub(super) workers: usize,
    pub(super) places: Vec<RankPlacement>,
}

pub(super) struct Crew {
    pub(super) pool: ThreadPool,
    pub(super) place: RankPlacement,
}

impl Crew {
    pub(super) fn new(rank: usize, workers: usize, place: RankPlacement) -> Result<Crew> {
        let theirs = place.clone();
        let builder = ThreadPoolBuilder::new().num_threads(workers).start_handler(move |worker| {
            // With more workers than were placed, each may use all cores of the rank.
            match theirs.workers.get(worker).filter(|_| workers <= theirs.workers.len()) {
                Some(&unit) => cores::bind(&[unit]),
                None => cores::bind(&theirs.units),
            }
        });
        let builder = builder.thread_name(move |worker| format!("rank {rank} worker {worker}"));
        let pool = room_for_threads(rank, workers)
            .and_then(|()| builder.build().map_err(|error| no_threads(rank, workers, &error)))?;
        Ok(Crew { pool, place })
    }

    /// Pins the calling thread.
    pub(super) fn bind_communication(&self) {
        match self.place.communication {
            Some(unit) => cores::bind(&[unit]),
            None => cores::bind(&self.place.units),
        }
    }
}

/// Address space: Rust's default stack, the signal stack, and the system's overhead.
const BYTES_PER_THREAD: usize = (2 << 20) + (128 << 10);

/// A thread that cannot allocate its signal stack aborts the process.
///
/// # Errors
/// If it has no room ([`Error::Threads`]).
pub(super) fn room_for_threads(rank: usize, threads: usize) -> Result<()> {
    // The system reports other failures when a thread starts.
    if memory_limits::of_process().is_none() {
        return Ok(());
    }
    probe(threads.saturating_mul(BYTES_PER_THREAD)).map_err(|error| no_threads(rank, threads, &error))
}

pub(super) fn no_threads(rank: usize, threads: usize, why: &dyn std::error::Error) -> Error {
    // The system's message is more specific than rayon's.
    let message = why.source().map_or_else(|| why.to_string(), ToString::to_string);
    Error::Threads { rank: Rank::here(rank), threads, message }
}

/// Starts rayon's global pool with `threads` threads, unless it exists. Call this before any computation, which would
/// start one thread per core, and panic on failure.
///
/// # Errors
/// If the threads cannot be started ([`Error::Threads`]).
pub fn start_threads(threads: usize) -> Result<()> {
    room_for_threads(0, threads)?;
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
        Err(error) if std::error::Error::source(&error).is_some() => Err(no_threads(0, threads, &error)),
        Err(_) => Ok(()),
        Ok(()) => {
            keep_global_pool_on_own_cores();
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
