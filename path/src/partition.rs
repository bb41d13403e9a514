//! Orders from recursive bisection of the network.
//!
//! Multilevel partitioning as in KaHyPar: a coarse division is improved on each finer network by the method of Fiduccia
//! and Mattheyses (1982).

use std::collections::BinaryHeap;

use crate::greedy::{GreedyParameters, greedy};
use crate::network::Prepared;
use crate::random::Random;

/// Parts with at most this many tensors are contracted greedily.
const SMALL: usize = 12;

/// Coarsening stops at so many nodes.
const COARSEST: usize = 40;

const TRIES: usize = 6;

const MAX_PASSES: usize = 4;

/// A pass ends after so many moves without improvement.
const MAX_FRUITLESS: usize = 200;

/// Labels in more tensors than this do not decide merges.
const MAX_PINS: usize = 64;

/// Its nodes are groups of tensors.
struct Hypergraph {
    weights: Vec<f64>,
    /// Each label's nodes, and the cost of cutting it.
    nets: Vec<(f64, Vec<u32>)>,
    incident: Vec<Vec<u32>>,
}

/// `imbalance` is the share of the tensors by which the larger part may exceed one half.
pub fn partitioned(network: &Prepared, imbalance: f64, random: &mut Random) -> Vec<[usize; 2]> {
    let all: Vec<u32> = (0..network.tensors.len() as u32).collect();
    let mut steps = Vec::with_capacity(all.len());
    let mut local = vec![u32::MAX; network.labels()];
    order(network, all, imbalance, random, &mut local, &mut steps);
    steps
}

fn order(
    network: &Prepared,
    tensors: Vec<u32>,
    imbalance: f64,
    random: &mut Random,
    local: &mut [u32],
    steps: &mut Vec<[usize; 2]>,
) -> usize {
    if tensors.len() == 1 {
        return tensors[0] as usize;
    }
    if tensors.len() <= SMALL {
        return small(network, &tensors, steps);
    }
    let graph = Hypergraph::new(network, &tensors, local);
    let side = graph.bisected(imbalance, random);
    let (mut left, mut right): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    tensors.iter().zip(&side).for_each(|(&tensor, &side)| if side { right.push(tensor) } else { left.push(tensor) });
    if left.is_empty() || right.is_empty() {
        right = tensors;
        left = right.split_off(right.len() / 2);
    }
    let left = order(network, left, imbalance, random, local, steps);
    let right = order(network, right, imbalance, random, local, steps);
    steps.push([left, right]);
    network.tensors.len() + steps.len() - 1
}

fn small(network: &Prepared, tensors: &[u32], steps: &mut Vec<[usize; 2]>) -> usize {
    let members: Vec<Vec<u32>> = tensors.iter().map(|&tensor| network.tensors[tensor as usize].clone()).collect();
    let part = network.part(members, None);
    let mut numbers: Vec<usize> = tensors.iter().map(|&tensor| tensor as usize).collect();
    for pair in greedy(part.labelled(), GreedyParameters { weight: 1.0, ties: 0, noise: 0.0 }).1 {
        steps.push(pair.map(|tensor| numbers[tensor]));
        numbers.push(network.tensors.len() + steps.len() - 1);
    }
    numbers[numbers.len() - 1]
}

impl Hypergraph {
    fn new(network: &Prepared, tensors: &[u32], local: &mut [u32]) -> Hypergraph {
        let mut nets: Vec<(f64, Vec<u32>)> = Vec::new();
        let mut used = Vec::new();
        for (node, &tensor) in tensors.iter().enumerate() {
            for &label in &network.tensors[tensor as usize] {
                let at = &mut local[label as usize];
                if *at == u32::MAX {
                    *at = nets.len() as u32;
                    used.push(label);
                    nets.push((network.log2[label as usize], Vec::new()));
                }
                nets[*at as usize].1.push(node as u32);
            }
        }
        used.into_iter().for_each(|label| local[label as usize] = u32::MAX);
        nets.retain(|(_, pins)| pins.len() > 1);
        Hypergraph::of(vec![1.0; tensors.len()], nets)
    }

