//! Timelines: what each rank did when, in a run ([`Program::timeline`](crate::Program::timeline)) or in a simulation
//! without data ([`Plan::simulate`](crate::Plan::simulate)).
//!
//! | content | where |
//! |---|---|
//! | the picture | `svg` |
//! | a trace file for viewers, with every task | `trace` |
//! | how much of it overlaps | `busy` |
//!
//! Invariant: the spans of one lane of one rank are in order of their starts, and transfers between two ranks are in
//! the same order at both ends. Several transfers of a lane may be under way at once, and so may work of schedules with
//! sections.

mod busy;
mod svg;
mod trace;

pub use busy::Busy;

use serde::{Deserialize, Serialize};

use crate::schedule::{Action, Lane, TaskId, Work};

/// What a rank does during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activity {
    /// Workers contract two blocks.
    Contract,
    /// Workers add, permute, copy, zero or scale blocks.
    Arrange,
    /// A block goes to this rank.
    Send(usize),
    /// A block comes from this rank.
    Recv(usize),
}

impl Activity {
    /// What a rank does in a task.
    pub fn of(action: &Action) -> Activity {
        match action {
            Action::Work(work) if matches!(**work, Work::Contract { .. }) => Activity::Contract,
            Action::Work(_) => Activity::Arrange,
            &Action::Send { peer, .. } => Activity::Send(peer),
            &Action::Recv { peer, .. } => Activity::Recv(peer),
        }
    }

    /// The lane that it occupies.
    pub fn lane(self) -> Lane {
        match self {
            Activity::Contract | Activity::Arrange => Lane::Work,
            Activity::Send(_) => Lane::Send,
            Activity::Recv(_) => Lane::Recv,
        }
    }
}

/// One task on its lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The rank that does it.
    pub rank: usize,
    /// What the rank does.
    #[serde(rename = "doing")]
    pub activity: Activity,
    /// The value of the plan that it serves.
    pub node: usize,
    /// Its place in the rank's schedule.
    pub task: TaskId,
    /// For work that runs side by side with other work: its branch, which has one worker. All workers share other work.
    pub worker: Option<usize>,
    /// Seconds from the beginning of the run. A transfer begins when it may, and then waits for the other rank.
    pub start: f64,
    /// Seconds from the beginning of the run.
    pub end: f64,
    /// Bytes of a transfer.
    pub bytes: u64,
    /// Predicted seconds of the task by itself.
    pub predicted: f64,
}

/// A run, rank by rank.
///
/// ```
/// use einsum_dist::AlgorithmName;
/// use einsum_dist::{Machine, PlanOptions, Problem};
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![800, 600], vec![600, 700]])?;
/// let options = PlanOptions::default().algorithm(AlgorithmName::RingMn);
/// let alone = shaped.plan(&Machine::new(1, 1), &options)?.simulate().unwrap();
/// let four = shaped.plan(&Machine::new(4, 1), &options)?.simulate().unwrap();
/// assert!(four.seconds < alone.seconds / 2.0 && four.seconds > alone.seconds / 4.0);
/// // All receive while they compute, except the part that nothing hides.
/// assert!(four.hidden_share().unwrap() > 0.5);
/// assert!(four.svg("a ring of four").starts_with("<svg"));
/// assert!(four.trace().starts_with("{"));
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Seconds from the beginning of the run to the end of the last task.
    pub seconds: f64,
    /// How many ranks there are.
    pub ranks: usize,
    /// Threads of each rank that compute.
    pub workers: usize,
    /// The host of each rank; empty for a simulation.
    pub hosts: Vec<String>,
    /// Number of slices shown, one after the other: the first ones of the plan.
    pub slices: usize,
    /// By how many seconds spans of ranks on different hosts may be off, as their clocks differ.
    pub clock_error: f64,
    /// The values of the plan as expressions: `mk,kn->mn`.
    pub steps: Vec<String>,
    /// All tasks of all ranks, those of a lane in order.
    pub spans: Vec<Span>,
}

impl Timeline {
    /// Summed seconds of a rank's tasks on a lane.
    pub fn busy(&self, rank: usize, lane: Lane) -> f64 {
        let of = self.spans.iter().filter(|span| span.rank == rank && span.activity.lane() == lane);
        of.map(|span| span.end - span.start).sum()
    }

    /// The share of the time that workers of an average rank compute.
    pub fn working_share(&self) -> f64 {
        if self.seconds > 0.0 { self.all_busy().working / (self.seconds * self.ranks as f64) } else { 1.0 }
    }

    /// The share of the receive time of all ranks during which the same rank computed; `None` if nothing is received. A
    /// receive of a run begins when it may, so this time includes waiting for the other rank.
    pub fn hidden_share(&self) -> Option<f64> {
        self.all_busy().hidden_share()
    }

    /// Work and receives of all ranks together.
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
mod samples {
    use super::*;

    pub fn span(rank: usize, activity: Activity, start: f64, end: f64) -> Span {
        Span { rank, activity, node: 0, task: 0, worker: None, start, end, bytes: 0, predicted: 0.0 }
    }

    pub fn timeline(seconds: f64, ranks: usize, spans: Vec<Span>) -> Timeline {
        let (hosts, steps) = (Vec::new(), vec!["mk,kn->mn".to_owned()]);
        Timeline { seconds, ranks, workers: 1, hosts, slices: 1, clock_error: 0.0, steps, spans }
    }
}
