//! Checks all ranks together: simulates the run with one unbuffered transfer in flight per lane, and follows every
//! element's provenance.
//!
//! By [`super::hazard`], one order proves all.

use super::provenance::Contents;
use super::semantics::Semantics;
use super::{Fault, Spec, VerifyError};
use crate::schedule::{Action, Lane, Schedule, TaskId, View};

struct Rank<'a> {
    semantics: Semantics<'a>,
    contents: Contents,
    lanes: [Vec<TaskId>; 3],
    next: [usize; 3],
    done: Vec<bool>,
}

impl Rank<'_> {
    fn head(&self, lane: Lane) -> Option<TaskId> {
        let &task = self.lanes[lane as usize].get(self.next[lane as usize])?;
        self.semantics.schedule.tasks[task].after.iter().all(|&t| self.done[t]).then_some(task)
    }

    fn complete(&mut self, task: TaskId) {
        self.done[task] = true;
        self.next[self.semantics.schedule.tasks[task].action.lane() as usize] += 1;
    }

    fn action(&self, task: TaskId) -> &Action {
        &self.semantics.schedule.tasks[task].action
    }
}

/// Checks the results of the ranks that are `chosen`. The ranks ascend, and include both ends of every transfer.
pub fn check(schedules: &[Schedule], spec: &Spec, chosen: impl Fn(usize) -> bool) -> Result<(), VerifyError> {
    for Rank { semantics, contents, .. } in simulate(schedules, spec)? {
        let rank = semantics.schedule.rank;
        if chosen(rank) {
            semantics.result(&contents).map_err(|fault| VerifyError { rank, task: None, fault })?;
        }
    }
    Ok(())
}

fn simulate<'a>(schedules: &'a [Schedule], spec: &'a Spec) -> Result<Vec<Rank<'a>>, VerifyError> {
    let mut ranks: Vec<Rank> = schedules.iter().map(|schedule| start(schedule, spec)).collect();
    let mut woken: Vec<usize> = (0..ranks.len()).rev().collect();
    while let Some(at) = woken.pop() {
        while let Some(task) = ranks[at].head(Lane::Work) {
            let rank = ranks[at].semantics.schedule.rank;
            work(&mut ranks[at], task).map_err(|fault| VerifyError { rank, task: Some(task), fault })?;
        }
        for lane in [Lane::Send, Lane::Recv] {
            if let Some(peer) = transfer(&mut ranks, at, lane)? {
                woken.extend([peer, at]);
            }
        }
    }
    for state in &ranks {
        if let Some(task) = state.done.iter().position(|done| !done) {
            let rank = state.semantics.schedule.rank;
            return Err(VerifyError { rank, task: Some(task), fault: Fault::Deadlock });
        }
    }
    Ok(ranks)
}

fn start<'a>(schedule: &'a Schedule, spec: &'a Spec) -> Rank<'a> {
    let semantics = Semantics { spec, schedule };
    let mut lanes: [Vec<TaskId>; 3] = Default::default();
    for (id, task) in schedule.tasks.iter().enumerate() {
        lanes[task.action.lane() as usize].push(id);
    }
    Rank { contents: semantics.initial(), semantics, lanes, next: [0; 3], done: vec![false; schedule.tasks.len()] }
}

fn work(rank: &mut Rank, task: TaskId) -> Result<(), Fault> {
    if let Some(work) = rank.semantics.schedule.tasks[task].action.work() {
        rank.semantics.work(&mut rank.contents, work)?;
    }
    rank.complete(task);
    Ok(())
}

/// A lane's next transfer, its peer, and the peer's task, if that is also next on the opposite lane.
fn next(ranks: &[Rank], rank: usize, lane: Lane) -> Option<(TaskId, usize, TaskId)> {
    let task = ranks[rank].head(lane)?;
    let peer = ranks[rank].action(task).peer()?;
    let peer = ranks.binary_search_by_key(&peer, |state| state.semantics.schedule.rank).ok()?;
    let partner = ranks[peer].head(if lane == Lane::Send { Lane::Recv } else { Lane::Send })?;
    let back = ranks[peer].action(partner).peer()?;
    (back == ranks[rank].semantics.schedule.rank).then_some((task, peer, partner))
}

/// Runs a lane's next transfer, if any, and returns the peer.
fn transfer(ranks: &mut [Rank], rank: usize, lane: Lane) -> Result<Option<usize>, VerifyError> {
    let Some((task, peer, partner)) = next(ranks, rank, lane) else { return Ok(None) };
    let ((source, send), (target, recv)) =
        if lane == Lane::Send { ((rank, task), (peer, partner)) } else { ((peer, partner), (rank, task)) };
    let at = ranks[target].semantics.schedule.rank;
    deliver(ranks, source, send, target, recv).map_err(|fault| VerifyError { rank: at, task: Some(recv), fault })?;
    ranks[source].complete(send);
    ranks[target].complete(recv);
    Ok(Some(peer))
}

fn deliver(ranks: &mut [Rank], source: usize, send: TaskId, target: usize, recv: TaskId) -> Result<(), Fault> {
    let (Action::Send { from, .. }, Action::Recv { into, .. }) =
        (ranks[source].action(send).clone(), ranks[target].action(recv).clone())
    else {
        return Err(Fault::Mismatch { peer: ranks[source].semantics.schedule.rank });
    };
    if from.iter().map(View::extents).ne(into.iter().map(View::extents)) {
        return Err(Fault::Mismatch { peer: ranks[source].semantics.schedule.rank });
    }
    for (from, into) in from.iter().zip(&into) {
        let pieces = ranks[source].contents.read(from)?;
        // Elements must belong to the receiving buffer's tensor.
        let spec = ranks[target].semantics.spec;
        let tensor = spec.tensor(ranks[target].semantics.schedule.buffers[into.buffer].node);
        if pieces.iter().any(|piece| piece.content.value.is_some_and(|value| value != tensor)) {
            return Err(Fault::WrongInput(into.buffer));
        }
        for mut piece in pieces {
            // The receiver may add in another order.
            piece.content.ascends = piece.content.sum.len() < 2;
            let piece = ranks[target].semantics.carry(piece, from, into);
            ranks[target].contents.write(into.buffer, piece);
        }
    }
    Ok(())
}
