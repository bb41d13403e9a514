//! Which cores each rank has: ranks of one host that may use exactly the same ones share them out.
//!
//! ```text
//! cores of the host, by socket    0 1 2 3 | 4 5 6 7
//! two ranks                       rank 0    rank 1
//! three ranks                     0 0 | 1 1 1 | 2 2 2
//! ```
//!
//! Where ranks have cores of their own, a thread that communicates takes its turns beside its own rank's workers only.
//!
//! Invariants: ranks that a launcher has bound to cores of their own keep them; no rank is given fewer cores than it has workers.
//! Deliberately absent: memory (pages lie where they are touched first), one core for each worker.

use super::{Error, Result, World, host};
use crate::sync::{ThreadPool, ThreadPoolBuilder};

/// The workers of one rank of this process.
pub(super) struct Crew {
    pub(super) pool: ThreadPool,
    /// Theirs and those of the rank's thread; none where the system places them.
    pub(super) cores: Vec<usize>,
}

impl Crew {
    /// # Errors
    /// Threads cannot be started.
    pub(super) fn new(rank: usize, workers: usize, cores: Vec<usize>) -> Result<Crew> {
        let theirs = cores.clone();
        let builder = ThreadPoolBuilder::new().num_threads(workers).start_handler(move |_| host::bind(&theirs));
        let builder = builder.thread_name(move |worker| format!("rank {rank} worker {worker}"));
        let pool = builder.build().map_err(|error| Error::Usage(format!("cannot start workers: {error}")))?;
        Ok(Crew { pool, cores })
    }
}

impl World {
    /// Binds the ranks of each host to cores of their own, if there are enough for this many workers of each. Processes bind the
    /// thread that calls and all that it starts afterwards; ranks inside of a process their threads and workers. Before anything
    /// is measured or compiled; what is bound stays so, whatever is asked for later. Collective.
    ///
    /// ```
    /// use einsum_dist::World;
    /// let world = World::in_process(2);
    /// world.place(1)?;
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    ///
    /// # Errors
    /// MPI fails.
    pub fn place(&self, workers: usize) -> Result<()> {
        let cores = host::neighbours();
        let mine = format!("{} {cores:?}", host::name());
        let everyone = self.all_gather(mine.as_bytes())?;
        if self.shared().placed() {
            return Ok(());
        }
        if self.local_ranks().len() == self.ranks() {
            let shares = (0..self.ranks()).map(|rank| share(&cores, rank, self.ranks(), workers).to_vec());
            *self.shared().cores.borrow_mut() = shares.collect();
            return Ok(());
        }
        let sharing = |processes: &[Vec<u8>]| processes.iter().filter(|theirs| **theirs == mine.as_bytes()).count();
        let mine = share(&cores, sharing(&everyone[..self.local_ranks().start]), sharing(&everyone), workers);
        host::bind(mine);
        *self.shared().cores.borrow_mut() = vec![mine.to_vec()];
        Ok(())
    }
}

/// The cores of one of several ranks that share them: about as many as any other, next to each other. None if that would be
/// fewer than its workers.
fn share(cores: &[usize], rank: usize, ranks: usize, workers: usize) -> &[usize] {
    if ranks < 2 || cores.len() / ranks < workers {
        return &[];
    }
    &cores[rank * cores.len() / ranks..(rank + 1) * cores.len() / ranks]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_all_cores() {
        let cores: Vec<usize> = (0..8).map(|core| 10 + core).collect();
        for ranks in 2..=8 {
            let shares: Vec<&[usize]> = (0..ranks).map(|rank| share(&cores, rank, ranks, 1)).collect();
            assert_eq!(shares.concat(), cores, "{ranks} ranks");
            let (least, most) = (8 / ranks, 8_usize.div_ceil(ranks));
            assert!(shares.iter().all(|share| (least..=most).contains(&share.len())), "{shares:?}");
        }
    }

    #[test]
    fn nobody_is_bound_to_too_few() {
        assert!(share(&[0, 1, 2, 3], 0, 2, 3).is_empty() && share(&[0, 1], 2, 3, 1).is_empty());
        assert_eq!(share(&[0, 1, 2, 3], 1, 2, 2), [2, 3]);
        assert!(share(&[0, 1], 0, 1, 1).is_empty(), "a rank without others has what there is");
    }

    #[test]
    fn workers_stay_on_the_cores_of_their_rank() {
        let cores = host::neighbours();
        let Some(&last) = cores.last() else { return };
        let crew = Crew::new(0, 2, vec![last]).expect("threads");
        if cfg!(target_os = "linux") {
            let here = crew.pool.broadcast(|_| own_cores());
            assert!(here.iter().all(|mine| *mine == [last]), "{here:?} instead of {last}");
        }
    }

    /// The cores of the calling thread.
    fn own_cores() -> Vec<usize> {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        host::listed(&status)
    }
}
