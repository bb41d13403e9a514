//! One rank's lanes (work, send, receive) in simulations.

use std::ops::Range;

use crate::machine::Machine;
use crate::schedule::{Lane, Schedule, Task, TaskId};
use crate::timeline::{Activity, Span};

/// The seconds that a task of `lane` takes longer because of tasks before it on the other lane, which is busy as much
/// longer.
pub fn interference(machine: &Machine, free: &mut [f64; 3], lane: Lane, task: Range<f64>) -> f64 {
    let other = match lane {
        Lane::Work => Lane::Recv,
        Lane::Recv => Lane::Work,
        Lane::Send => return 0.0,
    };
    let longer = machine.interference * (free[other as usize].min(task.end) - task.start).max(0.0);
    free[other as usize] += longer;
    longer
}

pub fn span(schedule: &Schedule, task: TaskId, [start, end]: [f64; 2]) -> Span {
    let Task { node, ref action, .. } = schedule.tasks[task];
    let (activity, bytes, predicted) = (Activity::of(action), schedule.bytes(action), end - start);
    Span { rank: schedule.rank, activity, node, task, worker: None, start, end, bytes, predicted }
}
