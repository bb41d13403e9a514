//! Runs the schedules of all ranks without data.
//!
//! A rank has three lanes (work, send, receive) of sequential tasks. [`super::cost`] prices work. Transfers are not
//! buffered: one begins when both lanes are free and both ranks ready, and occupies them for (bytes / bandwidth)
//! seconds. Its latency overlaps with later tasks. Links do not share bandwidth. Without overlap, transfers and work
//! wait for all of the other kind before them in the schedule.
//!
//! Guarantee: schedules that the verifier accepts run to their last task. Unlike predicted times, simulated times
//! exclude contention and startup.

use super::noise::Noise;
use super::structure::Plan;
use super::{lockstep, slice_groups};
use crate::algorithm::Cost;
use crate::schedule::{Action, Lane, Schedule, Task, TaskId};
use crate::timeline::{Activity, Span, Timeline};

/// Maximum ranks that are all simulated, with all schedules in memory.
const MAX_SIMULATED_RANKS: usize = 1024;

pub fn simulate(plan: &Plan, overlap: bool, noise: Noise) -> Option<Timeline> {
    if slice_groups::has_groups(plan) {
        let group = of_group(&slice_groups::of_group(plan), overlap, (noise, plan.slice_groups))?;
        return Some(of_groups(plan, group));
    }
    of_group(plan, overlap, (noise, 1))
}

/// The slowest of `groups` groups.
fn of_group(plan: &Plan, overlap: bool, (noise, groups): (Noise, usize)) -> Option<Timeline> {
    if plan.ranks() > MAX_SIMULATED_RANKS {
        let (shown, spans) = lockstep::simulate(plan, &rates(plan), overlap, (noise, groups))?;
        let seconds = spans.iter().fold(0.0, |end: f64, span| end.max(span.end));
        return Some(Timeline { seconds, spans, shown, ..blank_timeline(plan) });
    }
    let schedules: Vec<Schedule> = (0..plan.ranks()).map(|rank| plan.schedule(rank)).collect();
    let cost = rates(plan);
    let mut simulation = Simulation::new(&schedules, &cost, overlap, (noise, groups));
    simulation.run();
    Some(Timeline { seconds: simulation.end(), spans: simulation.spans, ..blank_timeline(plan) })
}

/// The groups of up to [`MAX_SIMULATED_RANKS`] ranks, without steps between groups.
fn of_groups(plan: &Plan, group: Timeline) -> Timeline {
    let shown = plan.slice_groups.min((MAX_SIMULATED_RANKS / plan.ranks_per_group()).max(1));
    let spans = (0..shown).flat_map(|number| {
        let first = number * plan.ranks_per_group();
        group.spans.iter().map(move |span| Span {
            rank: span.rank + first,
            node: span.node + plan.operands,
            ..span.clone()
        })
    });
    let listed =
        (0..shown).flat_map(|number| group.shown.iter().map(move |rank| rank + number * plan.ranks_per_group()));
    let ranks = if shown < plan.slice_groups { shown * plan.ranks_per_group() } else { plan.ranks() };
    Timeline { seconds: group.seconds, spans: spans.collect(), ranks, shown: listed.collect(), ..blank_timeline(plan) }
}

pub fn task_seconds(plan: &Plan, schedule: &Schedule, task: TaskId) -> f64 {
    let action = &schedule.tasks[task].action;
    match action {
        Action::Work(work) => rates(plan).work(schedule, work),
        Action::Send { peer, .. } | Action::Recv { peer, .. } => {
            let link = plan.machine.link(schedule.rank, *peer);
            link.latency + schedule.bytes(action) as f64 / link.bandwidth
        }
    }
}

pub fn blank_timeline(plan: &Plan) -> Timeline {
    Timeline {
        seconds: 0.0,
        ranks: plan.ranks(),
        workers: plan.machine.workers,
        shown: Vec::new(),
        hosts: Vec::new(),
        slices: 1,
        clock_error: 0.0,
        steps: plan.values.iter().map(|value| plan.step_text(value)).collect(),
        spans: Vec::new(),
    }
}

fn rates(plan: &Plan) -> Cost<'_> {
    Cost { machine: &plan.machine, dtype: plan.dtype, extents: &plan.extents }
}

struct Lanes {
    tasks: [Vec<TaskId>; 3],
    next: [usize; 3],
    free: [f64; 3],
    /// The latest end on each lane.
    latest_end: [f64; 3],
    done: Vec<Option<f64>>,
}

impl Lanes {
    /// The end of the last task before `task` on lanes that must not overlap with `lane`; `None` if one has not run. No
    /// later task can have run there: it would wait for `task`.
    fn conflicting_end(&self, lane: Lane, task: TaskId) -> Option<f64> {
        let others: &[Lane] = if lane == Lane::Work { &[Lane::Send, Lane::Recv] } else { &[Lane::Work] };
        others.iter().try_fold(0.0, |earliest: f64, &other| {
            let next = self.tasks[other as usize].get(self.next[other as usize]);
            next.is_none_or(|&next| next > task).then(|| earliest.max(self.latest_end[other as usize]))
        })
    }
}

