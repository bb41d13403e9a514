//! Measurements of a run's tasks.

use std::time::Instant;

use crate::schedule::{Action, Lane, Schedule};
use crate::timeline::Busy;

/// Measurements of one task; 0 if the run skipped it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TaskMetric {
    /// Seconds since the start of the run.
    pub start: f64,
    /// Seconds since the start of the run.
    pub end: f64,
    /// Bytes that the transport moved; 0 for work.
    pub bytes: u64,
}

/// The measurements of one rank's run.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// Start time of the run.
    pub started: Instant,
    /// Measurements of all tasks, in schedule order.
    pub tasks: Vec<TaskMetric>,
    /// Seconds from the start of the run to the end of its last task.
    pub seconds: f64,
    /// Peak bytes of buffers and packing workspace.
    pub owned_bytes: u64,
}

/// Bytes that the transports received and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

impl TaskMetric {
    /// Whether the task was not skipped.
    pub fn ran(&self) -> bool {
        self.end > 0.0
    }
}

impl Metrics {
    /// Adds another run of the same schedule to each task.
    pub fn add(&mut self, more: &Metrics) {
        for (task, more) in self.tasks.iter_mut().zip(&more.tasks) {
            task.end += more.end - more.start;
            task.bytes += more.bytes;
        }
        self.seconds += more.seconds;
        self.owned_bytes = self.owned_bytes.max(more.owned_bytes);
    }

    /// The bytes that this rank received and sent.
    pub fn moved(&self, schedule: &Schedule) -> Moved {
        let bytes = |wanted: Lane| {
            let tasks = schedule.tasks.iter().zip(&self.tasks);
            tasks.filter(|(task, _)| task.action.lane() == wanted).map(|(_, metric)| metric.bytes).sum()
        };
        Moved { received: bytes(Lane::Recv), sent: bytes(Lane::Send) }
    }

    /// Bytes received for each node of the tree.
    pub fn received(&self, schedule: &Schedule, nodes: usize) -> Vec<u64> {
        let mut received = vec![0; nodes];
        for (task, metric) in schedule.tasks.iter().zip(&self.tasks) {
            if let Action::Recv { .. } = task.action {
                received[task.node] += metric.bytes;
            }
        }
        received
    }

    /// Bytes received from ranks for which `counts` is true.
    pub fn received_from(&self, schedule: &Schedule, counts: impl Fn(usize) -> bool) -> u64 {
        let tasks = schedule.tasks.iter().zip(&self.tasks);
        let from = tasks.filter(|(task, _)| matches!(task.action, Action::Recv { peer, .. } if counts(peer)));
        from.map(|(_, metric)| metric.bytes).sum()
    }

    /// Each node's seconds in a single run, from its first work task or the end of its first transfer, whichever is
    /// earlier, to the end of its last task. Without work, it starts when its first transfer is posted.
    pub fn node_seconds(&self, schedule: &Schedule, nodes: usize) -> Vec<f64> {
        let mut spans = vec![NodeSpan::default(); nodes];
        for (task, metric) in schedule.tasks.iter().zip(&self.tasks).filter(|(_, metric)| metric.ran()) {
            spans[task.node].add(task.action.lane(), metric);
        }
        spans.iter().map(NodeSpan::seconds).collect()
    }

    /// Seconds in which work ran, receives were in flight, or both. Cost: O(n log n) for n tasks.
    pub fn busy(&self, schedule: &Schedule) -> Busy {
        let [work, receives] = [Lane::Work, Lane::Recv].map(|lane| {
            let tasks = schedule.tasks.iter().zip(&self.tasks);
            tasks.filter(|(task, _)| task.action.lane() == lane).map(|(_, metric)| (metric.start, metric.end)).collect()
        });
        Busy::of(work, receives)
    }
}

/// In seconds.
#[derive(Debug, Clone, Copy)]
struct NodeSpan {
    work: f64,
    posted: f64,
    moved: f64,
    end: f64,
}

impl Default for NodeSpan {
    fn default() -> NodeSpan {
        NodeSpan { work: f64::INFINITY, posted: f64::INFINITY, moved: f64::INFINITY, end: 0.0 }
    }
}

impl NodeSpan {
    fn add(&mut self, lane: Lane, metric: &TaskMetric) {
        match lane {
            Lane::Work => self.work = self.work.min(metric.start),
            Lane::Send | Lane::Recv => {
                self.posted = self.posted.min(metric.start);
                self.moved = self.moved.min(metric.end);
            }
        }
        self.end = self.end.max(metric.end);
    }

    fn seconds(&self) -> f64 {
        let begin = if self.work.is_finite() { self.work.min(self.moved) } else { self.posted };
        (self.end - begin).max(0.0)
    }
}

#[cfg(test)]
mod tests;
