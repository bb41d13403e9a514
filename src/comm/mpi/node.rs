//! Determines which ranks share a node.
//!
//! Invariant: the ranks of a node are numbered in world order.

use super::Communicator;
use super::collective::Reduce;
use crate::comm::CommError;

#[derive(Debug)]
pub(super) struct Node {
    pub communicator: Communicator,
    /// Ranks that share this node's memory, of any color.
    pub here: usize,
    /// Each world rank's number on this node, if any.
    pub members: Vec<Option<usize>>,
    /// For each world rank, its node, in the order of first ranks.
    nodes: Vec<usize>,
    node: usize,
}

impl Node {
    /// Collective. Different colors count as different nodes.
    pub(super) fn of(world: &Communicator, color: Option<usize>) -> Result<Node, CommError> {
        let node = world.split_by_node()?;
        let here = node.size();
        let communicator = match color {
            Some(color) => node.split(color)?,
            None => node,
        };
        // The lowest rank of a node identifies the node.
        let first = communicator.all_reduce(Reduce::Max, &[(world.size() - world.rank()) as u64])?;
        let mut firsts = vec![0; world.size()];
        firsts[world.rank()] = first[0];
        let firsts = world.all_reduce(Reduce::Max, &firsts)?;
        let mut names = Vec::new();
        let nodes: Vec<usize> = firsts
            .iter()
            .map(|name| {
                names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(*name);
                    names.len() - 1
                })
            })
            .collect();
        let node = nodes[world.rank()];
        Ok(Node { communicator, here, members: numbered(&nodes, node), nodes, node })
    }

    pub(super) fn is_whole(&self) -> bool {
        self.members.iter().all(Option::is_some)
    }

    pub(super) fn max_ranks_per_node(&self) -> usize {
        let mut counts = vec![0; self.nodes.len()];
        self.nodes.iter().for_each(|&node| counts[node] += 1);
        counts.into_iter().max().unwrap_or(1)
    }

    pub(super) fn any_shared(&self) -> bool {
        self.nodes.iter().max().is_some_and(|last| last + 1 < self.nodes.len())
    }

    pub(super) fn neighbours(&self) -> [Option<usize>; 2] {
        let me = self.communicator.rank();
        let near = self.members.iter().position(|number| *number == Some(me ^ 1));
        let far = numbered(&self.nodes, self.node ^ 1).iter().position(|number| *number == Some(me));
        [near, far]
    }
}

fn numbered(nodes: &[usize], node: usize) -> Vec<Option<usize>> {
    let mut count = 0;
    let number = |theirs: &usize| {
        let here = *theirs == node;
        count += usize::from(here);
        here.then(|| count - 1)
    };
    nodes.iter().map(number).collect()
}
