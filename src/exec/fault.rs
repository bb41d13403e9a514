//! Failures of a run, and failures made on purpose.

use std::str::FromStr;

use crate::comm::CommError;
use crate::memory::{LeaseError, OutOfMemory};
use crate::schedule::TaskId;

/// Why a rank's run ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError {
    pub rank: usize,
    pub task: Option<TaskId>,
    pub message: String,
    /// Another rank failed first and has said so.
    pub from_peer: bool,
}

impl RunError {
    pub fn new(rank: usize, task: Option<TaskId>, message: impl ToString) -> RunError {
        RunError { rank, task, message: message.to_string(), from_peer: false }
    }

    pub fn lease(rank: usize, task: TaskId, error: LeaseError) -> RunError {
        RunError::new(rank, Some(task), error)
    }

    pub fn memory(rank: usize, error: OutOfMemory) -> RunError {
        RunError::new(rank, None, error)
    }

    pub fn comm(rank: usize, error: CommError) -> RunError {
        let from_peer = matches!(error, CommError::Peer { .. });
        RunError { from_peer, ..RunError::new(rank, None, error) }
    }

    /// Which task, in words.
    pub fn place(&self) -> String {
        self.task.map_or_else(|| "communication".to_owned(), |task| format!("task {task}"))
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {}, {}: {}", self.rank, self.place(), self.message)
    }
}

impl std::error::Error for RunError {}

/// A panic to raise on one rank, written `worker@RANK` or `communication@RANK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injection {
    pub rank: usize,
    /// In a worker, or else in the communication thread.
    pub worker: bool,
}

impl FromStr for Injection {
    type Err = String;

    fn from_str(text: &str) -> Result<Injection, String> {
        let (place, rank) = text.split_once('@').ok_or("expected worker@RANK or communication@RANK")?;
        let worker = match place {
            "worker" => true,
            "communication" => false,
            _ => return Err(format!("no `{place}` to inject a panic in")),
        };
        let rank = rank.parse().map_err(|_| format!("`{rank}` is no rank"))?;
        Ok(Injection { rank, worker })
    }
}

/// What a panic said.
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}
