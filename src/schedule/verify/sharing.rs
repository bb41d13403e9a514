//! Checks that two buffers that share bytes of the arena are never in use at the same time.

use std::collections::HashMap;

use super::Clock;
use super::Fault;
use crate::schedule::arena::{Occupants, lifetimes};
use crate::schedule::{BufferId, ReuseScope, Schedule, TaskId};

pub struct Sharing<'a> {
    schedule: &'a Schedule,
    lifetimes: Vec<Option<(TaskId, TaskId)>>,
    /// For each buffer and lane, the tasks up to the buffer's last use.
    left: Vec<Clock>,
    occupants: Occupants,
    /// Whether later runs read each buffer without writing it.
    kept: Vec<bool>,
    /// The sharing group of each buffer, outside of which it must not share memory.
    groups: Vec<ReuseScope>,
    /// For each buffer and section, the first and last branch that use it.
    branches: HashMap<(BufferId, usize), (usize, usize)>,
    /// For each buffer and lane, how many tasks must be complete before its use.
    needs: Vec<Clock>,
}

impl<'a> Sharing<'a> {
    pub fn new(schedule: &'a Schedule) -> Result<Sharing<'a>, Fault> {
        let count = schedule.buffers.len();
        if schedule.offsets.len() != count {
            return Err(Fault::Arena);
        }
        let mut left = vec![Clock::default(); count];
        let mut places = Clock::default();
        let mut branches = HashMap::new();
        for (id, task) in schedule.tasks.iter().enumerate() {
            let lane = task.action.lane() as usize;
            let section = schedule.section(id).map(|section| (section, schedule.branch(id)));
            places[lane] += 1;
            for view in task.action.views() {
                let clock = left.get_mut(view.buffer).ok_or(Fault::NoBuffer(view.buffer))?;
                clock[lane] = places[lane];
                if let Some((section, branch)) = section {
                    let (_, last) = branches.entry((view.buffer, section)).or_insert((branch, branch));
                    *last = branch;
                }
            }
        }
        let sharing = Sharing {
            schedule,
            lifetimes: lifetimes(schedule),
            left,
            occupants: Occupants::default(),
            kept: schedule.kept(),
            groups: schedule.sharing(),
            branches,
            needs: vec![Clock::default(); count],
        };
        let inside = |id: BufferId| {
            let end = schedule.offsets[id].checked_add(sharing.bytes(id));
            !sharing.is_own(id) || end.is_some_and(|end| end <= schedule.arena_bytes)
        };
        if (0..count).all(inside) { Ok(sharing) } else { Err(Fault::Arena) }
    }

    /// `clock` tasks per lane are complete when the task starts.
    pub fn used(&mut self, task: TaskId, buffer: BufferId, clock: &Clock) -> Result<(), Fault> {
        if !self.is_own(buffer) {
            return Ok(());
        }
        if self.lifetimes[buffer].is_some_and(|(first, _)| first == task) {
            for other in self.occupants.replace(buffer, self.schedule.offsets[buffer], self.bytes(buffer)) {
                // Checked for another box of this buffer.
                if other == buffer {
                    continue;
                }
                let may_overlap = self.schedule.section(task).is_some_and(|section| {
                    let own = self.schedule.branch(task);
                    self.branches.get(&(other, section)).is_some_and(|&branches| branches != (own, own))
                });
                let kept = self.kept[buffer] || self.kept[other] || self.groups[buffer] != self.groups[other];
                if may_overlap || kept || self.lifetimes[other].is_some_and(|(_, last)| last >= task) {
                    return Err(Fault::Shared { buffer, other });
                }
                let left = self.left[other];
                self.needs[buffer].iter_mut().zip(left).for_each(|(need, left)| *need = (*need).max(left));
            }
        }
        let ready = clock.iter().zip(&self.needs[buffer]).all(|(done, need)| done >= need);
        if ready { Ok(()) } else { Err(Fault::Early(buffer)) }
    }

    fn is_own(&self, buffer: BufferId) -> bool {
        self.schedule.buffers[buffer].home.is_arena()
    }

    fn bytes(&self, buffer: BufferId) -> usize {
        self.schedule.buffers[buffer].elements().saturating_mul(self.schedule.element)
    }
}
