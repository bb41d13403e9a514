//! Determines which task may start next in each lane (a rank's work, send or receive tasks in sequence).
//!
//! Invariant: Each lane starts and completes its tasks in order, as the verifier assumes. A transfer that finishes
//! early is complete only after all earlier ones in its lane.

use crate::schedule::{Lane, Schedule, TaskId};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    /// Finished, but not an earlier task of the lane.
    Ended,
    Complete,
}

pub struct Lanes<'a> {
    schedule: &'a Schedule,
    overlap: bool,
    order: [Vec<TaskId>; 3],
    /// As positions in `order`, each lane's next task to start, and to complete.
    next: [usize; 3],
    completed: [usize; 3],
    states: Vec<State>,
    left: usize,
}

impl<'a> Lanes<'a> {
    /// Tasks with `is_held` are complete from the start, because their results are reused.
    pub fn new(schedule: &'a Schedule, overlap: bool, is_held: impl Fn(TaskId) -> bool) -> Lanes<'a> {
        let mut order: [Vec<TaskId>; 3] = Default::default();
        let mut states = vec![State::Complete; schedule.tasks.len()];
        for (id, task) in schedule.tasks.iter().enumerate().filter(|(id, _)| !is_held(*id)) {
            order[task.action.lane() as usize].push(id);
            states[id] = State::Waiting;
        }
        let left = order.iter().map(Vec::len).sum();
        Lanes { schedule, overlap, order, next: [0; 3], completed: [0; 3], left, states }
    }

    pub fn done(&self) -> bool {
        self.left == 0
    }

    pub fn in_flight(&self, lane: Lane) -> usize {
        self.next[lane as usize] - self.completed[lane as usize]
    }

    pub fn oldest(&self, lane: Lane) -> Option<TaskId> {
        let under_way = &self.order[lane as usize][self.completed[lane as usize]..self.next[lane as usize]];
        under_way.first().copied()
    }

    pub fn start(&mut self, lane: Lane, window: usize) -> Option<TaskId> {
        let at = self.next[lane as usize];
        let &task = self.order[lane as usize].get(at)?;
        let ready = self.in_flight(lane) < window
            && self.schedule.tasks[task].after.iter().all(|&t| self.states[t] == State::Complete)
            && (self.overlap || self.conflicting_lanes_are_done(lane, task));
        if !ready {
            return None;
        }
        self.next[lane as usize] += 1;
        self.states[task] = State::Running;
        Some(task)
    }

    /// Without overlap, work waits for all earlier transfers in the schedule, and transfers for all earlier work.
    fn conflicting_lanes_are_done(&self, lane: Lane, task: TaskId) -> bool {
        let others: &[Lane] = if lane == Lane::Work { &[Lane::Send, Lane::Recv] } else { &[Lane::Work] };
        others.iter().all(|&other| {
            let next = self.order[other as usize].get(self.completed[other as usize]);
            next.is_none_or(|&next| next > task)
        })
    }

    pub fn finish(&mut self, task: TaskId) {
        self.states[task] = State::Ended;
        let lane = self.schedule.tasks[task].action.lane() as usize;
        while let Some(&next) = self.order[lane].get(self.completed[lane]) {
            if self.states[next] != State::Ended {
                break;
            }
            self.states[next] = State::Complete;
            self.completed[lane] += 1;
            self.left -= 1;
        }
    }
}
