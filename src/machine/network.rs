//! Links that transfers between nodes share: each node's network, and the middle of the network.

use std::ops::Range;

use super::{Link, Machine};

/// One direction of a link that transfers share.
pub(crate) struct SharedLink {
    pub number: usize,
    pub bandwidth: f64,
    /// Simultaneous transfers if every rank sends to the rank at the same distance.
    pub transfers: usize,
}

impl Machine {
    pub(crate) fn shares_links(&self) -> bool {
        self.node_link_bandwidth.or(self.bisection_bandwidth).is_some()
    }

    /// Bytes per second that each rank receives while all receive from other nodes, and across the middle.
    pub fn busy_bandwidth(&self) -> f64 {
        let node = self.node_link_bandwidth.map(|all| all / self.ranks_per_node.clamp(1, self.ranks.max(1)) as f64);
        let half = self.bisection_bandwidth.map(|all| 2.0 * all / self.ranks as f64);
        node.into_iter().chain(half).fold(self.link_bandwidth, f64::min)
    }

    /// The bisection of this many ranks.
    pub(super) fn bisection_of(&self, ranks: usize) -> Option<f64> {
        self.bisection_bandwidth.map(|all| all * ranks as f64 / self.ranks as f64)
    }

    /// [`Machine::link`] while every rank sends to the rank at the same distance; equal in both directions.
    pub(crate) fn busy_link(&self, from: usize, to: usize) -> Link {
        let Link { bandwidth, latency } = self.link(from, to);
        if !self.shares_links() {
            return Link { bandwidth, latency };
        }
        let shares = self.shared_links(from, to).map(|shared| shared.bandwidth / shared.transfers as f64);
        Link { bandwidth: shares.fold(bandwidth, f64::min), latency }
    }

    /// Those that a transfer passes: out of its node, into the other, and between the halves of the nodes.
    pub(crate) fn shared_links(&self, from: usize, to: usize) -> impl Iterator<Item = SharedLink> {
        let per_node = self.ranks_per_node.max(1);
        let half = self.ranks.div_ceil(per_node) / 2;
        let ends = [from / per_node, to / per_node];
        let distance = to as i64 - from as i64;
        // The ranks of `left` whose peers are in `right`.
        let pairs = |left: &Range<usize>, right: &Range<usize>| {
            let [start, end] = [right.start, right.end].map(|rank| rank as i64 - distance);
            (end.min(left.end as i64) - start.max(left.start as i64)).max(0) as usize
        };
        let all = 0..self.ranks;
        let [a, b] = ends.map(|node| node * per_node..((node + 1) * per_node).min(self.ranks));
        let halves = ends.map(|node| if node < half { 0..half * per_node } else { half * per_node..self.ranks });
        let middle = self.bisection_bandwidth.filter(|_| halves[0] != halves[1]);
        let shared = |bandwidth: Option<f64>, number, transfers| {
            bandwidth.filter(|_| a != b).map(|bandwidth| SharedLink { number, bandwidth, transfers })
        };
        let node = self.node_link_bandwidth;
        [
            shared(node, 2 + 2 * ends[0], pairs(&a, &all) - pairs(&a, &a)),
            shared(node, 3 + 2 * ends[1], pairs(&all, &b) - pairs(&b, &b)),
            shared(middle, usize::from(from < to), pairs(&halves[0], &halves[1])),
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests;
