//! What a run measured, task by task.

use std::time::Instant;

use crate::schedule::{Action, Lane, Schedule};
use crate::timeline::Busy;

/// One task: when it started and ended (seconds from the start of the run), and the bytes that its transport moved. All are 0 of
/// a task that the run left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TaskMetric {
    /// In seconds.
    pub start: f64,
    /// In seconds.
    pub end: f64,
    /// Of a transfer.
    pub bytes: u64,
}

/// One rank's run.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// From when seconds count.
    pub started: Instant,
    /// In the order of the schedule.
    pub tasks: Vec<TaskMetric>,
    /// From the first task's chance to start to the last one's end.
    pub seconds: f64,
    /// Owned buffers and packing space: the most that was live at once.
    pub owned_bytes: u64,
}

/// Bytes that ranks have received and sent, as their transports counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Bytes that came.
    pub received: u64,
    /// Bytes that went.
    pub sent: u64,
}

impl TaskMetric {
    /// Whether the run had the task.
    pub fn ran(&self) -> bool {
        self.end > 0.0
    }
}

impl Metrics {
    /// Adds those of another run of the same schedule, as if its tasks had taken longer.
    pub fn add(&mut self, more: &Metrics) {
        for (task, more) in self.tasks.iter_mut().zip(&more.tasks) {
            task.end += more.end - more.start;
            task.bytes += more.bytes;
        }
        self.seconds += more.seconds;
        self.owned_bytes = self.owned_bytes.max(more.owned_bytes);
    }

    /// All bytes of the run.
    pub fn moved(&self, schedule: &Schedule) -> Moved {
        let bytes = |wanted: Lane| {
            let tasks = schedule.tasks.iter().zip(&self.tasks);
            tasks.filter(|(task, _)| task.action.lane() == wanted).map(|(_, metric)| metric.bytes).sum()
        };
        Moved { received: bytes(Lane::Recv), sent: bytes(Lane::Send) }
    }

    /// Bytes received, per node.
    pub fn received(&self, schedule: &Schedule, nodes: usize) -> Vec<u64> {
        let mut received = vec![0; nodes];
        for (task, metric) in schedule.tasks.iter().zip(&self.tasks) {
            if let Action::Recv { .. } = task.action {
                received[task.node] += metric.bytes;
            }
        }
        received
    }

    /// Bytes received from some of the ranks.
    pub fn received_from(&self, schedule: &Schedule, counts: impl Fn(usize) -> bool) -> u64 {
        let tasks = schedule.tasks.iter().zip(&self.tasks);
        let from = tasks.filter(|(task, _)| matches!(task.action, Action::Recv { peer, .. } if counts(peer)));
        from.map(|(_, metric)| metric.bytes).sum()
    }

    /// Seconds from the start of a node's first task to the end of its last, per node.
    pub fn node_seconds(&self, schedule: &Schedule, nodes: usize) -> Vec<f64> {
        let mut spans = vec![(f64::INFINITY, 0.0f64); nodes];
        for (task, metric) in schedule.tasks.iter().zip(&self.tasks) {
            let span = &mut spans[task.node];
            *span = (span.0.min(metric.start), span.1.max(metric.end));
        }
        spans.into_iter().map(|(start, end)| (end - start).max(0.0)).collect()
    }

    /// For how long work and transfers were under way, and both at once. Cost: that of sorting the tasks.
    pub fn busy(&self, schedule: &Schedule) -> Busy {
        Busy::of(self.spans(schedule, |lane| lane == Lane::Work), self.spans(schedule, |lane| lane != Lane::Work))
    }

    fn spans(&self, schedule: &Schedule, lane: impl Fn(Lane) -> bool) -> Vec<(f64, f64)> {
        let tasks = schedule.tasks.iter().zip(&self.tasks);
        tasks.filter(|(task, _)| lane(task.action.lane())).map(|(_, metric)| (metric.start, metric.end)).collect()
    }
}
