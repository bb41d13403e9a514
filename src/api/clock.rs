//! Converts all ranks' times to a common clock: a host's system time and its estimated distance from other hosts'
//! (`docs/timelines.md`).
//!
//! Without host names, each process is a host. Clock drift is ignored: over all rounds, it is a fraction of a
//! microsecond.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{Result, World};

/// Joint readings of both clocks; the fastest counts.
const CLOCK_READINGS: usize = 32;

/// Collective calls to compare times.
const ROUNDS: usize = 256;

/// Entry and exit time of a collective call, in nanoseconds.
type Round = [i64; 2];

pub(super) struct Clock {
    at: Instant,
    nanoseconds: i64,
}

impl Clock {
    pub(super) fn read() -> Clock {
        let read = || {
            let before = Instant::now();
            let time = SystemTime::now();
            (before.elapsed(), before, time)
        };
        let quickest = (0..CLOCK_READINGS).map(|_| read()).min_by_key(|(took, ..)| *took);
        let (took, before, time) = quickest.unwrap_or_else(read);
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { at: before + took / 2, nanoseconds: since.as_nanos() as i64 }
    }

    /// In nanoseconds.
    pub(super) fn at(&self, instant: Instant) -> i64 {
        let after = instant.saturating_duration_since(self.at).as_nanos() as i64;
        let before = self.at.saturating_duration_since(instant).as_nanos() as i64;
        self.nanoseconds + after - before
    }

    /// The nanoseconds by which each process's clock is ahead of the first's, and a bound on their error. `hosts` has
    /// each process's host. Collective.
    pub(super) fn ahead(&self, world: &World, hosts: &[String]) -> Result<(Vec<i64>, i64)> {
        let named = |one: usize, other: usize| !hosts[one].is_empty() && hosts[one] == hosts[other];
        let leader = |process: usize| (0..process).find(|&other| named(other, process)).unwrap_or(process);
        if (0..hosts.len()).all(|process| leader(process) == 0) {
            return Ok((vec![0; hosts.len()], 0));
        }
        let mut rounds: Vec<Round> = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let entered = Instant::now();
            world.all_gather(&[])?;
            rounds.push([entered, Instant::now()].map(|instant| self.at(instant)));
        }
        let all = world.gather(&rounds)?;
        let estimates: Vec<(i64, i64)> = all.iter().map(|theirs| estimate(&all[0], theirs)).collect();
        let of = |process: usize| match leader(process) {
            0 => (0, 0),
            leader => estimates[leader],
        };
        let (ahead, errors): (Vec<i64>, Vec<i64>) = (0..hosts.len()).map(of).unzip();
        Ok((ahead, errors.into_iter().max().unwrap_or(0)))
    }
}

/// Like [`Clock::ahead`], for two processes.
fn estimate(here: &[Round], there: &[Round]) -> (i64, i64) {
    let rounds = || here.iter().zip(there);
    let lower = rounds().map(|(here, there)| there[0] - here[1]).max().unwrap_or(0);
    let upper = rounds().map(|(here, there)| there[1] - here[0]).min().unwrap_or(0);
    (lower + (upper - lower) / 2, (upper - lower).abs() / 2)
}

#[cfg(test)]
mod tests;
