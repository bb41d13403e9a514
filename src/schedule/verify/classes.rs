//! Thousands of ranks: what is looked at for all of them, and what for one of each class.
//!
//! Ranks are of one class when their schedules are the same but for whom they talk to and where in the tensors their blocks lie:
//! the same tasks on buffers of the same extents, with the same edges. On a grid of 10 x 10 x 10 ranks with extents that do not
//! divide these are a few dozen.
//!
//! | what | of whom |
//! |---|---|
//! | transfers match, the run ends with one in flight per lane and nothing buffered; memory | all ranks |
//! | bounds and hazards | the first rank of each class |
//! | provenance of every element of its blocks, step by step | the same, followed to all ranks that they have it from |
//!
//! Provenance is followed one step at a time ([`super::cone`]): given inputs that are what the plan says, a step leaves what the
//! plan says, on that rank; so all of them together do. Cost: linear in the tasks of all ranks, with a few words of memory for
//! each. Deliberately absent: a proof that ranks of one class behave alike where only their places differ; that is what symmetry
//! stands for here, and reports say so.

use std::collections::HashMap;

use serde::Serialize;
use xxhash_rust::xxh3::Xxh3Default;

use super::cone::Cone;
use super::{Facts, Fault, VerifyError, hazard};
use crate::schedule::{Action, Lane, Schedule, TaskId, View, Work};

/// Ranks up to which all of it is proved of all of them.
pub const MOST_WHOLE: usize = 256;

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Classes {
    /// All ranks.
    pub ranks: usize,
    /// Kinds of schedules.
    pub classes: usize,
    /// Ranks whose tasks were followed, in one step or more.
    pub followed: usize,
}

/// A task without its boxes.
pub struct Outline {
    pub node: usize,
    pub lane: Lane,
    /// Of a transfer.
    pub peer: usize,
    /// Of a transfer: a hash of the extents of its boxes.
    boxes: u64,
    /// Of a transfer: the task at the other end, once it is known.
    pub partner: TaskId,
    pub after: Vec<u32>,
}

/// Proves schedules, of one rank of each class where that is all that can be done. `together`: steps do not leave blocks that stay,
/// and are followed all at once.
///
/// # Errors
/// The first fault found, with its rank and task.
pub fn by_classes(
    ranks: usize,
    schedule: &dyn Fn(usize) -> Schedule,
    facts: &Facts,
    budget: Option<u64>,
    together: bool,
) -> Result<Classes, VerifyError> {
    let outlined: Vec<(u64, Vec<Outline>)> = (0..ranks)
        .map(|rank| {
            let schedule = schedule(rank);
            let peak = schedule.peak_bytes();
            let fault = match budget {
                _ if (schedule.rank, schedule.ranks) != (rank, ranks) => Some(Fault::Ranks),
                Some(budget) if peak > budget => Some(Fault::Memory { peak, budget }),
                _ => None,
            };
            match fault {
                Some(fault) => Err(VerifyError { rank, task: None, fault }),
                None => Ok((class(&schedule), outline(&schedule))),
            }
        })
        .collect::<Result<_, _>>()?;
    let mut first: HashMap<u64, usize> = HashMap::new();
    for (rank, (class, _)) in outlined.iter().enumerate() {
        first.entry(*class).or_insert(rank);
    }
    let mut chosen: Vec<usize> = first.into_values().collect();
    chosen.sort_unstable();
    let mut outlines: Vec<Vec<Outline>> = outlined.into_iter().map(|(_, outline)| outline).collect();
    play(&mut outlines)?;
    chosen.iter().try_for_each(|&rank| hazard::check(&schedule(rank), facts))?;
    let followed = Cone { outlines: &outlines, chosen: &chosen, facts, together }.check(schedule)?;
    Ok(Classes { ranks, classes: chosen.len(), followed })
}

