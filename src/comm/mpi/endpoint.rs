//! A rank's endpoint, which selects the route to each peer: `near` on its node, `far` elsewhere.
//!
//! Invariants: two ranks use one route, which keeps their transfers' order. Without MPI requests in flight, the
//! communication thread sleeps until a peer on its node or a worker wakes it; otherwise it polls, with short pauses
//! (`pause`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Communicator;
use super::collective::Reduce;
use super::messages::{MAX_MESSAGE_BYTES, Messages};
use super::node::Node;
use super::pause::Pause;
use super::rma::Rma;
use super::shared_memory::Shared;
use super::window::check_space;
use crate::comm::{CommError, Completion, Waker};
use crate::memory::{Footprint, ReadLease, WriteLease};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    Shared,
    Message,
    Rma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Routes {
    pub near: Route,
    /// The route between nodes; never [`Route::Shared`].
    pub far: Route,
}

impl Route {
    pub fn name(self) -> &'static str {
        match self {
            Route::Shared => "shared",
            Route::Message => "message",
            Route::Rma => "rma",
        }
    }
}

impl Routes {
    /// Uses `route`, but messages between nodes instead of [`Route::Shared`].
    pub fn of(route: Route) -> Routes {
        Routes { near: route, far: if route == Route::Shared { Route::Message } else { route } }
    }
}

#[derive(Debug)]
pub struct Endpoint {
    routes: Routes,
    node: Node,
    messages: Messages,
    shared: Option<Shared>,
    rma: Option<Rma>,
    waker: Waker,
    pause: Pause,
}

impl Endpoint {
    /// Its transfers cannot match those of other endpoints. Collective over `communicator`.
    ///
    /// Packing buffers count towards `footprint`, but shared memory, of fixed size, does not.
    ///
    /// # Errors
    /// If MPI fails, or some rank cannot share memory.
    pub fn new(communicator: &Communicator, routes: Routes, footprint: Arc<Footprint>) -> Result<Endpoint, CommError> {
        Self::with(communicator, routes, footprint, &EndpointOptions::default())
    }

    /// Like [`Endpoint::new`], with options, equal on all ranks except for the color.
    pub fn with(
        communicator: &Communicator,
        routes: Routes,
        footprint: Arc<Footprint>,
        options: &EndpointOptions,
    ) -> Result<Endpoint, CommError> {
        let node = Node::of(communicator, options.color)?;
        let messages = Messages::new(communicator, footprint.clone(), options.chunk)?;
        let used = |route| routes.near == route || (routes.far == route && !node.is_whole());
        let max_ranks = node.max_ranks_per_node();
        let bytes = [(Route::Shared, Shared::bytes(node.ranks)), (Route::Rma, Rma::bytes(max_ranks))];
        let bytes = bytes.into_iter().filter(|(route, _)| used(*route)).map(|(_, bytes)| bytes).sum();
        communicator.agree_on_memory(check_space(node.here, bytes))?;
        let shared = used(Route::Shared).then(|| Shared::new(communicator, &node)).transpose()?;
        let rma = used(Route::Rma).then(|| Rma::new(communicator, max_ranks, footprint)).transpose()?;
        let waker = Waker::default();
        waker.rings(shared.as_ref().map(Shared::bell));
        let pause = Pause::new(options.spin);
        Ok(Endpoint { routes, node, messages, shared, rma, waker, pause })
    }

    /// Frees windows. Collective. If any rank has transfers in flight, nothing is freed.
    pub fn close(mut self) -> Result<(), CommError> {
        let idle = self.messages.is_empty()
            && self.shared.as_ref().is_none_or(Shared::is_idle)
            && self.rma.as_ref().is_none_or(Rma::is_idle);
        if self.messages.communicator().all_reduce(Reduce::Max, &[u64::from(!idle)])? != [0] {
            return Ok(());
        }
        self.waker.rings(None);
        self.rma.take().map_or(Ok(()), Rma::close)
    }

