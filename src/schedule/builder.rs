//! Builds the schedule for one rank, with the edges (dependencies) between tasks.
//!
//! An algorithm declares buffers and appends tasks in program order with the boxes that they access, from which the
//! builder derives all edges.

use std::ops::Range;

use super::arena::{self, Arrangement};
use super::uses::{Use, Uses};
use super::{Action, Buffer, BufferId, ReuseScope, Schedule, Section, Task, TaskId, View, Work};

pub struct Builder {
    schedule: Schedule,
    /// For each buffer, the uses that later tasks may have to wait for.
    live: Vec<Uses>,
    /// The tasks that first use some box of a buffer, with the buffer.
    fresh: Vec<(TaskId, BufferId)>,
    node: usize,
    /// The ranks of new tasks, numbered from 0 in the group.
    group: Range<usize>,
}

impl Builder {
    pub fn new(rank: usize, ranks: usize, element: usize) -> Builder {
        let schedule = Schedule {
            rank,
            ranks,
            element,
            buffers: Vec::new(),
            tasks: Vec::new(),
            offsets: Vec::new(),
            arena_bytes: 0,
            sections: Vec::new(),
            lasting: Vec::new(),
            conjugated: Vec::new(),
        };
        Builder { schedule, live: Vec::new(), fresh: Vec::new(), node: 0, group: 0..ranks }
    }

    /// Sets how long the tensor of each node stays valid.
    pub fn lasting(mut self, lasting: Vec<ReuseScope>) -> Builder {
        self.schedule.lasting = lasting;
        self
    }

    /// Sets the conjugated nodes, ascending.
    pub fn conjugated(mut self, conjugated: Vec<usize>) -> Builder {
        self.schedule.conjugated = conjugated;
        self
    }

    /// This rank's number in the group.
    pub fn rank(&self) -> usize {
        self.schedule.rank - self.group.start
    }

    /// The number of ranks in the group.
    pub fn ranks(&self) -> usize {
        self.group.len()
    }

    /// Calls `tasks`, which appends tasks for `group`, which includes this rank.
    pub fn within(&mut self, group: Range<usize>, tasks: impl FnOnce(&mut Builder)) {
        debug_assert!(group.contains(&self.schedule.rank), "only those who are in it have tasks of a group");
        let all = std::mem::replace(&mut self.group, group);
        tasks(self);
        self.group = all;
    }

    /// Assigns all following tasks to `node`.
    pub fn set_node(&mut self, node: usize) {
        self.node = node;
    }

    pub fn node(&self) -> usize {
        self.node
    }

    pub fn tasks(&self) -> usize {
        self.schedule.tasks.len()
    }

    /// Declares the branches of a section, which may run at the same time.
    pub fn side_by_side(&mut self, branches: Vec<Range<TaskId>>) {
        self.schedule.sections.push(Section { branches });
    }

    pub fn declare(&mut self, buffer: Buffer) -> BufferId {
        self.schedule.buffers.push(buffer);
        self.live.push(Uses::default());
        self.schedule.buffers.len() - 1
    }

    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.schedule.buffers[id]
    }

    pub fn work(&mut self, work: Work) {
        self.push(Action::Work(Box::new(work)));
    }

    /// Sends the boxes to `peer`, unless they are empty.
    pub fn send(&mut self, peer: usize, from: Vec<View>) {
        let peer = self.group.start + peer;
        self.transfer(from, |from| Action::Send { peer, from });
    }

    /// Receives the boxes from `peer`, unless they are empty.
    pub fn recv(&mut self, peer: usize, into: Vec<View>) {
        let peer = self.group.start + peer;
        self.transfer(into, |into| Action::Recv { peer, into });
    }

    /// Places the buffers in the arena, and returns the schedule.
    pub fn finish(mut self) -> Schedule {
        let arrangement = arena::arrange(&self.schedule);
        arena::order(&mut self.schedule, &arrangement, &self.fresh);
        let Arrangement { offsets, bytes } = arrangement;
        (self.schedule.offsets, self.schedule.arena_bytes) = (offsets, bytes);
        // A program keeps its schedule.
        self.schedule.tasks.shrink_to_fit();
        self.schedule.buffers.shrink_to_fit();
        self.schedule
    }

    /// Returns the schedule without placing its buffers, for costs only.
    pub fn unplaced(self) -> Schedule {
        self.schedule
    }

    fn transfer(&mut self, mut views: Vec<View>, action: impl FnOnce(Vec<View>) -> Action) {
        views.retain(|view| view.elements() > 0);
        views.shrink_to_fit();
        if !views.is_empty() {
            self.push(action(views));
        }
    }

    fn push(&mut self, action: Action) {
        let id = self.schedule.tasks.len();
        let mut after: Vec<TaskId> = Vec::new();
        for (view, write) in action.accesses() {
            let mut fresh = true;
            for used in self.live[view.buffer].overlapping(view) {
                fresh = false;
                if used.write || write {
                    after.push(used.task);
                }
            }
            if fresh {
                self.fresh.push((id, view.buffer));
            }
        }
        for (view, write) in action.accesses() {
            self.live[view.buffer].insert(view, Use { task: id, lane: action.lane(), write }, |_| false);
        }
        after.sort_unstable();
        after.dedup();
        after.shrink_to_fit();
        self.schedule.tasks.push(Task { action, node: self.node, after });
    }
}
