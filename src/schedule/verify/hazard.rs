//! Checks that one rank's views are inside their buffers, and that tasks with a hazard (access to the same element,
//! with at least one write) are ordered.
//!
//! Happens-before is one vector clock ([`Clock`]) per task.

use super::Clock;
use super::sharing::Sharing;
use super::{Fault, Origin, Spec, VerifyError};
use crate::distribution::Region;
use crate::schedule::uses::{Use, Uses};
use crate::schedule::{Action, BufferPlacement, Home, Lane, ReuseScope, Schedule, Task, TaskId, View, Work};

pub fn check(schedule: &Schedule, spec: &Spec) -> Result<(), VerifyError> {
    let at = |task: Option<TaskId>, fault| VerifyError { rank: schedule.rank, task, fault };
    for (id, _) in schedule.buffers.iter().enumerate() {
        buffer(schedule, spec, id).map_err(|fault| at(None, fault))?;
    }
    if !schedule.sections_are_valid() {
        return Err(at(None, Fault::Section));
    }
    if let Some(task) = schedule.outlasts() {
        return Err(at(Some(task), Fault::Outlasts));
    }
    check_reuse_scopes(schedule, spec).map_err(|fault| at(None, fault))?;
    let mut sharing = Sharing::new(schedule).map_err(|fault| at(None, fault))?;
    let mut clocks: Vec<Clock> = Vec::with_capacity(schedule.tasks.len());
    let mut places: Vec<usize> = Vec::with_capacity(schedule.tasks.len());
    let mut lanes: [(usize, Clock); 3] = Default::default();
    let mut live: Vec<Uses> = schedule.buffers.iter().map(|_| Uses::default()).collect();
    for (id, task) in schedule.tasks.iter().enumerate() {
        bounds(schedule, spec, task).map_err(|fault| at(Some(id), fault))?;
        let lane = task.action.lane() as usize;
        let mut clock = lanes[lane].1;
        if lane == Lane::Work as usize {
            clock[lane] = lanes[lane].0;
        }
        for &earlier in &task.after {
            if earlier >= id || schedule.may_overlap(earlier, id) {
                return Err(at(Some(id), Fault::Edge(earlier)));
            }
            let done = clocks[earlier];
            clock.iter_mut().zip(done).for_each(|(lane_clock, done)| *lane_clock = (*lane_clock).max(done));
            let lane_clock = &mut clock[schedule.tasks[earlier].action.lane() as usize];
            *lane_clock = (*lane_clock).max(places[earlier] + 1);
        }
        places.push(lanes[lane].0);
        clocks.push(clock);
        lanes[lane] = (lanes[lane].0 + 1, clock);

        for (view, write) in task.action.accesses() {
            sharing.used(id, view.buffer, &clock).map_err(|fault| at(Some(id), fault))?;
            let live = &mut live[view.buffer];
            let ordered = |used: &Use| {
                let complete = clock[used.lane as usize] > places[used.task];
                used.task == id || complete && !schedule.may_overlap(used.task, id)
            };
            let clash = live.conflicting(view, write).find(|used| !ordered(used));
            if let Some(used) = clash {
                return Err(at(Some(id), Fault::Hazard { other: used.task, buffer: view.buffer }));
            }
            let may_overlap = |used| schedule.may_overlap(used, id);
            live.insert(view, Use { task: id, lane: task.action.lane(), write }, may_overlap);
        }
    }
    Ok(())
}

/// Checks that no tensor stays valid longer than its inputs, and the result only for one slice.
fn check_reuse_scopes(schedule: &Schedule, spec: &Spec) -> Result<(), Fault> {
    for (id, value) in spec.values.iter().enumerate() {
        let longest = match value.origin {
            Origin::Operand(_) => continue,
            _ if spec.is_result(id) => ReuseScope::Slice,
            Origin::Contract { left, right } => schedule.lasts(left).min(schedule.lasts(right)),
            Origin::Unary { input } | Origin::Same { input } => schedule.lasts(input),
        };
        if schedule.lasts(id) > longest {
            return Err(Fault::Outlasts);
        }
    }
    Ok(())
}

fn buffer(schedule: &Schedule, spec: &Spec, id: usize) -> Result<(), Fault> {
    let buffer = &schedule.buffers[id];
    let value = spec.values.get(buffer.node).ok_or(Fault::Buffer(id))?;
    let expected = || {
        let region: Region = value.distribution.block(&value.shape, schedule.rank)?;
        let summand = (value.distribution.summand(schedule.rank)?, value.distribution.summands());
        Some(BufferPlacement { region, summand })
    };
    let fits = buffer.labels == value.labels && buffer.extents.len() == value.labels.len();
    let placed = match &buffer.place {
        Some(place) => Some(place) == expected().as_ref() && buffer.extents == place.region.extents(),
        None => buffer.home.is_arena(),
    };
    if value.conjugated != schedule.conjugated.binary_search(&buffer.node).is_ok() {
        return Err(Fault::Conjugation(id));
    }
    if fits && placed { Ok(()) } else { Err(Fault::Buffer(id)) }
}

fn bounds(schedule: &Schedule, spec: &Spec, task: &Task) -> Result<(), Fault> {
    let (reads, writes) = (task.action.reads(), task.action.writes());
    for view in reads.iter().chain(&writes) {
        let buffer = schedule.buffers.get(view.buffer).ok_or(Fault::NoBuffer(view.buffer))?;
        let inside = view.bounds.len() == buffer.extents.len()
            && view.bounds.iter().zip(&buffer.extents).all(|(b, &e)| b.start <= b.end && b.end <= e);
        if !inside {
            return Err(Fault::Outside(view.buffer));
        }
    }
    if task.node >= spec.values.len() {
        return Err(Fault::Shape);
    }
    if let Some(view) = writes.iter().find(|v| matches!(schedule.buffers[v.buffer].home, Home::Operand(_))) {
        return Err(Fault::ReadOnly(view.buffer));
    }
    let inputs: Vec<&View> = match task.action.work() {
        Some(Work::Contract { left, right, .. }) => vec![left, right],
        Some(Work::Unary { input, .. } | Work::Add { input, .. } | Work::Update { input, .. }) => vec![input],
        _ => vec![],
    };
    if let Some(view) = inputs.iter().find(|input| writes.iter().any(|write| write.overlaps(input))) {
        return Err(Fault::Alias(view.buffer));
    }
    let twice = |views: &[View]| views.iter().enumerate().any(|(i, v)| views[..i].iter().any(|w| w.overlaps(v)));
    match &task.action {
        Action::Send { peer, .. } | Action::Recv { peer, .. } if *peer >= schedule.ranks || *peer == schedule.rank => {
            Err(Fault::Peer(*peer))
        }
        Action::Recv { into, .. } if twice(into) => Err(Fault::Alias(into[0].buffer)),
        _ => Ok(()),
    }
}
