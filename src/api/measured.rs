//! All ranks' measurements of a program's last run.
//!
//! They exclude the time to gather the whole result ([`Program::run`] under MPI) and between slices or parts of the
//! result.

use std::iter::repeat_n;

use serde::Serialize;

use super::clock::Clock;
use super::{Program, Result, host};
use crate::exec::{Metrics, TaskMetric};
use crate::kernel::Element;
use crate::plan::Plan;
use crate::report::{ByLink, Measured};
use crate::schedule::{Schedule, Task};
use crate::timeline::{Activity, Span, Timeline};

#[derive(Debug, Clone, Serialize, serde::Deserialize)]
struct RankMeasurement {
    /// In nanoseconds, like `took`, on the process's clock.
    started: i64,
    took: i64,
    /// In seconds since the start of the slice.
    spans: Vec<Span>,
}

impl<T: Element> Program<T> {
    /// The local ranks' measurements in the last run, ordered by rank and summed over slices; empty before the first.
    pub fn metrics(&self) -> &[Metrics] {
        self.measuring().record.metrics()
    }

    /// Every rank's measurements in the last run, by rank. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn measured(&self) -> Result<Vec<Measured>> {
        let measured = self.measuring();
        let values = measured.plan.values.len();
        let around = measured.around();
        let hosts = self.world.hosts()?;
        let here = host::name();
        let local =
            measured.ranks.iter().zip(measured.record.metrics()).zip(measured.record.busy(&measured.ranks)).enumerate();
        let local = local.zip(measured.record.node_seconds()).zip(&measured.bound_bytes);
        let local = local.map(|(((at, ((program, metrics), busy)), node_seconds), &bound)| {
            let schedule = program.schedule();
            let from = |near: bool| metrics.received_from(schedule, |peer| (hosts[peer] == here) == near);
            let place = self.world.shared().place_of(at);
            let slices = Measured {
                node_name: here.clone(),
                numa: place.domains.first().copied().filter(|_| place.domains.len() == 1),
                cpus: place.units,
                received: metrics.received(schedule, values),
                by_link: ByLink { same_node: from(true), other_nodes: from(false) },
                seconds: node_seconds.clone(),
                peak_bytes: bound + metrics.owned_bytes,
                idle_seconds: (metrics.seconds - busy.working).max(0.0),
                receiving_seconds: busy.transferring,
                hidden_share: busy.hidden_share(),
            };
            let steps = around.iter().flatten();
            steps.fold(slices, |sum, &(step, value)| step.add_to(sum, at, value, &|peer| hosts[peer] == here))
        });
        Ok(self.world.gather(&local.collect::<Vec<_>>())?.concat())
    }

    /// The last run's timeline: every task of every rank on a common clock. `None` before the first run. Gaps between
    /// slices are removed. Beyond 262,144 tasks in total, only the first slices are in it. Collective.
    ///
    /// Clocks agree to about a microsecond on one host. Between hosts, they are corrected; [`Timeline::clock_error`]
    /// bounds the rest. Cost: Every process stores all ranks' tasks.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn timeline(&self) -> Result<Option<Timeline>> {
        let measured = self.measuring();
        let clock = Clock::read();
        let [before, after] = measured.around();
        let mut slices: Vec<Vec<RankMeasurement>> = Vec::new();
        slices.extend(before.into_iter().flat_map(|(step, value)| step.recorded(&clock, Some(value))));
        let before = slices.len();
        slices.extend(measured.recorded(&clock, None));
        let recorded = slices.len() - before;
        let is_complete = recorded == measured.record.ran();
        let after = after.into_iter().filter(|_| is_complete);
        slices.extend(after.flat_map(|(step, value)| step.recorded(&clock, Some(value))));
        let mine: (String, Vec<Vec<RankMeasurement>>) = (host::name(), slices);
        let (hosts, all): (Vec<String>, Vec<Vec<Vec<RankMeasurement>>>) = self.world.gather(&mine)?.into_iter().unzip();
        let (ahead, error) = clock.ahead(&self.world, &hosts)?;
        // Processes may have recorded different numbers of slices.
        let shown = all.iter().map(Vec::len).min().unwrap_or(0);
        if shown == 0 {
            return Ok(None);
        }
        let ranks = |process: &[Vec<RankMeasurement>]| process.first().map_or(0, Vec::len);
        let hosts = hosts.into_iter().zip(&all).flat_map(|(host, slices)| repeat_n(host, ranks(slices))).collect();
        let mut slices: Vec<Vec<RankMeasurement>> = vec![Vec::new(); shown];
        for (process, ahead) in all.into_iter().zip(ahead) {
            for (slice, ranks) in slices.iter_mut().zip(process) {
                slice.extend(ranks.into_iter().map(|rank| RankMeasurement { started: rank.started - ahead, ..rank }));
            }
        }
        let branches = measured.ranks.iter().map(|program| program.schedule().max_branches()).max().unwrap_or(1);
        let threads = if measured.plan.ranks() > 1 { measured.plan.machine.workers } else { self.world.threads() };
        let (seconds, spans) = joined(slices);
        Ok(Some(Timeline {
            seconds,
            workers: threads.max(branches),
            hosts,
            slices: shown.saturating_sub(before).min(recorded),
            clock_error: error as f64 / 1e9,
            spans,
            ..measured.plan.blank_timeline()
        }))
    }
}

