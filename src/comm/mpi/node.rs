//! Determines which ranks share a node.
//!
//! Invariant: the ranks of a node are numbered in world order.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use super::Communicator;
use crate::comm::CommError;

/// The directory of shared memory, on Linux also of MPI's; SIGBUS kills a program that exceeds its space.
pub(super) const SHM_DIRECTORY: &str = if cfg!(target_os = "linux") { "/dev/shm" } else { "/tmp" };
const COLOR_BYTES: usize = size_of::<usize>();

#[derive(Debug)]
pub(super) struct Node {
    /// This rank's number on the node.
    pub number: usize,
    pub ranks: usize,
    /// Ranks that share this node's memory, of any color.
    pub here: usize,
    /// Each world rank's number on this node, if any.
    pub members: Vec<Option<usize>>,
    /// For each world rank, its node, in the order of first ranks.
    nodes: Vec<usize>,
    pub node: usize,
}

impl Node {
    /// Collective. Different colors count as different nodes.
    pub(super) fn of(world: &Communicator, color: Option<usize>) -> Result<Node, CommError> {
        let all = world.all_gather_bytes(&[&color.unwrap_or(0).to_ne_bytes(), place().as_bytes()].concat())?;
        let mine = &all[world.rank()];
        let here = all.iter().filter(|other| other[COLOR_BYTES..] == mine[COLOR_BYTES..]).count();
        let mut names = HashMap::new();
        let mut number_of = |name| {
            let next = names.len();
            *names.entry(name).or_insert(next)
        };
        let nodes: Vec<usize> = all.iter().map(&mut number_of).collect();
        let node = nodes[world.rank()];
        let members = numbered(&nodes, node);
        let (number, ranks) = (members[world.rank()].unwrap_or(0), members.iter().flatten().count());
        Ok(Node { number, ranks, here, members, nodes, node })
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
        let me = self.number;
        let near = self.members.iter().position(|number| *number == Some(me ^ 1));
        let far = numbered(&self.nodes, self.node ^ 1).iter().position(|number| *number == Some(me));
        [near, far]
    }
}

/// Equal on ranks with the same files in [`SHM_DIRECTORY`].
fn place() -> String {
    let host = ::mpi::environment::processor_name().unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let directory = std::fs::metadata(SHM_DIRECTORY).map_or((0, 0), |place| (place.dev(), place.ino()));
    format!("{host} {boot} {directory:?}")
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