    /// For reports: both routes, if both occur.
    pub fn name(&self) -> String {
        let Routes { near, far } = self.routes;
        match (self.node.any_shared(), self.node.is_whole()) {
            (true, false) if near != far => format!("{}+{}", near.name(), far.name()),
            (false, false) => far.name().to_owned(),
            _ => near.name().to_owned(),
        }
    }

    pub fn any_shared(&self) -> bool {
        self.node.any_shared()
    }

    pub(super) fn neighbours(&self) -> [Option<usize>; 2] {
        self.node.neighbours()
    }

    pub fn spin(&mut self, spin: bool) {
        self.pause = Pause::new(spin);
    }

    pub(in crate::comm) fn send(&mut self, ticket: usize, peer: usize, from: Vec<ReadLease>) -> Result<(), CommError> {
        self.pause.reset();
        match (self.route(peer), &mut self.shared, &mut self.rma, self.node.members[peer]) {
            (Route::Shared, Some(shared), _, Some(number)) => {
                shared.send(ticket, number, from);
                Ok(())
            }
            (Route::Rma, _, Some(rma), _) => rma.send(ticket, peer, from),
            _ => self.messages.send(ticket, peer, from),
        }
    }

    pub(in crate::comm) fn recv(&mut self, ticket: usize, peer: usize, into: Vec<WriteLease>) -> Result<(), CommError> {
        self.pause.reset();
        match (self.route(peer), &mut self.shared, &mut self.rma, self.node.members[peer]) {
            (Route::Shared, Some(shared), _, Some(number)) => {
                shared.recv(ticket, number, into);
                Ok(())
            }
            (Route::Rma, _, Some(rma), _) => rma.recv(ticket, peer, into),
            _ => self.messages.recv(ticket, peer, into),
        }
    }

    fn route(&self, peer: usize) -> Route {
        if self.node.members[peer].is_some() { self.routes.near } else { self.routes.far }
    }

    pub(in crate::comm) fn poll(&mut self, done: &mut Vec<Completion>) -> Result<bool, CommError> {
        let start = Instant::now();
        let mut found = self.messages.poll(done)?;
        if let Some(rma) = &mut self.rma {
            found |= rma.poll(done)?;
        }
        if let Some(shared) = &mut self.shared {
            found |= shared.poll(done)?;
        }
        self.pause.record_poll(start.elapsed(), found);
        Ok(found)
    }

    pub(in crate::comm) fn idle(&mut self, in_flight: bool, computing: bool, longest: Duration) {
        let (shared, waker) = (&self.shared, &self.waker);
        let sleep = |longest: Duration| match shared {
            Some(shared) => shared.sleep(longest, waker),
            None => waker.sleep(longest),
        };
        // MPI does not wake the thread when a request can progress.
        let looks = !self.messages.is_empty() || self.rma.as_ref().is_some_and(|rma| !rma.is_empty());
        if in_flight && (looks || !computing || self.pause.spins()) {
            self.pause.pause(computing, |pause| {
                let start = Instant::now();
                sleep(if looks { pause.min(longest) } else { longest });
                start.elapsed()
            });
        } else {
            sleep(longest);
        }
    }

    pub(in crate::comm) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub(in crate::comm) fn packing_bytes(&self) -> usize {
        self.messages.packing_bytes() + self.rma.as_ref().map_or(0, Rma::packing_bytes)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // The bell's memory is about to be freed.
        self.waker.rings(None);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointOptions {
    /// Maximum number of bytes in one message; at most 1 GiB.
    pub chunk: usize,
    /// See [`comm::Endpoint`](crate::comm::Endpoint::spin).
    pub spin: bool,
    /// This rank's color; different colors on one node count as different nodes.
    pub color: Option<usize>,
}

impl Default for EndpointOptions {
    fn default() -> EndpointOptions {
        EndpointOptions { chunk: MAX_MESSAGE_BYTES, spin: false, color: None }
    }
}
