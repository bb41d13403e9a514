//! Chooses by which transport the processes of a world reach each other, and remembers what was measured.
//!
//! Invariant: all processes choose the same: what rank 0 says. A file of one host is for as many ranks, on as many hosts.

use crate::comm::mpi::{Communicator, Endpoint, Route, Routes};
use crate::comm::{CommError, Transport};

use super::{Error, Result, cache, host};

/// Of files, one more whenever they say something else.
const FORMAT: u32 = 3;

/// The end of this process. Collective. Where processes ask for different transports, something else is wrong with what they were told, and
/// messages serve until that comes out.
///
/// # Errors
/// MPI fails, or what was asked for cannot be had.
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

/// What an earlier world of this host has measured, or a new measurement.
fn remembered(communicator: &Communicator) -> Result<Routes> {
    let hosts = communicator.all_gather_bytes(host::name().as_bytes())?;
    let here = hosts.iter().filter(|name| **name == host::name().as_bytes()).count();
    let library = if communicator.library() == "Open MPI" { "openmpi" } else { "mpi" };
    let file = cache::file(&format!("{}-{}-{here}-{library}-routes-{FORMAT}.toml", host::name(), communicator.size()));
    let known = file.as_ref().filter(|_| communicator.rank() == 0).and_then(|file| std::fs::read_to_string(file).ok());
    let told = communicator.broadcast_bytes(0, known.as_deref().map(str::as_bytes))?;
    if let Ok(routes) = toml::from_str(&String::from_utf8_lossy(&told)) {
        return Ok(routes);
    }
    let routes = Routes::probe(communicator)?;
    if let (0, Some(file), Ok(text)) = (communicator.rank(), file, toml::to_string(&routes)) {
        cache::write(&file, &text);
    }
    Ok(routes)
}
