//! Pins a host's ranks to the cores of their [`crate::machine::Placement`], by the rules in `docs/placement.md`.
//!
//! Invariant: the threads of a rank with fewer cores than workers may use all cores of its NUMA domains. Memory is
//! never bound or migrated: pages are placed by first touch, so a rank's workers first touch its blocks, arenas and
//! packing workspace.

use super::crew::AgreedPlacement;
use super::{Result, World, cores, host};
use crate::machine::{RankPlacement, Topology};

struct Sharing {
    topology: Topology,
    ranks: usize,
    /// Those before this process's ranks.
    before: usize,
    here: usize,
}

impl Sharing {
    /// Processors per rank under a CPU quota; `None` unless below the affinity mask.
    fn quota(&self) -> Option<usize> {
        let processors = host::processors();
        (processors < host::cpus().len()).then(|| processors / self.here.max(1))
    }
}

impl World {
    /// Pins each host's ranks to their own cores, if each can have `workers` of them. If a rank has no more cores than
    /// threads, each worker is pinned to one, and the communication thread to the rest, if any.
    ///
    /// An MPI process pins the calling thread and those it starts later; ranks in one process pin their threads. A
    /// world of one rank is not pinned. Call this before measuring, compiling or allocating; later calls have no
    /// effect. Collective.
    ///
    /// # Errors
    /// If there are more ranks or workers than [`Machine::check`](crate::Machine::check) allows, if MPI fails, or if
    /// `EINSUM_DIST_TOPOLOGY` is no topology.
    pub fn place(&self, workers: usize) -> Result<()> {
        self.expect_size(workers)?;
        let sharing = self.sharing()?;
        let Sharing { topology, ranks, before, .. } = &sharing;
        if self.ranks() == 1 || self.shared().placed.borrow().is_some() || host::cpus().is_empty() {
            return Ok(());
        }
        let mut places = topology.place(*ranks, workers, true).places.split_off(*before);
        places.truncate(self.local_ranks().len());
        // A polling thread would consume the CPU quota.
        if sharing.quota().is_some_and(|quota| quota <= workers) {
            places.iter_mut().for_each(|place| place.spare = false);
        }
        if let (false, [mine]) = (self.is_one_process(), &places[..]) {
            cores::bind(&mine.units);
        }
        *self.shared().placed.borrow_mut() = Some(AgreedPlacement { workers, places });
        Ok(())
    }

    /// The default workers per rank: the fewest cores of any rank, or, with several ranks, one of several fewer, for
    /// communication. A CPU quota may reduce it. Collective.
    ///
    /// # Errors
    /// Those of [`World::place`].
    pub fn default_workers(&self) -> Result<usize> {
        self.expect_size(1)?;
        let sharing = self.sharing()?;
        let several = self.ranks() > 1;
        let quota = sharing.quota().map(|quota| if several && quota > 1 { quota - 1 } else { quota.max(1) });
        let mine = sharing.topology.workers(sharing.ranks, several).min(quota.unwrap_or(usize::MAX));
        // All ranks run the same plan.
        let all = self.all_gather(&(mine as u64).to_le_bytes())?;
        let read = |bytes: &Vec<u8>| Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?) as usize);
        Ok(all.iter().filter_map(read).min().unwrap_or(mine))
    }

    /// Every rank's placement; an unpinned rank has all cores of its process. Collective.
    ///
    /// # Errors
    /// Those of [`World::place`].
    pub fn places(&self) -> Result<Vec<RankPlacement>> {
        self.expect_size(1)?;
        let mine: Vec<RankPlacement> = (0..self.local_ranks().len()).map(|rank| self.shared().place_of(rank)).collect();
        let all = self.all_gather(&serde_json::to_vec(&mine).unwrap_or_default())?;
        let read = all.iter().map(|bytes| serde_json::from_slice::<Vec<RankPlacement>>(bytes).unwrap_or_default());
        Ok(read.flatten().collect())
    }

    /// Describes the first rank whose affinity mask has fewer cores than an equal share of its host's, and than
    /// `workers`. Collective.
    ///
    /// # Errors
    /// Those of [`World::place`].
    pub fn starved(&self, workers: Option<usize>) -> Result<Option<String>> {
        let Sharing { topology, ranks, here, .. } = self.sharing()?;
        let (own, fair) = (topology.cores() / ranks, host::topology()?.cores() / here.max(ranks));
        let rank = self.local_ranks().start;
        let starves = own < fair && own < workers.unwrap_or(fair);
        let cores = if own == 1 { "1 core".to_owned() } else { format!("{own} cores") };
        let mine = if starves {
            format!("the affinity mask of rank {rank} leaves it {cores}, its share of the host is {fair}")
        } else {
            String::new()
        };
        let all = self.all_gather(mine.as_bytes())?;
        let first = all.iter().find(|theirs| !theirs.is_empty());
        Ok(first.map(|theirs| String::from_utf8_lossy(theirs).into_owned()))
    }

    /// The ranks that share this process's cores. Collective.
    fn sharing(&self) -> Result<Sharing> {
        let name = host::name();
        let mine = format!("{name} {:?}", host::cpus());
        let everyone = self.all_gather(mine.as_bytes())?;
        let topology = self.agree(host::allowed())?;
        if self.is_one_process() {
            return Ok(Sharing { topology, ranks: self.ranks(), before: 0, here: self.ranks() });
        }
        let of_host =
            |theirs: &&Vec<u8>| theirs.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' '));
        let here = everyone.iter().filter(of_host).count();
        let sharing = |processes: &[Vec<u8>]| processes.iter().filter(|theirs| **theirs == mine.as_bytes()).count();
        Ok(Sharing {
            topology,
            ranks: sharing(&everyone),
            before: sharing(&everyone[..self.local_ranks().start]),
            here,
        })
    }
}

#[cfg(test)]
mod tests;
