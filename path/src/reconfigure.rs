//! Replaces small subtrees by the cheapest contraction of their leaves, by dynamic programming over sets of leaves (as
//! cotengra's `subtree_reconfigure`).
//!
//! Leaves may be any nodes of the tree. Cost: O(3^k) evaluations for k leaves.

use crate::bits::Bits;
use crate::effort;
use crate::fast_math::exp2;
use crate::random::Random;
use crate::tree::Tree;

pub struct Tables<const W: usize> {
    below: Vec<Bits<W>>,
    labels: Vec<Bits<W>>,
    elements: Vec<f64>,
    cost: Vec<f64>,
    split: Vec<u32>,
}

impl<const W: usize> Tables<W> {
    pub fn new() -> Tables<W> {
        Tables { below: vec![], labels: vec![], elements: vec![], cost: vec![], split: vec![] }
    }
}

impl<const W: usize> Tree<'_, W> {
    /// Improves each contraction's subtree once, most expensive first, until the effort is `end`. Returns whether any
    /// became cheaper.
    pub fn reconfigure(
        &mut self,
        size: usize,
        limit: f64,
        end: f64,
        random: &mut Random,
        tables: &mut Tables<W>,
    ) -> bool {
        let mut order: Vec<usize> = (self.leaves..self.children.len()).collect();
        order.sort_by(|&a, &b| self.cost[b].total_cmp(&self.cost[a]));
        let mut improved = false;
        let least = 1e-5 * self.total();
        for node in order {
            if self.cost[node] < least || self.effort >= end {
                break;
            }
            improved |= self.reconfigure_at(node, size, limit, random, tables);
        }
        improved
    }

    fn reconfigure_at(
        &mut self,
        root: usize,
        size: usize,
        limit: f64,
        random: &mut Random,
        tables: &mut Tables<W>,
    ) -> bool {
        let mut frontier = vec![root];
        let mut inner = Vec::new();
        while frontier.len() < size {
            // Opens the most expensive contraction, sometimes another.
            let open = frontier.iter().enumerate().filter(|&(_, &node)| node >= self.leaves);
            let best = if random.below(4) == 0 {
                open.max_by_key(|_| random.next())
            } else {
                open.max_by(|(_, a), (_, b)| self.cost[**a].total_cmp(&self.cost[**b]))
            };
            let Some((at, &node)) = best else { break };
            frontier.swap_remove(at);
            inner.push(node);
            frontier.extend(self.children[node].map(|child| child as usize));
        }
        if frontier.len() < 3 {
            return false;
        }
        self.effort += effort::split(W) * 3f64.powi(frontier.len() as i32) / 2.0;
        let before: f64 = inner.iter().map(|&node| self.cost[node]).sum();
        let largest = inner.iter().skip(1).map(|&node| self.log2[node]).fold(limit, f64::max);
        if !self.cheapest_split(&frontier, root, before * (1.0 - 1e-6), largest, tables) {
            return false;
        }
        self.replace(root, &frontier, &inner, tables);
        true
    }

    /// Fills the tables. Returns whether any contraction is cheaper than `bound`.
    fn cheapest_split(&self, frontier: &[usize], root: usize, bound: f64, largest: f64, t: &mut Tables<W>) -> bool {
        let count = 1usize << frontier.len();
        let full = count - 1;
        t.below.clear();
        t.below.resize(count, Bits::default());
        for set in 1..count {
            let low = set.trailing_zeros() as usize;
            t.below[set] = t.below[set & (set - 1)].or(&self.labels[frontier[low]]);
        }
        t.labels.clear();
        t.labels.resize(count, Bits::default());
        t.elements.clear();
        t.elements.resize(count, 0.0);
        t.cost.clear();
        t.cost.resize(count, f64::INFINITY);
        t.split.clear();
        t.split.resize(count, 0);
        for set in 1..count {
            let outside = t.below[full & !set].or(&self.labels[root]);
            t.labels[set] = t.below[set].and(&outside);
            let log2 = self.weights.log2(&t.labels[set]);
            t.elements[set] = exp2(log2);
            if set & (set - 1) == 0 {
                t.cost[set] = 0.0;
                continue;
            }
            if log2 > largest && set != full {
                continue;
            }
            let low = set & set.wrapping_neg();
            let rest = set ^ low;
            let mut least = bound;
            // All subsets that contain the lowest leaf.
            let mut sub = rest;
            loop {
                sub = sub.wrapping_sub(1) & rest;
                let (one, other) = (sub | low, rest & !sub);
                let known = t.cost[one] + t.cost[other];
                if known < least {
                    let products = exp2(self.weights.log2(&t.labels[one].or(&t.labels[other])));
                    let elements = t.elements[one] + t.elements[other] + t.elements[set];
                    let cost = known + products + self.price.element * elements + self.price.step;
                    if cost < least {
                        least = cost;
                        t.cost[set] = cost;
                        t.split[set] = one as u32;
                    }
                }
                if sub == 0 {
                    break;
                }
            }
        }
        t.cost[full] < bound
    }

    fn replace(&mut self, root: usize, frontier: &[usize], inner: &[usize], t: &Tables<W>) {
        let full = (1usize << frontier.len()) - 1;
        let mut free = inner[1..].to_vec();
        let mut open = vec![(root, full)];
        let mut built = Vec::with_capacity(inner.len());
        while let Some((node, set)) = open.pop() {
            built.push(node);
            let one = t.split[set] as usize;
            for (side, part) in [one, set & !one].into_iter().enumerate() {
                let child = if part & (part - 1) == 0 {
                    frontier[part.trailing_zeros() as usize]
                } else {
                    // There are as many contractions as before.
                    let Some(child) = free.pop() else { return };
                    self.labels[child] = t.labels[part];
                    open.push((child, part));
                    child
                };
                self.children[node][side] = child as u32;
                self.parent[child] = node as u32;
            }
        }
        built.iter().rev().for_each(|&node| self.measure(node));
    }
}
