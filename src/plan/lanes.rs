//! One rank's lanes (work, send, receive) in simulations.

use std::ops::Range;

use crate::machine::Machine;
use crate::schedule::{Lane, Schedule, Task, TaskId};
use crate::timeline::{Activity, Span};

#[derive(Default)]
pub struct LaneTimes {
    /// Of the latest task.
    started: [f64; 3],
    pub free: [f64; 3],
    pub latest_end: [f64; 3],
}

impl LaneTimes {
    /// Returns the seconds by which the latest task of the other lane slows down a task of `lane`, and occupies the other
    /// lane as much longer. What depends on the latest task is not delayed.
    pub fn interference(&mut self, machine: &Machine, lane: Lane, task: Range<f64>) -> f64 {
        let other = match lane {
            Lane::Work => Lane::Recv as usize,
            Lane::Recv => Lane::Work as usize,
            Lane::Send => return 0.0,
        };
        let both = self.free[other].min(task.end) - self.started[other].max(task.start);
        let longer = machine.interference * both.max(0.0);
        self.free[other] += longer;
        longer
    }

    pub fn finish(&mut self, lane: Lane, [start, free, end]: [f64; 3]) {
        let lane = lane as usize;
        (self.started[lane], self.free[lane]) = (start, free);
        self.latest_end[lane] = self.latest_end[lane].max(end);
    }
}

pub fn span(schedule: &Schedule, task: TaskId, [start, end]: [f64; 2]) -> Span {
    let Task { node, ref action, .. } = schedule.tasks[task];
    let (activity, bytes, predicted) = (Activity::of(action), schedule.bytes(action), end - start);
    Span { rank: schedule.rank, activity, node, task, worker: None, start, end, bytes, predicted }
}
