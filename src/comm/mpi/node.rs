//! Finds out which ranks share a node, and so can share memory.
//!
//! ```text
//! ranks 0 1 | 2 3 4      rank 3 is the second of its node's ranks 2 3 4; rank 1 is on another node
//! ```
//!
//! Invariant: the ranks of a node are numbered in world order.

use super::Communicator;
use super::collective::Reduce;
use crate::comm::CommError;

/// The ranks of this rank's node.
#[derive(Debug)]
pub(super) struct Node {
    pub communicator: Communicator,
    /// The number of ranks that share this node's memory, of any color.
    pub here: usize,
    /// The number on this node of each world rank; `None` for ranks of other nodes.
    pub members: Vec<Option<usize>>,
    /// The node of each world rank. Nodes are numbered in the order of their first ranks.
    nodes: Vec<usize>,
    /// The node of this rank.
    node: usize,
}

impl Node {
    /// Finds the nodes of all ranks. Collective. With a color, ranks of different colors count as ranks of different
    /// nodes.
    ///
    /// # Errors
    /// MPI fails.
    pub(super) fn of(world: &Communicator, color: Option<usize>) -> Result<Node, CommError> {
        let node = world.split_by_node()?;
        let here = node.size();
        let communicator = match color {
            Some(color) => node.split(color)?,
            None => node,
        };
        // The lowest rank of a node identifies it.
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

    /// Whether all ranks are on this node.
    pub(super) fn is_whole(&self) -> bool {
        self.members.iter().all(Option::is_some)
    }

    /// The number of ranks on the node with the most ranks.
    pub(super) fn max_ranks_per_node(&self) -> usize {
        let mut counts = vec![0; self.nodes.len()];
        self.nodes.iter().for_each(|&node| counts[node] += 1);
        counts.into_iter().max().unwrap_or(1)
    }

    /// Whether any two ranks share a node.
    pub(super) fn any_shared(&self) -> bool {
        self.nodes.iter().max().is_some_and(|last| last + 1 < self.nodes.len())
    }

    /// The partner of this rank on its own node, and the partner on another node. This rank is also their partner.
    pub(super) fn neighbours(&self) -> [Option<usize>; 2] {
        let me = self.communicator.rank();
        let near = self.members.iter().position(|number| *number == Some(me ^ 1));
        let far = numbered(&self.nodes, self.node ^ 1).iter().position(|number| *number == Some(me));
        [near, far]
    }
}

/// Numbers the ranks of a node; `None` for ranks of other nodes.
fn numbered(nodes: &[usize], node: usize) -> Vec<Option<usize>> {
    let mut count = 0;
    let number = |theirs: &usize| {
        let here = *theirs == node;
        count += usize::from(here);
        here.then(|| count - 1)
    };
    nodes.iter().map(number).collect()
}
