//! Chooses the transport between processes, and caches its measurements.
//!
//! A cache file is valid for one host, number of ranks in all and on this host, and MPI library.

use crate::comm::mpi::{Communicator, Endpoint, Route, Routes};
use crate::comm::{CommError, Transport};

use super::cores::{Load, MAX_THREADS_PER_CORE, crowded, load};
use super::gathered::parsed;
use super::{Error, Result, cache, host};

const FORMAT: u32 = 3;

/// Creates this process's endpoint. Collective. If requests differ, uses messages until a later check reports it.
///
/// # Errors
/// If MPI fails or the requested transport is not available.
pub(super) fn endpoint(communicator: &Communicator, transport: Transport) -> Result<Endpoint> {
    let asked = communicator.all_gather_bytes(&[transport as u8])?;
    let transport = if asked.iter().all(|other| *other == asked[0]) { transport } else { Transport::Message };
    let routes = match transport {
        Transport::Auto => return auto(communicator),
        Transport::Shared => Routes::of(Route::Shared),
        Transport::Message => Routes::of(Route::Message),
        Transport::Rma => Routes::of(Route::Rma),
    };
    let endpoint = Endpoint::new(communicator, routes, Default::default())?;
    if transport == Transport::Shared && communicator.size() > 1 && !endpoint.any_shared() {
        return Err(Error::Usage("transport shared: no two ranks are on one node".to_owned()));
    }
    Ok(endpoint)
}

fn auto(communicator: &Communicator) -> Result<Endpoint> {
    let off = communicator.broadcast_bytes(0, Some(&[u8::from(cache::is_off())]))? == [1];
    let routes = match (communicator.size(), off) {
        (1, _) => Routes::of(Route::Message),
        (_, true) => Routes::of(Route::Shared),
        (_, false) => remembered(communicator)?,
    };
    match Endpoint::new(communicator, routes, Default::default()) {
        Err(CommError::NoSharedMemory(_)) => {
            Ok(Endpoint::new(communicator, Routes::of(Route::Message), Default::default())?)
        }
        endpoint => Ok(endpoint?),
    }
}

fn remembered(communicator: &Communicator) -> Result<Routes> {
    // Serialising into memory cannot fail.
    let mine = serde_json::to_vec(&load(1)).unwrap_or_default();
    let all: Vec<Load> = parsed(&communicator.all_gather_bytes(&mine)?)?;
    if crowded(&all, MAX_THREADS_PER_CORE) {
        return Ok(Routes::of(Route::Shared));
    }
    let here = all.iter().filter(|(name, ..)| *name == host::name()).count();
    let library = if communicator.library() == "Open MPI" { "openmpi" } else { "mpi" };
    let file = cache::file(&format!("{}-{}-{here}-{library}-routes-{FORMAT}.toml", host::name(), communicator.size()));
    let known = file.as_ref().filter(|_| communicator.rank() == 0).and_then(|file| std::fs::read_to_string(file).ok());
    let stored = communicator.broadcast_bytes(0, known.as_deref().map(str::as_bytes))?;
    if let Ok(routes) = toml::from_str(&String::from_utf8_lossy(&stored)) {
        return Ok(routes);
    }
    let routes = Routes::probe(communicator)?;
    if let (0, Some(file), Ok(text)) = (communicator.rank(), file, toml::to_string(&routes)) {
        cache::write(&file, &text);
    }
    Ok(routes)
}
