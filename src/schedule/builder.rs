//! Builds the schedule for one rank, with edges (dependencies) derived from the order of tasks and the boxes that they
//! access.

use std::ops::Range;

use super::arena::{self, Arrangement};
use super::carried::{Carried, CarriedSum, Descriptions};
use super::uses::{Use, Uses};
use super::{Action, Buffer, BufferId, ReuseScope, Schedule, Section, Task, TaskId, View, Work};
use crate::dims::Label;
use crate::distribution::{Bounds, is_empty};

pub struct Builder {
    schedule: Schedule,
    /// For each buffer, the uses to wait for.
    live: Vec<Uses>,
    /// The first uses of boxes.
    fresh: Vec<(TaskId, BufferId)>,
    node: usize,
    /// The ranks of new tasks, numbered from 0 in the group.
    group: Range<usize>,
    descriptions: Option<Descriptions>,
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
        Builder { schedule, live: Vec::new(), fresh: Vec::new(), node: 0, group: 0..ranks, descriptions: None }
    }

    pub fn lasting(mut self, lasting: Vec<ReuseScope>) -> Builder {
        self.schedule.lasting = lasting;
        self
    }

    /// Ascending nodes.
    pub fn conjugated(mut self, conjugated: Vec<usize>) -> Builder {
        self.schedule.conjugated = conjugated;
        self
    }

    /// Records what transfers carry, for [`Builder::finish_described`].
    pub fn describing(mut self) -> Builder {
        self.descriptions = Some(Descriptions::default());
        self
    }

    /// In the group.
    pub fn rank(&self) -> usize {
        self.schedule.rank - self.group.start
    }

    pub fn ranks(&self) -> usize {
        self.group.len()
    }

    /// Appends tasks for `group`, which includes this rank.
    pub fn within(&mut self, group: Range<usize>, tasks: impl FnOnce(&mut Builder)) {
        debug_assert!(group.contains(&self.schedule.rank), "only those who are in it have tasks of a group");
        let all = std::mem::replace(&mut self.group, group);
        tasks(self);
        self.group = all;
    }

    pub fn set_node(&mut self, node: usize) {
        self.node = node;
    }

    pub fn node(&self) -> usize {
        self.node
    }

    /// `start` is the dimension and first index of the batch.
    pub fn set_batch(&mut self, batch: usize, start: Option<(Label, usize)>) {
        if let Some(descriptions) = &mut self.descriptions {
            (descriptions.batch, descriptions.start) = (batch, start);
        }
    }

    pub fn tasks(&self) -> usize {
        self.schedule.tasks.len()
    }

    /// Declares a section.
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
    pub fn send(&mut self, peer: usize, from: Vec<View>) -> Transfer<'_> {
        let peer = self.group.start + peer;
        self.transfer(from, |from| Action::Send { peer, from })
    }

    pub fn recv(&mut self, peer: usize, into: Vec<View>) -> Transfer<'_> {
        let peer = self.group.start + peer;
        self.transfer(into, |into| Action::Recv { peer, into })
    }

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

    /// Also returns what each transfer carries, by task; `None` for work.
    pub fn finish_described(mut self) -> (Schedule, Vec<Option<Carried>>) {
        let mut carried = self.descriptions.take().unwrap_or_default().of_tasks;
        carried.resize(self.schedule.tasks.len(), None);
        (self.finish(), carried)
    }

    /// Without placed buffers, for costs only.
    pub fn unplaced(self) -> Schedule {
        self.schedule
    }

    fn transfer(&mut self, mut views: Vec<View>, action: impl FnOnce(Vec<View>) -> Action) -> Transfer<'_> {
        views.retain(|view| view.elements() > 0);
        views.shrink_to_fit();
        let appended = !views.is_empty();
        if appended {
            self.push(action(views));
        }
        Transfer { builder: self, appended }
    }

    /// Describes the last task, in indices of the batch.
    fn describe(&mut self, [a, b, c]: [usize; 3], mut boxes: Vec<Bounds>, sum: CarriedSum) {
        let Some(descriptions) = &mut self.descriptions else { return };
        let sum = match sum {
            CarriedSum::StoredBy(ranks) => {
                CarriedSum::StoredBy(ranks.into_iter().map(|rank| self.group.start + rank).collect())
            }
            other => other,
        };
        let last = self.schedule.tasks.last().and_then(|task| task.action.views().next());
        let Some(Buffer { node, labels, .. }) = last.map(|view| &self.schedule.buffers[view.buffer]) else { return };
        if let Some((label, start)) = descriptions.start {
            for (dim, _) in labels.iter().enumerate().filter(|(_, other)| **other == label) {
                for bounds in &mut boxes {
                    bounds[dim] = bounds[dim].start + start..bounds[dim].end + start;
                }
            }
        }
        descriptions.of_tasks.resize(self.schedule.tasks.len(), None);
        let key = [descriptions.batch, self.node, a, b, c];
        descriptions.of_tasks[self.schedule.tasks.len() - 1] = Some(Carried { key, node: *node, boxes, sum });
    }

    fn push(&mut self, action: Action) {
        let id = self.schedule.tasks.len();
        let mut after: Vec<TaskId> = Vec::new();
        for (view, write) in action.accesses() {
            let mut fresh = true;
            for used in self.live[view.buffer].conflicting(view, write) {
                fresh = false;
                after.push(used.task);
            }
            if fresh && self.schedule.buffers[view.buffer].home.is_arena() {
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

pub struct Transfer<'a> {
    builder: &'a mut Builder,
    /// Whether there is a task, because a box was nonempty.
    appended: bool,
}

impl Transfer<'_> {
    /// `what` returns one box per view, in indices of the tensor.
    pub fn carries(self, key: [usize; 3], what: impl FnOnce() -> (Vec<Bounds>, CarriedSum)) {
        if self.appended && self.builder.descriptions.is_some() {
            let (mut boxes, sum) = what();
            boxes.retain(|bounds| !is_empty(bounds));
            self.builder.describe(key, boxes, sum);
        }
    }

    /// [`Transfer::carries`] for finished elements.
    pub fn carries_elements(self, key: [usize; 3], boxes: impl FnOnce() -> Vec<Bounds>) {
        self.carries(key, || (boxes(), CarriedSum::Complete));
    }
}
