//! How users name what moves bytes between processes.

use std::str::FromStr;

/// What moves bytes between the processes of an MPI program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// What a short measurement finds to be the quickest, within nodes and between them.
    #[default]
    Auto,
    /// Memory that processes of one node share; messages between nodes.
    Shared,
    /// Messages of MPI.
    Message,
    /// One-sided calls of MPI.
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
