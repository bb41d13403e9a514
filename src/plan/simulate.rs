//! Runs the schedules of all ranks without data (`docs/scaling.md`).
//!
//! Guarantee: schedules that the verifier accepts run to their last task. Unlike predicted times, simulated times
//! exclude startup.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::lanes::{LaneTimes, span};
use super::noise::Noise;
use super::structure::Plan;
use super::{lockstep, slice_groups};
use crate::algorithm::Cost;
use crate::schedule::{Action, Lane, Schedule, TaskId};
use crate::timeline::{Span, Timeline};

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
    times: LaneTimes,
    done: Vec<Option<f64>>,
}

impl Lanes {
    /// The end of the last task before `task` on lanes that must not overlap with `lane`; `None` if one has not run. No
    /// later task can have run there: it would wait for `task`.
    fn conflicting_end(&self, lane: Lane, task: TaskId) -> Option<f64> {
        let others: &[Lane] = if lane == Lane::Work { &[Lane::Send, Lane::Recv] } else { &[Lane::Work] };
        others.iter().try_fold(0.0, |earliest: f64, &other| {
            let next = self.tasks[other as usize].get(self.next[other as usize]);
            next.is_none_or(|&next| next > task).then(|| earliest.max(self.times.latest_end[other as usize]))
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
    /// When each shared link has passed all bytes so far.
    passed: HashMap<usize, f64>,
    spans: Vec<Span>,
}

impl<'a> Simulation<'a> {
    fn new(schedules: &'a [Schedule], cost: &'a Cost<'a>, overlap: bool, noise: (Noise, usize)) -> Simulation<'a> {
        let lanes = schedules.iter().map(|schedule| {
            let mut tasks = [Vec::new(), Vec::new(), Vec::new()];
            for (id, task) in schedule.tasks.iter().enumerate() {
                tasks[task.action.lane() as usize].push(id);
            }
            Lanes { tasks, next: [0; 3], times: LaneTimes::default(), done: vec![None; schedule.tasks.len()] }
        });
        Simulation {
            schedules,
            cost,
            overlap,
            noise,
            lanes: lanes.collect(),
            passed: HashMap::new(),
            spans: Vec::new(),
        }
    }

    fn end(&self) -> f64 {
        self.lanes.iter().flat_map(|lanes| &lanes.done).flatten().fold(0.0, |end, &done| end.max(done))
    }

    /// Runs tasks, and thus serves shared links, in the order in which they can start.
    fn run(&mut self) {
        let mut queue = BinaryHeap::new();
        let mut changed: Vec<usize> = (0..self.lanes.len()).collect();
        loop {
            for (rank, lane) in
                changed.iter().flat_map(|&rank| [Lane::Work, Lane::Send, Lane::Recv].map(|lane| (rank, lane)))
            {
                // Nonnegative floats are ordered like their bit patterns.
                let start = self.start(rank, lane).map(|(task, start)| (start.to_bits(), rank, task));
                queue.extend(start.map(Reverse));
            }
            let Some(Reverse((start, rank, task))) = queue.pop() else { break };
            changed.clear();
            // A task may be in the queue several times, and interference may delay it.
            match self.start(rank, self.schedules[rank].tasks[task].action.lane()) {
                Some((head, now)) if head == task && now.to_bits() > start => {
                    queue.push(Reverse((now.to_bits(), rank, task)));
                }
                Some((head, _)) if head == task => changed.extend(self.step(rank, task, f64::from_bits(start))),
                _ => {}
            }
        }
    }

    /// The head of a lane, and when it can start.
    fn start(&self, rank: usize, lane: Lane) -> Option<(TaskId, f64)> {
        let (task, ready) = self.head(rank, lane)?;
        let (peer, other) = match self.schedules[rank].tasks[task].action {
            Action::Work(_) => return Some((task, ready)),
            Action::Send { peer, .. } => (peer, Lane::Recv),
            Action::Recv { peer, .. } => (peer, Lane::Send),
        };
        let (theirs, start) = self.head(peer, other)?;
        let back = self.schedules[peer].tasks[theirs].action.peer()?;
        (back == rank).then(|| (task, ready.max(start)))
    }

    /// Returns the ranks whose lanes advance.
    fn step(&mut self, rank: usize, task: TaskId, start: f64) -> [usize; 2] {
        let schedule = &self.schedules[rank];
        let action = &schedule.tasks[task].action;
        let (from, to) = match action {
            Action::Work(work) => {
                let end = start + self.factor(rank, task) * self.cost.work(schedule, work);
                let end = end + self.lanes[rank].times.interference(self.cost.machine, Lane::Work, start..end);
                self.finish(rank, Lane::Work, [start, end, end]);
                return [rank; 2];
            }
            &Action::Send { peer, .. } => (rank, peer),
            &Action::Recv { peer, .. } => (peer, rank),
        };
        let machine = self.cost.machine;
        let bytes = schedule.bytes(action) as f64;
        let link = machine.link(from, to);
        let lanes = &self.lanes[to];
        let factor = self.factor(to, lanes.tasks[Lane::Recv as usize][lanes.next[Lane::Recv as usize]]);
        let mut free = start + factor * bytes / link.bandwidth;
        for shared in machine.shared_links(from, to) {
            let passed = self.passed.entry(shared.number).or_default();
            *passed = passed.max(start) + factor * bytes / shared.bandwidth;
            free = free.max(*passed);
        }
        free += self.lanes[to].times.interference(machine, Lane::Recv, start..free);
        let times = [start, free, free + factor * link.latency];
        self.finish(from, Lane::Send, times);
        self.finish(to, Lane::Recv, times);
        [from, to]
    }

    fn head(&self, rank: usize, lane: Lane) -> Option<(TaskId, f64)> {
        let lanes = &self.lanes[rank];
        let task = *lanes.tasks[lane as usize].get(lanes.next[lane as usize])?;
        let earliest = if self.overlap { 0.0 } else { lanes.conflicting_end(lane, task)? };
        let after = &self.schedules[rank].tasks[task].after;
        after
            .iter()
            .try_fold(lanes.times.free[lane as usize].max(earliest), |ready, &before| {
                Some(lanes.done[before]?.max(ready))
            })
            .map(|ready| (task, ready))
    }

    fn factor(&self, rank: usize, task: TaskId) -> f64 {
        let (noise, groups) = self.noise;
        noise.factor(rank, task, groups)
    }

    fn finish(&mut self, rank: usize, lane: Lane, [start, free, done]: [f64; 3]) {
        let lanes = &mut self.lanes[rank];
        let task = lanes.tasks[lane as usize][lanes.next[lane as usize]];
        lanes.done[task] = Some(done);
        lanes.times.finish(lane, [start, free, done]);
        lanes.next[lane as usize] += 1;
        self.spans.push(span(&self.schedules[rank], task, [start, done]));
    }
}
