//! Converts between tensor numbers and positions in a list (see [`PathChoice`](super::PathChoice)).
//!
//! Each direction costs O(n log n).

use crate::tree::{NodeId, Order, Step, Tree};

/// A Fenwick tree of ones.
struct Live {
    sums: Vec<usize>,
    count: usize,
}

impl Live {
    fn new(first: usize, all: usize) -> Live {
        let mut live = Live { sums: vec![0; all + 1], count: 0 };
        (0..first).for_each(|number| live.insert(number));
        live
    }

    fn change(&mut self, number: usize, by: isize) {
        let mut at = number + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
        self.count = self.count.wrapping_add_signed(by);
    }

    fn insert(&mut self, number: usize) {
        self.change(number, 1);
    }

    fn remove(&mut self, number: usize) {
        self.change(number, -1);
    }

    fn position(&self, number: usize) -> usize {
        let (mut at, mut sum) = (number, 0);
        while at > 0 {
            sum += self.sums[at];
            at &= at - 1;
        }
        sum
    }

    fn number(&self, position: usize) -> usize {
        let (mut at, mut left) = (0, position);
        let mut step = self.sums.len().next_power_of_two() / 2;
        while step > 0 {
            let next = at + step;
            if next < self.sums.len() && self.sums[next] <= left {
                at = next;
                left -= self.sums[next];
            }
            step /= 2;
        }
        at
    }
}

/// Converts a path to an order of tensor numbers. Its steps are positions, or numbers already if `numbers`.
///
/// # Errors
/// If the path is not valid, with the reason.
pub fn numbered(path: &[Vec<usize>], tensors: usize, numbers: bool) -> Result<Order, String> {
    let mut live = Live::new(tensors, tensors + path.len());
    let mut order = Order::with_capacity(path.len());
    for (at, positions) in path.iter().enumerate() {
        let written = || {
            let positions: Vec<String> = positions.iter().map(usize::to_string).collect();
            format!("step {} of the path, ({}),", at + 1, positions.join(","))
        };
        if live.count == 1 && tensors > 1 {
            return Err(format!("{} comes when a single tensor is left", written()));
        }
        if positions.is_empty() {
            return Err(format!("{} contracts nothing; leave it out", written()));
        }
        let mut group = Vec::with_capacity(positions.len());
        for (i, &position) in positions.iter().enumerate() {
            if numbers {
                let is_live = position < tensors + at && live.position(position + 1) > live.position(position);
                if !is_live || positions[..i].contains(&position) {
                    return Err(format!("{} has tensor {position}, which is missing or used already", written()));
                }
                group.push(position);
                continue;
            }
            if position >= live.count {
                let most = live.count - 1;
                return Err(format!("{} has position {position}, but positions go from 0 to {most} there", written()));
            }
            if positions[..i].contains(&position) {
                return Err(format!("{} has position {position} twice", written()));
            }
            group.push(live.number(position));
        }
        group.iter().for_each(|&number| live.remove(number));
        live.insert(tensors + at);
        order.push(group);
    }
    match live.count {
        1 => Ok(order),
        left => Err(format!("the path ends with {left} tensors left, for {tensors} operands")),
    }
}

/// Contractions as positions, the left operand first. The result of a unary step keeps its input's number.
pub fn path(tree: &Tree) -> Vec<[usize; 2]> {
    let contractions = tree.contractions();
    let mut live = Live::new(tree.operands, tree.operands + contractions);
    let mut numbers: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    let mut path = Vec::with_capacity(contractions);
    for node in &tree.nodes {
        let number = |id: NodeId| numbers[id];
        numbers.push(match node.step {
            Step::Leaf { operand } => operand,
            Step::Unary { input, .. } => number(input),
            Step::Contract { left, right, .. } => {
                let pair = [number(left), number(right)];
                let positions = pair.map(|number| live.position(number));
                pair.into_iter().for_each(|number| live.remove(number));
                live.insert(tree.operands + path.len());
                path.push(positions);
                tree.operands + path.len() - 1
            }
        });
    }
    path
}

/// The same contractions, each directly after those of its right operand, without recursion, because trees may be deep.
pub fn depth_first(steps: &[[usize; 2]], tensors: usize) -> Order {
    let mut order = Order::with_capacity(steps.len());
    let mut open = vec![Some(tensors + steps.len() - 1)];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        match next.map(|tensor| (tensor, tensor.checked_sub(tensors))) {
            Some((tensor, None)) => done.push(tensor),
            Some((_, Some(step))) => open.extend([None, Some(steps[step][1]), Some(steps[step][0])]),
            None => {
                let pair = done.split_off(done.len() - 2);
                order.push(pair);
                done.push(tensors + order.len() - 1);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests;