struct Simulation<'a> {
    schedules: &'a [Schedule],
    cost: &'a Cost<'a>,
    overlap: bool,
    /// Each task is the slowest in this many groups.
    noise: (Noise, usize),
    lanes: Vec<Lanes>,
    spans: Vec<Span>,
}

impl<'a> Simulation<'a> {
    fn new(schedules: &'a [Schedule], cost: &'a Cost<'a>, overlap: bool, noise: (Noise, usize)) -> Simulation<'a> {
        let lanes = schedules.iter().map(|schedule| {
            let mut tasks = [Vec::new(), Vec::new(), Vec::new()];
            for (id, task) in schedule.tasks.iter().enumerate() {
                tasks[task.action.lane() as usize].push(id);
            }
            Lanes { tasks, next: [0; 3], free: [0.0; 3], latest_end: [0.0; 3], done: vec![None; schedule.tasks.len()] }
        });
        Simulation { schedules, cost, overlap, noise, lanes: lanes.collect(), spans: Vec::new() }
    }

    fn end(&self) -> f64 {
        self.lanes.iter().flat_map(|lanes| &lanes.done).flatten().fold(0.0, |end, &done| end.max(done))
    }

    fn run(&mut self) {
        let mut open: Vec<usize> = (0..self.lanes.len()).collect();
        while let Some(rank) = open.pop() {
            while let Some(peer) = self.step(rank) {
                if peer != rank {
                    open.push(peer);
                }
            }
        }
    }

    /// Runs the head of one of `rank`'s lanes. Returns the peer of a transfer, or `rank` for work.
    fn step(&mut self, rank: usize) -> Option<usize> {
        for lane in [Lane::Work, Lane::Send, Lane::Recv] {
            let Some((task, ready)) = self.head(rank, lane) else { continue };
            match &self.schedules[rank].tasks[task].action {
                Action::Work(work) => {
                    let seconds = self.factor(rank, task) * self.cost.work(&self.schedules[rank], work);
                    self.finish(rank, lane, task, [ready, ready + seconds, ready + seconds]);
                    return Some(rank);
                }
                &Action::Send { peer, .. } => {
                    if self.transfer(rank, peer) {
                        return Some(peer);
                    }
                }
                &Action::Recv { peer, .. } => {
                    if self.transfer(peer, rank) {
                        return Some(peer);
                    }
                }
            }
        }
        None
    }

    fn head(&self, rank: usize, lane: Lane) -> Option<(TaskId, f64)> {
        let lanes = &self.lanes[rank];
        let task = *lanes.tasks[lane as usize].get(lanes.next[lane as usize])?;
        let earliest = if self.overlap { 0.0 } else { lanes.conflicting_end(lane, task)? };
        let after = &self.schedules[rank].tasks[task].after;
        after
            .iter()
            .try_fold(lanes.free[lane as usize].max(earliest), |ready, &before| Some(lanes.done[before]?.max(ready)))
            .map(|ready| (task, ready))
    }

    fn transfer(&mut self, from: usize, to: usize) -> bool {
        let (Some((send, sends)), Some((recv, receives))) = (self.head(from, Lane::Send), self.head(to, Lane::Recv))
        else {
            return false;
        };
        let (Action::Send { peer: target, .. }, Action::Recv { peer: source, .. }) =
            (&self.schedules[from].tasks[send].action, &self.schedules[to].tasks[recv].action)
        else {
            return false;
        };
        if *target != to || *source != from {
            return false;
        }
        let machine = self.cost.machine;
        let bytes = self.schedules[to].bytes(&self.schedules[to].tasks[recv].action) as f64;
        let start = sends.max(receives);
        let link = machine.link(from, to);
        let factor = self.factor(to, recv);
        let free = start + factor * bytes / link.bandwidth;
        let times = [start, free, free + factor * link.latency];
        self.finish(from, Lane::Send, send, times);
        self.finish(to, Lane::Recv, recv, times);
        true
    }

    fn factor(&self, rank: usize, task: TaskId) -> f64 {
        let (noise, groups) = self.noise;
        noise.factor(rank, task, groups)
    }

    fn finish(&mut self, rank: usize, lane: Lane, task: TaskId, [start, free, done]: [f64; 3]) {
        let lanes = &mut self.lanes[rank];
        lanes.done[task] = Some(done);
        lanes.free[lane as usize] = free;
        lanes.latest_end[lane as usize] = lanes.latest_end[lane as usize].max(done);
        lanes.next[lane as usize] += 1;
        let schedule = &self.schedules[rank];
        let Task { node, ref action, .. } = schedule.tasks[task];
        let (activity, bytes, predicted) = (Activity::of(action), schedule.bytes(action), done - start);
        self.spans.push(Span { rank, activity, node, task, worker: None, start, end: done, bytes, predicted });
    }
}