impl<T: Element> Program<T> {
    fn around(&self) -> [Vec<(&Program<T>, usize)>; 2] {
        self.groups.as_ref().map_or_else(Default::default, |groups| groups.around(&self.plan))
    }

    /// Adds to a program in which this one is the step for `value`.
    fn add_to(&self, mut sum: Measured, at: usize, value: usize, is_near: &dyn Fn(usize) -> bool) -> Measured {
        sum.peak_bytes += self.ranks[at].owned_bytes();
        let Some(metrics) = self.record.metrics().get(at) else { return sum };
        let schedule = self.ranks[at].schedule();
        let busy = &self.record.busy(&self.ranks)[at];
        let received = metrics.received_from(schedule, |_| true);
        let near = metrics.received_from(schedule, is_near);
        sum.received[value] += received;
        sum.by_link.same_node += near;
        sum.by_link.other_nodes += received - near;
        sum.seconds[value] += self.record.node_seconds()[at].iter().sum::<f64>();
        sum.idle_seconds += (metrics.seconds - busy.working).max(0.0);
        let (old, new) = (sum.receiving_seconds, busy.transferring);
        let hidden = sum.hidden_share.unwrap_or(0.0) * old + busy.hidden_share().unwrap_or(0.0) * new;
        sum.receiving_seconds = old + new;
        sum.hidden_share = (old + new > 0.0).then(|| hidden / (old + new));
        sum
    }

    /// Each recorded slice's local measurements. In a step of another program, tasks belong to its value `value`.
    fn recorded(&self, clock: &Clock, value: Option<usize>) -> Vec<Vec<RankMeasurement>> {
        let slices = self.record.slices().iter().map(|ranks| {
            let ranks = ranks.iter().zip(&self.ranks).map(|(metrics, program)| {
                let mut spans = spans(&self.plan, program.schedule(), metrics);
                spans.iter_mut().for_each(|span| span.node = value.unwrap_or(span.node));
                RankMeasurement { started: clock.at(metrics.started), took: (metrics.seconds * 1e9) as i64, spans }
            });
            ranks.collect()
        });
        slices.collect()
    }
}

fn spans(plan: &Plan, schedule: &Schedule, metrics: &Metrics) -> Vec<Span> {
    let executed = schedule.tasks.iter().zip(&metrics.tasks).enumerate().filter(|(_, (_, metric))| metric.ran());
    let span = |(id, (task, metric)): (usize, (&Task, &TaskMetric))| Span {
        rank: schedule.rank,
        activity: Activity::of(&task.action),
        node: task.node,
        task: id,
        worker: schedule.section(id).map(|_| schedule.branch(id)),
        start: metric.start,
        end: metric.end,
        bytes: metric.bytes,
        predicted: plan.task_seconds(schedule, id),
    };
    let mut spans: Vec<Span> = executed.map(span).collect();
    // The schedule lists concurrent branches one after another.
    spans.sort_by(|a, b| a.start.total_cmp(&b.start));
    spans
}

/// Joins slices without gaps: the total seconds, and all spans from the earliest start on any rank, by rank.
fn joined(slices: Vec<Vec<RankMeasurement>>) -> (f64, Vec<Span>) {
    let seconds = |nanoseconds: i64| nanoseconds as f64 / 1e9;
    let mut spans: Vec<Vec<Span>> = vec![Vec::new(); slices.first().map_or(0, Vec::len)];
    // Nanoseconds before and between slices, and the latest end.
    let (mut left_out, mut over) = (0, 0);
    for ranks in slices {
        let begins = ranks.iter().map(|rank| rank.started).min().unwrap_or(over);
        left_out += (begins - over).max(0);
        over = ranks.iter().map(|rank| rank.started + rank.took).max().unwrap_or(over).max(over);
        for (rank, spans) in ranks.into_iter().zip(&mut spans) {
            let from = seconds(rank.started - left_out);
            let shifted = |span: Span| Span { start: span.start + from, end: span.end + from, ..span };
            spans.extend(rank.spans.into_iter().map(shifted));
        }
    }
    (seconds(over - left_out), spans.concat())
}

#[cfg(test)]
mod tests;
