//! Timelines: the start and end of every task on every rank, measured in a run
//! ([`Program::timeline`](crate::Program::timeline)) or predicted without tensor data
//! ([`Plan::simulate`](crate::Plan::simulate)).
//!
//! Invariants: the spans on each lane of a rank are in order of start time. For any two ranks, sends from one to the
//! other are in the same order as the matching receives. Transfers on one lane may overlap in time. Work tasks overlap
//! only if they are in different branches of the same section of the schedule.

mod busy;
mod svg;
mod trace;

pub use busy::Busy;

use serde::{Deserialize, Serialize};

use crate::schedule::{Action, Lane, TaskId, Work};

/// The activity of a rank during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activity {
    /// Workers contract two boxes.
    Contract,
    /// Workers add, permute, copy, scale or zero boxes.
    Arrange,
    /// The rank sends data to this rank.
    Send(usize),
    /// The rank receives data from this rank.
    Recv(usize),
}

impl Activity {
    /// The activity of a task.
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

/// The start and end of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The rank that runs the task.
    pub rank: usize,
    /// The kind of the task.
    #[serde(rename = "doing")]
    pub activity: Activity,
    /// Index of the task's value (tensor) in the plan.
    pub node: usize,
    /// Index in the rank's schedule.
    pub task: TaskId,
    /// The worker that runs the task, if it is in a branch; `None` for transfers, and for work that all workers share.
    pub worker: Option<usize>,
    /// Seconds since the beginning of the run. A transfer starts when its dependencies are complete, and may then wait
    /// for the other rank.
    pub start: f64,
    /// End in seconds since the beginning of the run.
    pub end: f64,
    /// Bytes in a transfer, or 0 for work.
    pub bytes: u64,
    /// Seconds that the cost model predicts, without waiting.
    pub predicted: f64,
}

/// The tasks of all ranks in a run or a simulation, on one clock.
///
/// ```
/// use einsum_dist::AlgorithmName;
/// use einsum_dist::{Machine, PlanOptions, Problem};
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![800, 600], vec![600, 700]])?;
/// let options = PlanOptions::default().algorithm(AlgorithmName::RingMn);
/// let alone = shaped.plan(&Machine::new(1, 1), &options)?.simulate().unwrap();
/// let four = shaped.plan(&Machine::new(4, 1), &options)?.simulate().unwrap();
/// assert!(four.seconds < alone.seconds / 2.0 && four.seconds > alone.seconds / 4.0);
/// // More than half of the receive time is hidden behind computation.
/// assert!(four.hidden_share().unwrap() > 0.5);
/// assert!(four.svg("a ring of four").starts_with("<svg"));
/// assert!(four.trace().starts_with("{"));
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Seconds from the beginning of the run to its last task's end.
    pub seconds: f64,
    /// Number of ranks.
    pub ranks: usize,
    /// Compute threads on each rank.
    pub workers: usize,
    /// The host of each rank; empty for a simulation.
    pub hosts: Vec<String>,
    /// The number of the plan's slices, from the first, in the timeline.
    pub slices: usize,
    /// Maximum error, in seconds, of times on one host relative to another, because the difference of clocks is
    /// measured approximately.
    pub clock_error: f64,
    /// The values of the plan as expressions, such as `mk,kn->mn`.
    pub steps: Vec<String>,
    /// All tasks of all ranks, on each lane in order of start time.
    pub spans: Vec<Span>,
}

impl Timeline {
    /// The summed seconds of a rank's tasks on a lane.
    pub fn busy(&self, rank: usize, lane: Lane) -> f64 {
        let of = self.spans.iter().filter(|span| span.rank == rank && span.activity.lane() == lane);
        of.map(|span| span.end - span.start).sum()
    }

    /// The fraction (0 to 1) of the run during which workers compute, averaged over ranks.
    pub fn working_share(&self) -> f64 {
        if self.seconds > 0.0 { self.all_busy().working / (self.seconds * self.ranks as f64) } else { 1.0 }
    }

    /// The fraction (0 to 1) of the receiving time, summed over ranks and including waiting for the sender, during
    /// which the receiving rank also computes, if there are receives.
    pub fn hidden_share(&self) -> Option<f64> {
        self.all_busy().hidden_share()
    }

    fn all_busy(&self) -> Busy {
        let mut lanes = vec![[Vec::new(), Vec::new()]; self.ranks];
        for span in self.spans.iter().filter(|span| span.activity.lane() != Lane::Send) {
            lanes[span.rank][usize::from(span.activity.lane() == Lane::Recv)].push((span.start, span.end));
        }
        lanes.into_iter().fold(Busy::default(), |mut all, [work, transfers]| {
            all.add(Busy::of(work, transfers));
            all
        })
    }
}

#[cfg(test)]
mod sample_tests;