    fn of(weights: Vec<f64>, nets: Vec<(f64, Vec<u32>)>) -> Hypergraph {
        let mut incident = vec![Vec::new(); weights.len()];
        for (net, (_, pins)) in nets.iter().enumerate() {
            pins.iter().for_each(|&node| incident[node as usize].push(net as u32));
        }
        Hypergraph { weights, nets, incident }
    }

    fn bisected(&self, imbalance: f64, random: &mut Random) -> Vec<bool> {
        let total: f64 = self.weights.iter().sum();
        let least = total * (0.5 - imbalance).max(0.02);
        if self.weights.len() > COARSEST
            && let Some((coarse, map)) = self.coarsened(total / COARSEST as f64 * 2.0, random)
        {
            let side = coarse.bisected(imbalance, random);
            let mut side: Vec<bool> = map.iter().map(|&node| side[node as usize]).collect();
            self.refine(&mut side, least);
            return side;
        }
        let tries = (0..TRIES).map(|_| {
            let mut side = self.grown(total, random);
            let cut = self.refine(&mut side, least);
            (cut, side)
        });
        tries.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, side)| side).unwrap_or_default()
    }

    /// Merges pairs of neighbours. Returns the coarser network and each node's new node; `None` if few can be merged.
    fn coarsened(&self, heaviest: f64, random: &mut Random) -> Option<(Hypergraph, Vec<u32>)> {
        let count = self.weights.len();
        let mut visits: Vec<usize> = (0..count).collect();
        random.shuffle(&mut visits);
        let mut map = vec![u32::MAX; count];
        let mut weights = Vec::new();
        let mut rating = vec![0.0f64; count];
        let mut near: Vec<u32> = Vec::new();
        for node in visits {
            if map[node] != u32::MAX {
                continue;
            }
            for &net in &self.incident[node] {
                let (weight, pins) = &self.nets[net as usize];
                if pins.len() > MAX_PINS {
                    continue;
                }
                for &other in pins.iter().filter(|&&other| other as usize != node && map[other as usize] == u32::MAX) {
                    if rating[other as usize] == 0.0 {
                        near.push(other);
                    }
                    rating[other as usize] += weight / (pins.len() - 1) as f64;
                }
            }
            let fits = |other: &&u32| self.weights[node] + self.weights[**other as usize] <= heaviest;
            let score = |other: u32| rating[other as usize] / (self.weights[node] * self.weights[other as usize]);
            let best = near.iter().filter(fits).max_by(|&&one, &&other| score(one).total_cmp(&score(other))).copied();
            map[node] = weights.len() as u32;
            let mut weight = self.weights[node];
            if let Some(other) = best {
                map[other as usize] = weights.len() as u32;
                weight += self.weights[other as usize];
            }
            weights.push(weight);
            near.drain(..).for_each(|other| rating[other as usize] = 0.0);
        }
        if weights.len() * 10 > count * 9 {
            return None;
        }
        let nets = self.nets.iter().filter_map(|(weight, pins)| {
            let mut pins: Vec<u32> = pins.iter().map(|&node| map[node as usize]).collect();
            pins.sort_unstable();
            pins.dedup();
            (pins.len() > 1).then_some((*weight, pins))
        });
        Some((Hypergraph::of(weights, nets.collect()), map))
    }

    fn grown(&self, total: f64, random: &mut Random) -> Vec<bool> {
        let count = self.weights.len();
        let mut side = vec![false; count];
        let mut weight = 0.0;
        let mut open = std::collections::VecDeque::new();
        let mut unseen: Vec<usize> = (0..count).collect();
        random.shuffle(&mut unseen);
        let mut seen = vec![false; count];
        while weight < total / 2.0 {
            let node = match open.pop_front() {
                Some(node) => node,
                None => {
                    let Some(node) = unseen.pop() else { break };
                    if seen[node] {
                        continue;
                    }
                    seen[node] = true;
                    node
                }
            };
            side[node] = true;
            weight += self.weights[node];
            for &other in self.incident[node].iter().flat_map(|&net| &self.nets[net as usize].1) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    open.push_back(other as usize);
                }
            }
        }
        side
    }

    /// Moves nodes between the parts while that lowers the cost of cut labels, which it returns.
    fn refine(&self, side: &mut [bool], least: f64) -> f64 {
        let mut counts: Vec<[u32; 2]> = self
            .nets
            .iter()
            .map(|(_, pins)| {
                let right = pins.iter().filter(|&&node| side[node as usize]).count() as u32;
                [pins.len() as u32 - right, right]
            })
            .collect();
        let mut parts = [0.0; 2];
        side.iter().zip(&self.weights).for_each(|(&side, weight)| parts[usize::from(side)] += weight);
        let cut = |counts: &[[u32; 2]]| -> f64 {
            self.nets.iter().zip(counts).filter(|(_, count)| count[0] > 0 && count[1] > 0).map(|((w, _), _)| w).sum()
        };
        for _ in 0..MAX_PASSES {
            if !self.pass(side, &mut counts, &mut parts, least) {
                break;
            }
        }
        cut(&counts)
    }

    fn gain(&self, node: usize, side: &[bool], counts: &[[u32; 2]]) -> f64 {
        let own = usize::from(side[node]);
        self.incident[node]
            .iter()
            .map(|&net| {
                let count = counts[net as usize];
                let weight = self.nets[net as usize].0;
                match (count[own], count[1 - own]) {
                    (1, _) => weight,
                    (_, 0) => -weight,
                    _ => 0.0,
                }
            })
            .sum()
    }

    fn pass(&self, side: &mut [bool], counts: &mut [[u32; 2]], parts: &mut [f64; 2], least: f64) -> bool {
        let count = self.weights.len();
        let mut gains: Vec<f64> = (0..count).map(|node| self.gain(node, side, counts)).collect();
        let mut heap: BinaryHeap<(i64, u32)> = BinaryHeap::new();
        // Gains are compared as integers, in small units.
        let key = |gain: f64| (gain * 1e6) as i64;
        let on_border = |node: usize, counts: &[[u32; 2]]| {
            self.incident[node].iter().any(|&net| counts[net as usize][0] > 0 && counts[net as usize][1] > 0)
        };
        heap.extend((0..count).filter(|&node| on_border(node, counts)).map(|node| (key(gains[node]), node as u32)));
        let mut locked = vec![false; count];
        let mut moves: Vec<usize> = Vec::new();
        let (mut sum, mut best, mut kept) = (0.0, 0.0, 0);
        while let Some((known, node)) = heap.pop() {
            let node = node as usize;
            if locked[node] || known != key(gains[node]) {
                continue;
            }
            let own = usize::from(side[node]);
            if parts[own] - self.weights[node] < least {
                continue;
            }
            locked[node] = true;
            sum += gains[node];
            parts[own] -= self.weights[node];
            parts[1 - own] += self.weights[node];
            side[node] = !side[node];
            for &net in &self.incident[node] {
                let before = counts[net as usize];
                counts[net as usize][own] -= 1;
                counts[net as usize][1 - own] += 1;
                let pins = &self.nets[net as usize].1;
                // Gains change only if a part has few nodes of the label before or after the move.
                if before[own] > 2 && before[1 - own] > 1 {
                    continue;
                }
                for &other in pins.iter().filter(|&&other| !locked[other as usize]) {
                    let gain = self.gain(other as usize, side, counts);
                    if gain != gains[other as usize] {
                        gains[other as usize] = gain;
                        heap.push((key(gain), other));
                    }
                }
            }
            moves.push(node);
            if sum > best + 1e-9 {
                (best, kept) = (sum, moves.len());
            } else if moves.len() - kept > MAX_FRUITLESS {
                break;
            }
        }
        for &node in &moves[kept..] {
            let own = usize::from(side[node]);
            parts[own] -= self.weights[node];
            parts[1 - own] += self.weights[node];
            side[node] = !side[node];
            for &net in &self.incident[node] {
                counts[net as usize][own] -= 1;
                counts[net as usize][1 - own] += 1;
            }
        }
        best > 0.0
    }
}
