//! Random delays of simulated tasks.
//!
//! A task takes (1 + mean x E) times its predicted time, where E is exponential with mean 1. Invariant: no factor is
//! below 1.
//!
//! A representative stands for ranks that are assumed to wait for each other in every step, so its factor is the
//! largest of as many independent ones.

use rand_philox::philox4x32_10;

use crate::schedule::TaskId;

/// Random delays of tasks; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// The mean delay of a task relative to its time, which is also the standard deviation.
    pub mean: f64,
    /// With the same seed, delays are the same.
    pub seed: u64,
}

impl Noise {
    /// The factor of a task's time, a function of the seed, the rank and the task: the largest of `ranks` independent
    /// factors, found by inverting their distribution, (1 - exp(-E))^ranks.
    pub(super) fn factor(&self, rank: usize, task: TaskId, ranks: usize) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        let seed = [self.seed as u32, (self.seed >> 32) as u32];
        let [high, low, ..] = philox4x32_10([task as u32, (task >> 32) as u32, rank as u32, 0], seed);
        // 52 bits, so that neither 0 nor 1 results.
        let uniform = ((u64::from(high) << 20 | u64::from(low) >> 12) as f64 + 0.5) / (1u64 << 52) as f64;
        1.0 - self.mean * (-(uniform.ln() / ranks as f64).exp_m1()).ln()
    }
}

#[cfg(test)]
mod tests;
