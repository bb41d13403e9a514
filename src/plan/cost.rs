//! Predicts steps other than contractions, and, from schedules, contractions with any distributions.

use std::ops::Range;

use crate::algorithm::{Algorithm, Contraction, Cost, MAX_DIRECT_SUMMANDS, Price, Tensor, broadcast_rounds};
use crate::dims::Label;
use crate::distribution::{Distribution, Role};
use crate::schedule::{Action, Builder, Schedule, Work};

/// Maximum ranks whose schedules price an algorithm.
const MAX_SAMPLED_RANKS: usize = 16;
/// Maximum ranks whose blocks price a redistribution.
const MAX_SAMPLED_BLOCKS: usize = 8;

impl Cost<'_> {
    /// The maximum over sampled ranks. Computing and receiving overlap, except for the first message.
    pub fn slicing(&self, algorithm: &Algorithm, distributions: &[Tensor; 3]) -> Price {
        let ranks = self.machine.ranks;
        let sampled_ranks: Vec<usize> = (0..ranks).step_by(ranks.div_ceil(MAX_SAMPLED_RANKS)).collect();
        let busiest = sampled_ranks.into_iter().map(|rank| {
            let mut builder = Builder::new(rank, ranks, self.dtype.size());
            let [left, right, out] = distributions.each_ref().map(|tensor| tensor.clone().declared(&mut builder));
            algorithm.generate(&mut builder, &Contraction { left, right, out, onto: false });
            let schedule = builder.unplaced();
            let (mut compute, mut messages) = (0.0, 0.0f64);
            for task in &schedule.tasks {
                match &task.action {
                    Action::Recv { .. } => messages += 1.0,
                    Action::Work(work) => compute += self.work(&schedule, work),
                    Action::Send { .. } => {}
                }
            }
            let bytes = schedule.bytes_received() as f64;
            let receive = messages * self.machine.link_latency + bytes / self.machine.busy_bandwidth();
            Price { seconds: self.overlapped(compute, receive) + receive / messages.max(1.0), bytes }
        });
        busiest.fold(Price::default(), Price::max)
    }

    /// Seconds of a task on all workers.
    pub fn work(&self, schedule: &Schedule, work: &Work) -> f64 {
        match work {
            Work::Contract { left, right, out, .. } => {
                let mut extents: Vec<(Label, usize)> = Vec::new();
                for view in [left, right, out] {
                    let labels = schedule.buffers[view.buffer].labels.iter();
                    extents.extend(labels.zip(&view.bounds).map(|(&label, range)| (label, range.len())));
                }
                extents.sort_unstable();
                extents.dedup();
                let products = extents.iter().map(|&(_, extent)| extent as f64).product();
                self.product(products, [left, right, out].iter().map(|view| view.elements() as f64).sum())
            }
            Work::Unary { input, out } | Work::Add { input, out } | Work::Update { input, out } => {
                self.stream((input.elements() + 2 * out.elements()) as f64)
            }
            Work::Fill { out } | Work::Scale { out, .. } => self.stream(out.elements() as f64),
        }
    }

    /// Seconds of a unary step whose result has this distribution.
    pub fn unary(&self, input: &[Label], out: &[Label], distribution: &Distribution) -> f64 {
        // Permutations and sums reach half of the rate of copies.
        let passes = if input == out { 1.0 } else { 2.0 };
        passes * self.stream((self.volume(input) + self.volume(out)) / distribution.parts() as f64)
    }

    /// Unless blocks are summed or copied along trees or rings, the busiest sampled rank receives what it lacks in one
    /// message from each rank with a part of it, or sends as many.
    pub fn redistribution(&self, labels: &[Label], from: &Distribution, to: &Distribution) -> Price {
        if from == to {
            return Price::default();
        }
        let shape: Vec<usize> = labels.iter().map(|label| self.extents[label.0 as usize]).collect();
        let volume = |extents: Vec<usize>| extents.iter().map(|&extent| extent as f64).product::<f64>();
        if let Some((rounds, pieces, received)) = by_collective(from, to, &shape) {
            let piece = volume(to.largest_block(&shape)) * self.dtype.size() as f64 / pieces as f64;
            let round = self.machine.link_latency + piece / self.machine.busy_bandwidth();
            return Price { seconds: rounds as f64 * round, bytes: piece * received as f64 };
        }
        let sampled = |span: Range<usize>| {
            let every = span.len().div_ceil(MAX_SAMPLED_BLOCKS).max(1);
            span.step_by(every)
        };
        let mut messages = 0;
        let missing = sampled(to.span()).map(|rank| {
            let Some(need) = to.block(&shape, rank) else { return 0.0 };
            let have = from.block(&shape, rank).map_or(0, |have| have.common(&need));
            messages = messages.max(from.summands() * from.blocks_near(&shape, &need).min(need.volume()));
            need.volume() as f64 * from.summands() as f64 - have as f64
        });
        let missing: Vec<f64> = missing.collect();
        let all = missing.iter().sum::<f64>() / missing.len().max(1) as f64 * to.places() as f64;
        let missing = missing.into_iter().fold(0.0, f64::max);
        let bytes = missing * self.dtype.size() as f64;
        // Ranks of `from` send equal numbers of elements.
        let missing = missing.max(all / from.places().max(1) as f64);
        if missing == 0.0 {
            return Price::of_work(self.stream(2.0 * volume(to.largest_block(&shape))));
        }
        let targets = sampled(from.span()).filter_map(|rank| {
            let have = from.block(&shape, rank)?;
            Some(to.blocks_near(&shape, &have).min(have.volume()) * to.replicas() / from.replicas().max(1))
        });
        let messages = targets.fold(messages, usize::max);
        let transfer = missing * self.dtype.size() as f64 / self.machine.busy_bandwidth();
        Price { seconds: transfer + messages as f64 * self.machine.link_latency, bytes }
    }
}

/// The rounds, a block's pieces, and those that the busiest rank receives; `None` for direct messages.
fn by_collective(from: &Distribution, to: &Distribution, shape: &[usize]) -> Option<(usize, usize, usize)> {
    let (first, start) = (from.span().start, to.span().start);
    let elements: usize = to.largest_block(shape).iter().product();
    if elements == 0 {
        return None;
    }
    if let Some((axis, others)) = from.axes().split_first()
        && axis.role == Role::Partial
        && axis.ranks > MAX_DIRECT_SUMMANDS
        && (others, first, to.summands()) == (to.axes(), start, 1)
    {
        let levels = axis.ranks.next_power_of_two().ilog2() as usize;
        return Some((levels, 1, levels));
    }
    let copied = to.axes().split_first().filter(|(axis, others)| {
        let place = first == start || from.span().end <= start;
        axis.role == Role::Replicate && *others == from.axes() && place
    });
    let copies = match copied {
        Some((axis, _)) => axis.ranks,
        None if from.places() == 1 && to.parts() == 1 && to.coordinates(first).is_some() => to.replicas(),
        None => 1,
    };
    let (rounds, pieces) = (copies > 2 && from.summands() == 1).then(|| broadcast_rounds(elements, copies))?;
    Some((rounds, pieces, pieces))
}
