//! A run's errors, and faults for tests.

use std::str::FromStr;
use std::time::Duration;

use crate::comm::CommError;
use crate::memory::LeaseError;
use crate::schedule::TaskId;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}, {}: {message}", self.place())]
pub struct RunError {
    pub rank: usize,
    pub task: Option<TaskId>,
    pub message: String,
    /// Whether another rank failed first.
    pub from_peer: bool,
}

impl RunError {
    pub fn new(rank: usize, task: Option<TaskId>, message: impl ToString) -> RunError {
        RunError { rank, task, message: message.to_string(), from_peer: false }
    }

    pub fn lease(rank: usize, task: TaskId, error: LeaseError) -> RunError {
        RunError::new(rank, Some(task), error)
    }

    pub fn comm(rank: usize, task: Option<TaskId>, error: CommError) -> RunError {
        let from_peer = matches!(error, CommError::Peer { .. });
        RunError { from_peer, ..RunError::new(rank, task, error) }
    }

    pub fn place(&self) -> String {
        self.task.map_or_else(|| "communication".to_owned(), |task| format!("task {task}"))
    }
}

/// A limit beyond any reasonable test.
const MAX_SILENCE_SECONDS: u64 = 3600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Worker,
    Communication,
    Allocation,
    /// The communication thread makes no progress for this many seconds.
    Silence(u64),
}

/// A fault on one rank, in text `worker@RANK`, `communication@RANK`, `allocation@RANK`, `silence@RANK` (60 seconds) or
/// `silence3@RANK` (3 seconds). A suffix `:RUN` is the first run with it, from 0; a slice is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injection {
    pub rank: usize,
    pub fault: Fault,
    /// The first of the runs with the fault; 0 for allocation, which precedes runs.
    pub run: usize,
}

impl Fault {
    pub(super) fn trigger(self) {
        assert!(self != Fault::Communication, "injected for a test");
        if let Fault::Silence(seconds) = self {
            std::thread::sleep(Duration::from_secs(seconds));
        }
    }
}

/// Seed for random pauses (below 200 microseconds) before tasks, to provoke rare orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays(pub u64);

impl Delays {
    pub(super) fn pause(self, rank: usize, task: TaskId) {
        let drawn = xxhash_rust::xxh3::xxh3_64_with_seed(&[rank.to_le_bytes(), task.to_le_bytes()].concat(), self.0);
        std::thread::sleep(Duration::from_micros(drawn % 200));
    }
}

impl FromStr for Injection {
    type Err = String;

    fn from_str(text: &str) -> Result<Injection, String> {
        let (fault, place) = text.split_once('@').ok_or("expected a fault and a rank, such as worker@1")?;
        let (rank, run) = place.split_once(':').unwrap_or((place, "0"));
        let fault = match fault {
            "worker" => Fault::Worker,
            "communication" => Fault::Communication,
            "allocation" => Fault::Allocation,
            "silence" => Fault::Silence(60),
            _ => {
                let seconds = fault.strip_prefix("silence").and_then(|seconds| seconds.parse().ok());
                Fault::Silence(seconds.filter(|seconds| *seconds <= MAX_SILENCE_SECONDS).ok_or_else(|| {
                    format!(
                        "no fault `{fault}` (known: worker, communication, allocation, silence, silence1 to \
                             silence{MAX_SILENCE_SECONDS})"
                    )
                })?)
            }
        };
        let rank = rank.parse().map_err(|_| format!("`{rank}` is no rank"))?;
        let run = run.parse().map_err(|_| format!("`{run}` is no run"))?;
        Ok(Injection { rank, fault, run })
    }
}

pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}
