//! Reads the name of this host.

/// The host's name; empty if the system does not provide one.
#[cfg(unix)]
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The host's name; empty if the system does not provide one.
#[cfg(not(unix))]
pub fn name() -> String {
    String::new()
}
