//! Follows (checks) the cone of influence of some ranks' result blocks: all tasks, on any rank, that contribute to
//! them.
//!
//! ```text
//! out of rank 0 after a product on a grid       from
//!   rank 0   all its tasks
//!   rank 1   the sends of its part of left      its own block: nothing else of rank 1 is followed
//!   rank 4   the sends of its summand of out    its contractions, and what these received
//! ```
//!
//! Invariant: a rank in the cone has as many sends to another as that one has receives from it, so they match in order.
//! Termination is proved only in the cone.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Fault, Spec, VerifyError, run};
use crate::schedule::{Action, Schedule, Task, TaskId};

/// Proves that the result blocks of `chosen` (ascending) are correct. Returns the size of their cone.
///
/// # Errors
/// If a check fails, with the rank and task of the first fault.
pub fn follow(schedule: &dyn Fn(usize) -> Schedule, spec: &Spec, chosen: &[usize]) -> Result<usize, VerifyError> {
    let mut cone = Cone { make: schedule, ranks: BTreeMap::new() };
    cone.mark(chosen)?;
    cone.matched()?;
    let parts: Vec<Schedule> = cone.ranks.values().map(|rank_cone| cone.part(rank_cone)).collect();
    run::check(&parts, spec, |rank| chosen.binary_search(&rank).is_ok())?;
    Ok(parts.len())
}

struct RankCone {
    schedule: Schedule,
    followed: Vec<bool>,
    sends: BTreeMap<usize, Vec<TaskId>>,
    recvs: BTreeMap<usize, Vec<TaskId>>,
    writers: Vec<Vec<TaskId>>,
}

impl RankCone {
    fn new(schedule: Schedule) -> RankCone {
        let (mut sends, mut recvs) = (BTreeMap::<usize, Vec<TaskId>>::new(), BTreeMap::<usize, Vec<TaskId>>::new());
        let mut writers = vec![Vec::new(); schedule.buffers.len()];
        for (id, task) in schedule.tasks.iter().enumerate() {
            match task.action {
                Action::Send { peer, .. } => sends.entry(peer).or_default().push(id),
                Action::Recv { peer, .. } => recvs.entry(peer).or_default().push(id),
                Action::Work(_) => {}
            }
            for view in task.action.writes() {
                if writers[view.buffer].last() != Some(&id) {
                    writers[view.buffer].push(id);
                }
            }
        }
        RankCone { followed: vec![false; schedule.tasks.len()], schedule, sends, recvs, writers }
    }

    /// The tasks that write what a task reads, back to one that wrote the complete box.
    fn sources(&self, id: TaskId) -> Vec<TaskId> {
        let mut sources = Vec::new();
        for read in self.schedule.tasks[id].action.reads() {
            let writers = &self.writers[read.buffer];
            for &writer in writers[..writers.partition_point(|&writer| writer < id)].iter().rev() {
                let written = self.schedule.tasks[writer].action.writes();
                if written.iter().any(|view| view.overlaps(read)) {
                    sources.push(writer);
                }
                if written.iter().any(|view| view.covers(read)) {
                    break;
                }
            }
        }
        sources
    }

    /// The tasks that `keep` accepts, with edges from such tasks only: the last per lane.
    fn kept(&self, keep: impl Fn(TaskId, &Task) -> bool) -> Vec<Task> {
        let tasks = &self.schedule.tasks;
        let mut kept: Vec<Task> = Vec::new();
        let mut places: Vec<Option<usize>> = Vec::with_capacity(tasks.len());
        let mut befores: Vec<[Option<usize>; 3]> = Vec::with_capacity(tasks.len());
        let mut last_tasks: [Option<TaskId>; 3] = [None; 3];
        for (id, task) in tasks.iter().enumerate() {
            let lane = task.action.lane() as usize;
            let mut before = [None; 3];
            for &earlier in task.after.iter().chain(&last_tasks[lane]) {
                match places[earlier] {
                    Some(place) => {
                        let last_place = &mut before[tasks[earlier].action.lane() as usize];
                        *last_place = (*last_place).max(Some(place));
                    }
                    None => before
                        .iter_mut()
                        .zip(befores[earlier])
                        .for_each(|(last_place, other)| *last_place = (*last_place).max(other)),
                }
            }
            let keeps = keep(id, task);
            places.push(keeps.then_some(kept.len()));
            befores.push(before);
            last_tasks[lane] = Some(id);
            if keeps {
                kept.push(Task { after: before.into_iter().flatten().collect(), ..task.clone() });
            }
        }
        kept
    }
}

struct Cone<'a> {
    make: &'a dyn Fn(usize) -> Schedule,
    ranks: BTreeMap<usize, RankCone>,
}

impl Cone<'_> {
    fn rank_cone(&mut self, rank: usize) -> &mut RankCone {
        match self.ranks.entry(rank) {
            Entry::Occupied(rank_cone) => rank_cone.into_mut(),
            Entry::Vacant(place) => place.insert(RankCone::new((self.make)(rank))),
        }
    }

    fn mark(&mut self, chosen: &[usize]) -> Result<(), VerifyError> {
        let mut open: Vec<(usize, TaskId)> = Vec::new();
        for &rank in chosen {
            let tasks = self.rank_cone(rank).schedule.tasks.len();
            open.extend((0..tasks).map(|id| (rank, id)));
        }
        while let Some((rank, id)) = open.pop() {
            let rank_cone = self.rank_cone(rank);
            if std::mem::replace(&mut rank_cone.followed[id], true) {
                continue;
            }
            open.extend(rank_cone.sources(id).into_iter().map(|source| (rank, source)));
            if let Action::Recv { peer, .. } = rank_cone.schedule.tasks[id].action {
                let number = rank_cone.recvs[&peer].partition_point(|&other| other < id);
                let sent = self.rank_cone(peer).sends.get(&rank).and_then(|sends| sends.get(number)).copied();
                let lacking = VerifyError { rank, task: Some(id), fault: Fault::Mismatch { peer } };
                open.push((peer, sent.ok_or(lacking)?));
            }
        }
        Ok(())
    }

    fn matched(&self) -> Result<(), VerifyError> {
        for (&rank, rank_cone) in &self.ranks {
            for (&peer, sends) in &rank_cone.sends {
                let received = |there: &RankCone| there.recvs.get(&rank).map_or(0, Vec::len);
                if self.ranks.get(&peer).is_some_and(|there| received(there) != sends.len()) {
                    return Err(VerifyError { rank, task: sends.last().copied(), fault: Fault::Mismatch { peer } });
                }
            }
        }
        Ok(())
    }

    fn part(&self, rank_cone: &RankCone) -> Schedule {
        let Schedule { rank, ranks, element, ref buffers, .. } = rank_cone.schedule;
        let received = |id: TaskId, peer: usize| {
            let number = rank_cone.sends[&peer].partition_point(|&other| other < id);
            self.ranks.get(&peer).is_some_and(|there| {
                there.recvs.get(&rank).and_then(|recvs| recvs.get(number)).is_some_and(|&recv| there.followed[recv])
            })
        };
        let tasks = rank_cone.kept(|id, task| match task.action {
            Action::Send { peer, .. } => rank_cone.followed[id] && received(id, peer),
            _ => rank_cone.followed[id],
        });
        let (buffers, offsets, sections, lasting) = (buffers.clone(), Vec::new(), Vec::new(), Vec::new());
        let conjugated = Vec::new();
        Schedule { rank, ranks, element, buffers, tasks, offsets, arena_bytes: 0, sections, lasting, conjugated }
    }
}
