//! Measures which transport is fastest by exchanging a few blocks (`docs/transports.md` states the cost).
//!
//! Invariants: all ranks select the same routes, by the slowest rank; a route that fails on any rank is not tried
//! again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::collective::Reduce;
use super::{Communicator, Endpoint, Route, Routes};
use crate::comm::{CommError, Endpoint as AnyEndpoint};
use crate::dtype::Dtype;
use crate::memory::{Aligned, Slot, Store};

/// Bytes of blocks, and exchanges for each.
const BLOCKS: [(usize, usize); 3] = [(4 << 10, 8), (256 << 10, 6), (2 << 20, 4)];
/// In order of preference; a later one must be clearly faster in two measurements.
const CANDIDATES: [Route; 3] = [Route::Shared, Route::Message, Route::Rma];
const BLOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A candidate replaces the best before it below this fraction of its time.
const MAX_TIME_RATIO: f64 = 0.8;

impl Routes {
    pub fn probe(communicator: &Communicator) -> Result<Routes, CommError> {
        let mut usable = CANDIDATES.to_vec();
        let first = Self::measured(communicator, &mut usable)?;
        if first == Routes::of(CANDIDATES[0]) {
            return Ok(first);
        }
        // Other load may have disturbed a measurement.
        let second = Self::measured(communicator, &mut usable)?;
        Ok(Routes { near: either(&usable, first.near, second.near), far: either(&usable, first.far, second.far) })
    }

    fn measured(communicator: &Communicator, usable: &mut Vec<Route>) -> Result<Routes, CommError> {
        let mut routes = Routes::of(Route::Message);
        let mut best = [f64::INFINITY; 2];
        for route in std::mem::take(usable) {
            let endpoint = match Endpoint::new(communicator, Routes::of(route), Arc::default()) {
                Ok(endpoint) => endpoint,
                Err(CommError::NoSharedMemory(_)) => continue,
                Err(error) => return Err(error),
            };
            let peers = endpoint.neighbours();
            let mut endpoint = AnyEndpoint::Mpi(Box::new(endpoint));
            usable.push(route);
            for (far, peer) in peers.into_iter().enumerate() {
                let mine = exchange(communicator, &mut endpoint, peer)?;
                let slowest = communicator.all_reduce(Reduce::Max, &[mine])?[0];
                if slowest.is_infinite() {
                    usable.pop();
                    break;
                }
                if slowest < MAX_TIME_RATIO * best[far] && (far == 0 || route != Route::Shared) {
                    best[far] = slowest;
                    *(if far == 0 { &mut routes.near } else { &mut routes.far }) = route;
                }
            }
            endpoint.close()?;
        }
        Ok(routes)
    }
}

/// The one that is first in `usable`; `second` if neither is in it.
fn either(usable: &[Route], first: Route, second: Route) -> Route {
    usable.iter().copied().find(|route| [first, second].contains(route)).unwrap_or(second)
}

/// The seconds to exchange one block of each size with `peer`, which calls this too; 0 without a peer, infinity after a
/// failure.
///
/// # Errors
/// If a barrier across all ranks fails.
fn exchange(communicator: &Communicator, endpoint: &mut AnyEndpoint, peer: Option<usize>) -> Result<f64, CommError> {
    let mut all = 0.0;
    for (bytes, times) in BLOCKS {
        let memory = Aligned::zeroed(2 * bytes, &Arc::default()).ok().map(Arc::new);
        let slot = |offset| Some(Slot::owned(memory.clone()?, offset, Dtype::Float32, &[1, bytes / 4]));
        let store = Store::open(vec![slot(0), slot(bytes)]);
        let mut quickest = f64::INFINITY;
        for _ in 0..times {
            communicator.line_up()?;
            let started = Instant::now();
            // After a failure, only the barriers.
            if let Some(peer) = peer.filter(|_| f64::is_finite(all))
                && swap(endpoint, peer, &store, bytes / 4).is_none()
            {
                all = f64::INFINITY;
            }
            quickest = quickest.min(started.elapsed().as_secs_f64());
        }
        all += quickest;
    }
    Ok(if peer.is_some() { all } else { 0.0 })
}

/// Sends buffer 0, and receives into 1; `None` on failure.
fn swap(endpoint: &mut AnyEndpoint, peer: usize, store: &Arc<Store>, elements: usize) -> Option<()> {
    let (started, mut done) = (Instant::now(), Vec::new());
    let whole = [0..1, 0..elements];
    let (from, into) = (store.read(0, &whole).ok()?, store.write(1, &whole).ok()?);
    endpoint.recv(0, peer, vec![into]).ok()?;
    endpoint.send(1, peer, vec![from]).ok()?;
    while done.len() < 2 {
        endpoint.poll(&mut done).ok()?;
        if done.len() < 2 {
            endpoint.idle(true, false, Duration::from_millis(1));
        }
        if started.elapsed() > BLOCK_TIMEOUT {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