/// A number that schedules share that are alike but for peers and places.
fn class(schedule: &Schedule) -> u64 {
    let mut hash = Xxh3Default::new();
    let mut put = |number: usize| hash.update(&number.to_le_bytes());
    for buffer in &schedule.buffers {
        put(buffer.node);
        buffer.extents.iter().chain(&buffer.within).for_each(|&extent| put(extent));
    }
    for task in &schedule.tasks {
        put(task.node);
        put(match &task.action {
            Action::Send { .. } => 0,
            Action::Recv { .. } => 1,
            Action::Work(work) => match **work {
                Work::Contract { accumulate, .. } => 2 + accumulate as usize,
                Work::Unary { .. } => 5,
                Work::Add { .. } => 6,
                Work::Fill { .. } => 7,
                Work::Update { .. } => 8,
                Work::Scale { factor, .. } => 9 + factor as usize,
            },
        });
        for view in task.action.reads().into_iter().chain(task.action.writes()) {
            put(view.buffer);
            view.bounds.iter().for_each(|range| {
                put(range.start);
                put(range.end);
            });
        }
        task.after.iter().for_each(|&before| put(before));
    }
    hash.digest()
}

fn outline(schedule: &Schedule) -> Vec<Outline> {
    let boxes = |views: &[View]| {
        let mut hash = Xxh3Default::new();
        for view in views {
            hash.update(&view.bounds.len().to_le_bytes());
            view.bounds.iter().for_each(|range| hash.update(&range.len().to_le_bytes()));
        }
        hash.digest()
    };
    let tasks = schedule.tasks.iter().map(|task| {
        let (peer, boxes) = match &task.action {
            Action::Work(_) => (schedule.rank, 0),
            Action::Send { peer, from } => (*peer, boxes(from)),
            Action::Recv { peer, into } => (*peer, boxes(into)),
        };
        // No rank has so many tasks.
        let after = task.after.iter().map(|&before| before as u32).collect();
        Outline { node: task.node, lane: task.action.lane(), peer, boxes, partner: 0, after }
    });
    tasks.collect()
}

/// Plays all transfers of all ranks, one in flight per lane and nothing buffered, and notes which belong together.
fn play(outlines: &mut [Vec<Outline>]) -> Result<(), VerifyError> {
    let lane_of = |tasks: &[Outline], lane: Lane| -> Vec<TaskId> {
        (0..tasks.len()).filter(|&task| tasks[task].lane == lane).collect()
    };
    let lanes: Vec<[Vec<TaskId>; 3]> =
        outlines.iter().map(|tasks| [Lane::Work, Lane::Send, Lane::Recv].map(|lane| lane_of(tasks, lane))).collect();
    let mut next = vec![[0usize; 3]; outlines.len()];
    let mut done: Vec<Vec<bool>> = outlines.iter().map(|tasks| vec![false; tasks.len()]).collect();
    let mut woken: Vec<usize> = (0..outlines.len()).rev().collect();
    while let Some(rank) = woken.pop() {
        let head = |rank: usize, lane: Lane, next: &[[usize; 3]], done: &[Vec<bool>], outlines: &[Vec<Outline>]| {
            let &task = lanes[rank][lane as usize].get(next[rank][lane as usize])?;
            outlines[rank][task].after.iter().all(|&before| done[rank][before as usize]).then_some(task)
        };
        while let Some(task) = head(rank, Lane::Work, &next, &done, outlines) {
            done[rank][task] = true;
            next[rank][Lane::Work as usize] += 1;
        }
        for (lane, other) in [(Lane::Send, Lane::Recv), (Lane::Recv, Lane::Send)] {
            let Some(task) = head(rank, lane, &next, &done, outlines) else { continue };
            let peer = outlines[rank][task].peer;
            let Some(partner) = (peer < outlines.len()).then(|| head(peer, other, &next, &done, outlines)).flatten()
            else {
                continue;
            };
            if outlines[peer][partner].peer != rank {
                continue;
            }
            if outlines[peer][partner].boxes != outlines[rank][task].boxes {
                return Err(VerifyError { rank, task: Some(task), fault: Fault::Mismatch { peer } });
            }
            (outlines[rank][task].partner, outlines[peer][partner].partner) = (partner, task);
            for (rank, task, lane) in [(rank, task, lane), (peer, partner, other)] {
                done[rank][task] = true;
                next[rank][lane as usize] += 1;
            }
            woken.extend([peer, rank]);
        }
    }
    for (rank, done) in done.iter().enumerate() {
        if let Some(task) = done.iter().position(|done| !done) {
            return Err(VerifyError { rank, task: Some(task), fault: Fault::Deadlock });
        }
    }
    Ok(())
}
