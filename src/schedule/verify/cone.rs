//! What the blocks of some ranks come from: only that is followed, and only ranks that have to do with it have schedules.
//!
//! ```text
//! out of rank 0 after a product on a grid       from
//!   rank 0   all its tasks
//!   rank 1   the sends of its part of left      its own block: nothing else of rank 1 is followed
//!   rank 4   the sends of its summand of out    its contractions, and what these received
//! ```
//!
//! Invariant: a transfer's ends are the same in number between two ranks, which is how lanes in order match them. Deliberately absent:
//! whether other ranks end; they run the same algorithm.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Facts, Fault, VerifyError, run};
use crate::schedule::{Action, Schedule, TaskId};

/// Proves the blocks of the result of some ranks, in ascending order; how many ranks had to do with them.
///
/// # Errors
/// The first fault found, with its rank and task.
pub fn follow(schedule: &dyn Fn(usize) -> Schedule, facts: &Facts, chosen: &[usize]) -> Result<usize, VerifyError> {
    let mut cone = Cone { make: schedule, ranks: BTreeMap::new() };
    cone.mark(chosen)?;
    let parts: Vec<Schedule> = cone.ranks.values().map(|known| cone.part(known)).collect();
    run::of_some(&parts.iter().collect::<Vec<_>>(), facts, chosen)?;
    Ok(parts.len())
}

/// A rank's schedule, and which of its tasks are followed.
struct Known {
    schedule: Schedule,
    followed: Vec<bool>,
    /// By peer, in order.
    sends: BTreeMap<usize, Vec<TaskId>>,
    recvs: BTreeMap<usize, Vec<TaskId>>,
}

impl Known {
    fn new(schedule: Schedule) -> Known {
        let (mut sends, mut recvs) = (BTreeMap::<usize, Vec<TaskId>>::new(), BTreeMap::<usize, Vec<TaskId>>::new());
        for (id, task) in schedule.tasks.iter().enumerate() {
            match task.action {
                Action::Send { peer, .. } => sends.entry(peer).or_default().push(id),
                Action::Recv { peer, .. } => recvs.entry(peer).or_default().push(id),
                Action::Work(_) => {}
            }
        }
        Known { followed: vec![false; schedule.tasks.len()], schedule, sends, recvs }
    }
}

struct Cone<'a> {
    make: &'a dyn Fn(usize) -> Schedule,
    ranks: BTreeMap<usize, Known>,
}

impl Cone<'_> {
    fn know(&mut self, rank: usize) -> &mut Known {
        match self.ranks.entry(rank) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Known::new((self.make)(rank))),
        }
    }

    /// Backwards from all tasks of the chosen ranks.
    fn mark(&mut self, chosen: &[usize]) -> Result<(), VerifyError> {
        let mut open: Vec<(usize, TaskId)> = Vec::new();
        for &rank in chosen {
            let tasks = self.know(rank).schedule.tasks.len();
            open.extend((0..tasks).map(|id| (rank, id)));
        }
        while let Some((rank, id)) = open.pop() {
            let known = self.know(rank);
            if std::mem::replace(&mut known.followed[id], true) {
                continue;
            }
            let task = &known.schedule.tasks[id];
            open.extend(task.after.iter().map(|&before| (rank, before)));
            if let Action::Recv { peer, .. } = task.action {
                let number = known.recvs[&peer].partition_point(|&other| other < id);
                let sent = self.know(peer).sends.get(&rank).and_then(|sends| sends.get(number)).copied();
                let lacking = VerifyError { rank, task: Some(id), fault: Fault::Mismatch { peer } };
                open.push((peer, sent.ok_or(lacking)?));
            }
        }
        Ok(())
    }

    /// The tasks of a rank that are followed, without sends to whom nobody follows.
    fn part(&self, known: &Known) -> Schedule {
        let Schedule { rank, ranks, element, ref buffers, ref tasks, .. } = known.schedule;
        let received = |id: TaskId, peer: usize| {
            let number = known.sends[&peer].partition_point(|&other| other < id);
            self.ranks.get(&peer).is_some_and(|there| {
                there.recvs.get(&rank).and_then(|recvs| recvs.get(number)).is_some_and(|&recv| there.followed[recv])
            })
        };
        let mut places = vec![None; tasks.len()];
        let mut kept = Vec::new();
        for (id, task) in tasks.iter().enumerate().filter(|(id, _)| known.followed[*id]) {
            if let Action::Send { peer, .. } = task.action
                && !received(id, peer)
            {
                continue;
            }
            places[id] = Some(kept.len());
            let mut task = task.clone();
            task.after = task.after.iter().filter_map(|&before| places[before]).collect();
            kept.push(task);
        }
        let (buffers, offsets, sections, lasting) = (buffers.clone(), Vec::new(), Vec::new(), Vec::new());
        Schedule { rank, ranks, element, buffers, tasks: kept, offsets, arena_bytes: 0, sections, lasting }
    }
}
