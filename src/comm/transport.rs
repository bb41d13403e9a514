//! Defines the transports between processes, from which a user can choose by name.

use std::str::FromStr;

/// A transport between processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// The fastest in a short measurement, within nodes and between nodes separately.
    #[default]
    Auto,
    /// Memory that the processes of a node share, and messages between nodes.
    Shared,
    /// MPI messages.
    Message,
    /// One-sided calls.
    Rma,
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Transport, String> {
        match text {
            "auto" => Ok(Transport::Auto),
            "shared" => Ok(Transport::Shared),
            "message" => Ok(Transport::Message),
            "rma" => Ok(Transport::Rma),
            _ => Err(format!("unknown transport `{text}` (known: auto, shared, message, rma)")),
        }
    }
}
