//! Reads this host's name.

/// The host's name; empty if the system provides none.
#[cfg(unix)]
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The host's name; empty if the system provides none.
#[cfg(not(unix))]
pub fn name() -> String {
    String::new()
}
