//! Timelines: each task's start and end on each rank, measured in a run
//! ([`Program::timeline`](crate::Program::timeline)) or predicted without tensor data
//! ([`Plan::simulate`](crate::Plan::simulate)).
//!
//! Invariants: spans on a lane are in order of start time. For any two ranks, sends are in the same order as the
//! matching receives. Transfers on a lane may overlap. Work tasks overlap only in different branches of the same
//! section of the schedule.

mod busy;
pub mod curves;
mod svg;
mod trace;

pub use busy::Busy;

use serde::{Deserialize, Serialize};

use crate::schedule::{Action, Lane, TaskId, Work};

/// A rank's activity during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activity {
    /// Workers contract two boxes.
    Contract,
    /// Workers add, permute, copy, scale or zero boxes.
    Arrange,
    /// The rank sends to this one.
    Send(usize),
    /// The rank receives from this one.
    Recv(usize),
}

impl Activity {
    /// A task's activity.
    pub fn of(action: &Action) -> Activity {
        match action {
            Action::Work(work) if matches!(**work, Work::Contract { .. }) => Activity::Contract,
            Action::Work(_) => Activity::Arrange,
            &Action::Send { peer, .. } => Activity::Send(peer),
            &Action::Recv { peer, .. } => Activity::Recv(peer),
        }
    }

    /// The lane on which tasks with this activity run.
    pub fn lane(self) -> Lane {
        match self {
            Activity::Contract | Activity::Arrange => Lane::Work,
            Activity::Send(_) => Lane::Send,
            Activity::Recv(_) => Lane::Recv,
        }
    }
}

/// One task's start and end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The task's rank.
    pub rank: usize,
    /// The task's kind.
    #[serde(rename = "doing")]
    pub activity: Activity,
    /// Index of the task's value (tensor) in the plan.
    pub node: usize,
    /// Index in the rank's schedule.
    pub task: TaskId,
    /// The task's worker in a branch; `None` for transfers, and for work that all workers share.
    pub worker: Option<usize>,
    /// Seconds since the run began. A transfer starts when its dependencies are complete, and may then wait for the
    /// other rank.
    pub start: f64,
    /// Seconds since the run began.
    pub end: f64,
    /// Transferred bytes; 0 for work.
    pub bytes: u64,
    /// Seconds that the cost model predicts, without waiting.
    pub predicted: f64,
}

/// All ranks' tasks in a run or a simulation, on one clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Seconds from the run's beginning to its last task's end.
    pub seconds: f64,
    /// Number of ranks.
    pub ranks: usize,
    /// The ranks that have spans, ascending, if not all: one of each class of ranks that are assumed to do the same.
    pub shown: Vec<usize>,
    /// Compute threads per rank.
    pub workers: usize,
    /// Each rank's host; empty for a simulation.
    pub hosts: Vec<String>,
    /// How many of the plan's slices, from the first, the timeline has.
    pub slices: usize,
    /// Maximum error, in seconds, of times on one host relative to another.
    pub clock_error: f64,
    /// The plan's values as expressions, such as `mk,kn->mn`.
    pub steps: Vec<String>,
    /// All tasks, on each lane in order of start time.
    pub spans: Vec<Span>,
}

impl Timeline {
    /// A rank's summed task seconds on a lane.
    pub fn busy(&self, rank: usize, lane: Lane) -> f64 {
        let of = self.spans.iter().filter(|span| span.rank == rank && span.activity.lane() == lane);
        of.map(|span| span.end - span.start).sum()
    }

    /// The fraction (0 to 1) of the run in which workers compute, averaged over the shown ranks.
    pub fn working_share(&self) -> f64 {
        if self.seconds > 0.0 { self.all_busy().working / (self.seconds * self.rows().len() as f64) } else { 1.0 }
    }

    /// The fraction (0 to 1) of the receiving time, summed over ranks and including waiting for the sender, during
    /// which the receiving rank also computes, if there are receives.
    pub fn hidden_share(&self) -> Option<f64> {
        self.all_busy().hidden_share()
    }

    fn rows(&self) -> Vec<usize> {
        if self.shown.is_empty() { (0..self.ranks).collect() } else { self.shown.clone() }
    }

    fn all_busy(&self) -> Busy {
        let rows = self.rows();
        let mut lanes = vec![[Vec::new(), Vec::new()]; rows.len()];
        for span in self.spans.iter().filter(|span| span.activity.lane() != Lane::Send) {
            // The list of ranks has those of all spans.
            if let Ok(row) = rows.binary_search(&span.rank) {
                lanes[row][usize::from(span.activity.lane() == Lane::Recv)].push((span.start, span.end));
            }
        }
        lanes.into_iter().fold(Busy::default(), |mut all, [work, transfers]| {
            all.add(Busy::of(work, transfers));
            all
        })
    }
}

#[cfg(test)]
mod sample_tests;
