//! Simulates very many ranks by representatives: one rank of each class, all of whose ranks are assumed to do the same
//! at the same time.
//!
//! ```text
//! rank 7, of the class of rank 2, sends to rank 5, of the class of rank 0
//!   rank 2 sends when it and rank 0 (for its receive with the same key) are ready
//! ```
//!
//! Transfers are simulated in their total order ([`crate::schedule::Key`]), so every task has a time
//! (`docs/scaling.md`).

use std::collections::HashMap;

use super::classes::classes;
use super::lanes::{LaneTimes, span};
use super::noise::Noise;
use super::structure::Plan;
use crate::algorithm::Cost;
use crate::schedule::verify::Described;
use crate::schedule::{Action, Carried, Key, Lane, TaskId};
use crate::timeline::Span;

/// Maximum number of simulated ranks. With more classes, other ranks are assumed to keep pace with their peers.
const MAX_REPRESENTATIVES: usize = 64;

/// The representatives, ascending, and their tasks, in the slowest of `groups`; `None` if a transfer has no key.
pub fn simulate(
    plan: &Plan,
    cost: &Cost,
    overlap: bool,
    (noise, groups): (Noise, usize),
) -> Option<(Vec<usize>, Vec<Span>)> {
    let classes = classes(plan);
    let all = classes.representatives();
    let shown = all.len().min(MAX_REPRESENTATIVES);
    let ranks: Vec<usize> = (0..shown).map(|at| all[at * all.len() / shown]).collect();
    let described: Vec<Described> = ranks.iter().map(|&rank| plan.described(rank)).collect();
    if !described.iter().all(Described::is_complete) {
        return None;
    }
    let by_class = ranks.iter().enumerate().map(|(at, &rank)| (rank, at)).collect();
    let mut lockstep = Lockstep {
        cost,
        overlap,
        by_class,
        class_of: &|rank| classes.representative(rank),
        ranks: described
            .iter()
            .map(|described| Rank::new(described, groups * classes.size(described.schedule.rank) * all.len() / shown))
            .collect(),
        noise,
        spans: Vec::new(),
    };
    lockstep.run();
    let spans = lockstep.spans;
    Some((ranks, spans))
}

struct Rank<'a> {
    described: &'a Described,
    stands_for: usize,
    next: TaskId,
    times: LaneTimes,
    done: Vec<f64>,
}

impl<'a> Rank<'a> {
    fn new(described: &'a Described, stands_for: usize) -> Rank<'a> {
        let done = vec![0.0; described.schedule.tasks.len()];
        Rank { described, stands_for, next: 0, times: LaneTimes::default(), done }
    }

    /// When a task could start if its peer were ready.
    fn ready(&self, task: TaskId, overlap: bool) -> f64 {
        let after = &self.described.schedule.tasks[task];
        let lane = after.action.lane();
        let [work, sends, receives] = self.times.latest_end;
        let others = if lane == Lane::Work { sends.max(receives) } else { work };
        let earliest = self.times.free[lane as usize].max(if overlap { 0.0 } else { others });
        after.after.iter().fold(earliest, |ready, &before| ready.max(self.done[before]))
    }

    fn next_key(&self) -> Option<&Key> {
        self.described.carried.get(self.next)?.as_ref().map(|Carried { key, .. }| key)
    }

    /// The next transfers, at most a send and a receive, if they have this key.
    fn transfers(&self, key: &Key) -> impl Iterator<Item = TaskId> {
        let same =
            |task: &TaskId| self.described.carried.get(*task).and_then(Option::as_ref).is_some_and(|c| c.key == *key);
        (self.next..self.described.schedule.tasks.len()).take_while(same)
    }
}

struct Lockstep<'a> {
    cost: &'a Cost<'a>,
    overlap: bool,
    noise: Noise,
    /// Positions in `ranks`.
    by_class: HashMap<usize, usize>,
    class_of: &'a dyn Fn(usize) -> Option<usize>,
    ranks: Vec<Rank<'a>>,
    spans: Vec<Span>,
}

impl Lockstep<'_> {
    fn run(&mut self) {
        loop {
            (0..self.ranks.len()).for_each(|at| self.work(at));
            let Some(key) = self.ranks.iter().filter_map(Rank::next_key).min().copied() else { break };
            // Both ends are ready at a time that depends on earlier transfers only.
            let mut ready: HashMap<(usize, Lane), f64> = HashMap::new();
            let mut transfers: Vec<(usize, TaskId, f64)> = Vec::new();
            for (at, rank) in self.ranks.iter().enumerate() {
                for task in rank.transfers(&key) {
                    let seconds = rank.ready(task, self.overlap);
                    ready.insert((at, rank.described.schedule.tasks[task].action.lane()), seconds);
                    transfers.push((at, task, seconds));
                }
            }
            for (at, task, own) in transfers {
                let (Action::Send { peer, .. } | Action::Recv { peer, .. }) =
                    self.ranks[at].described.schedule.tasks[task].action
                else {
                    continue;
                };
                let other = if self.lane(at, task) == Lane::Send { Lane::Recv } else { Lane::Send };
                let class = (self.class_of)(peer).and_then(|class| self.by_class.get(&class));
                let start = class.and_then(|&class| ready.get(&(class, other))).map_or(own, |theirs| own.max(*theirs));
                let Rank { described, .. } = &self.ranks[at];
                let bytes = described.schedule.bytes(&described.schedule.tasks[task].action) as f64;
                let link = self.cost.machine.busy_link(described.schedule.rank, peer);
                let factor = self.factor(at, task);
                let free = start + factor * bytes / link.bandwidth;
                let lane = self.lane(at, task);
                let free = free + self.ranks[at].times.interference(self.cost.machine, lane, start..free);
                self.finish(at, task, [start, free, free + factor * link.latency]);
            }
        }
    }

    fn lane(&self, at: usize, task: TaskId) -> Lane {
        self.ranks[at].described.schedule.tasks[task].action.lane()
    }

    fn factor(&self, at: usize, task: TaskId) -> f64 {
        let Rank { described, stands_for, .. } = &self.ranks[at];
        self.noise.factor(described.schedule.rank, task, *stands_for)
    }

    /// Runs the work up to the next transfer.
    fn work(&mut self, at: usize) {
        loop {
            let Rank { described, next, .. } = &self.ranks[at];
            let (task, described) = (*next, *described);
            let Some(Action::Work(work)) = described.schedule.tasks.get(task).map(|task| &task.action) else { break };
            let start = self.ranks[at].ready(task, self.overlap);
            let end = start + self.factor(at, task) * self.cost.work(&described.schedule, work);
            let end = end + self.ranks[at].times.interference(self.cost.machine, Lane::Work, start..end);
            self.finish(at, task, [start, end, end]);
        }
    }

    fn finish(&mut self, at: usize, task: TaskId, [start, free, end]: [f64; 3]) {
        let rank = &mut self.ranks[at];
        let schedule = &rank.described.schedule;
        (rank.done[task], rank.next) = (end, task + 1);
        rank.times.finish(schedule.tasks[task].action.lane(), [start, free, end]);
        self.spans.push(span(schedule, task, [start, end]));
    }
}
