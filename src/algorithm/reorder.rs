//! Orders a rank's chunks (products of one task) in `slicing`.
//!
//! Source: Brock and Golin (see [`super::slicing`]), section 4.3. A step takes the longer of contracting one chunk and
//! receiving the pieces for the next.
//!
//! Invariant: an order contains every chunk once. Delays of other ranks' transfers are ignored.

use serde::{Deserialize, Serialize};

/// The maximum number of chunks for trying all orders.
const MAX_EXHAUSTIVE_CHUNKS: usize = 8;

/// The order in which a rank contracts its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reorder {
    /// Ascending, cyclically from the chunk for which the rank stores the most data (the source's direct execution with
    /// an iteration offset).
    #[default]
    Direct,
    /// Chunks that need no data from other ranks come first.
    Greedy,
    /// Next is the chunk with the longest receiving time that computing the current one hides, or else the shortest.
    ByCost,
    /// The order with the shortest predicted time for at most eight chunks; otherwise [`Reorder::ByCost`].
    Exhaustive,
}

impl Reorder {
    /// All variants.
    pub const ALL: [Reorder; 4] = [Reorder::Direct, Reorder::Greedy, Reorder::ByCost, Reorder::Exhaustive];

    /// The name on the command line and in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Reorder::Direct => "direct",
            Reorder::Greedy => "greedy",
            Reorder::ByCost => "by-cost",
            Reorder::Exhaustive => "exhaustive",
        }
    }

    pub(super) fn order(self, chunks: &[Effort]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..chunks.len()).collect();
        match self {
            Reorder::Direct => {}
            Reorder::Greedy => order.sort_by_key(|&at| chunks[at].receive > 0),
            Reorder::Exhaustive if chunks.len() <= MAX_EXHAUSTIVE_CHUNKS => {
                let mut search = OrderSearch { chunks, best: (seconds(chunks, &order), order.clone()) };
                search.extend(&mut Vec::new(), 0);
                order = search.best.1;
            }
            Reorder::ByCost | Reorder::Exhaustive => order = by_cost(chunks),
        }
        order
    }
}

/// In units of a multiply-add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    pub receive: u64,
    pub compute: u64,
}

/// In the unit of [`Effort`]. Receiving the first chunk overlaps with nothing.
fn seconds(chunks: &[Effort], order: &[usize]) -> u64 {
    let next = order.iter().skip(1).map(|&at| chunks[at].receive).chain([0]);
    let steps = order.iter().zip(next).map(|(&at, receive)| chunks[at].compute.max(receive));
    order.first().map_or(0, |&first| chunks[first].receive) + steps.sum::<u64>()
}

fn by_cost(chunks: &[Effort]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..chunks.len()).collect();
    let mut order = Vec::with_capacity(chunks.len());
    let mut hiding_time = 0;
    while !left.is_empty() {
        let rank = |&place: &usize| {
            let receive = chunks[left[place]].receive;
            if receive <= hiding_time { (0, hiding_time - receive) } else { (1, receive) }
        };
        let Some(next) = (0..left.len()).min_by_key(rank) else { break };
        let at = left.remove(next);
        hiding_time = chunks[at].compute;
        order.push(at);
    }
    order
}

struct OrderSearch<'a> {
    chunks: &'a [Effort],
    best: (u64, Vec<usize>),
}

impl OrderSearch<'_> {
    fn extend(&mut self, order: &mut Vec<usize>, spent: u64) {
        let last = order.last().map_or(0, |&at| self.chunks[at].compute);
        if order.len() == self.chunks.len() {
            if spent + last < self.best.0 {
                self.best = (spent + last, order.clone());
            }
            return;
        }
        for at in 0..self.chunks.len() {
            let spent = spent + last.max(self.chunks[at].receive);
            if !order.contains(&at) && spent < self.best.0 {
                order.push(at);
                self.extend(order, spent);
                order.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
