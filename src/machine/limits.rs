//! Checks that a machine's numbers are in range.
//!
//! Guarantee: products of checked numbers do not overflow, rates and times are finite, and a list with an entry per
//! rank or worker fits into a laptop's memory.

use super::Machine;

/// Maximum ranks: plans and reports process every rank, in less than a microsecond each.
pub const MAX_RANKS: usize = 1 << 20;

/// Maximum compute threads per rank.
pub const MAX_WORKERS: usize = 1 << 16;

/// Operations or bytes per second.
const MIN_RATE: f64 = 1e-3;
const MAX_RATE: f64 = 1e24;

const MAX_SECONDS: f64 = 1e9;

/// For dimensionless factors.
const MAX_FACTOR: f64 = 1e9;

impl Machine {
    /// Checks for 1 to [`MAX_RANKS`] ranks, 1 to [`MAX_WORKERS`] workers each, and plausible rates and times.
    ///
    /// # Errors
    /// If a number is out of range; the message names the first and its range.
    pub fn check(&self) -> Result<(), String> {
        let counts = [
            ("ranks", self.ranks, MAX_RANKS),
            ("workers", self.workers, MAX_WORKERS),
            ("ranks_per_node", self.ranks_per_node, usize::MAX),
        ];
        for (name, count, most) in counts {
            if count == 0 && most == usize::MAX {
                return Err(format!("{name} is 0, and must be above 0"));
            }
            if !(1..=most).contains(&count) {
                return Err(format!("{name} is {count}, and must be from 1 to {most}"));
            }
        }
        let &Machine { flops, memory_bandwidth, link_bandwidth, node_bandwidth, .. } = self;
        let &Machine { link_latency, node_latency, startup_seconds, sync_overhead, solo_speedup, interference, .. } =
            self;
        let numbers = [
            ("flops", flops, MIN_RATE, MAX_RATE),
            ("memory_bandwidth", memory_bandwidth, MIN_RATE, MAX_RATE),
            ("new_memory_bandwidth", self.new_memory_bandwidth, MIN_RATE, MAX_RATE),
            ("link_bandwidth", link_bandwidth, MIN_RATE, MAX_RATE),
            ("node_bandwidth", node_bandwidth, MIN_RATE, MAX_RATE),
            ("node_link_bandwidth", self.node_link_bandwidth.unwrap_or(1.0), MIN_RATE, MAX_RATE),
            ("bisection_bandwidth", self.bisection_bandwidth.unwrap_or(1.0), MIN_RATE, MAX_RATE),
            ("link_latency", link_latency, 0.0, MAX_SECONDS),
            ("node_latency", node_latency, 0.0, MAX_SECONDS),
            ("start", startup_seconds, 0.0, MAX_SECONDS),
            ("first_run_seconds", self.first_run_seconds, 0.0, MAX_SECONDS),
            ("sync_overhead", sync_overhead, 0.0, MAX_SECONDS),
            ("solo_speedup", solo_speedup, 1.0, MAX_FACTOR),
            ("interference", interference, 0.0, MAX_FACTOR),
        ];
        for (name, number, least, most) in numbers {
            // Also rejects NaN.
            if !(least..=most).contains(&number) {
                return Err(format!("{name} is {number:?}, and must be from {least:?} to {most:?}"));
            }
        }
        let lists = [
            ("block_rates", "sides", &self.block_rates, MAX_FACTOR),
            ("copy_rates", "bytes", &self.copy_rates, MAX_RATE),
        ];
        for (name, sizes, rates, most) in lists {
            let possible = |[size, rate]: &[f64; 2]| {
                (f64::MIN_POSITIVE..=most).contains(size) && (MIN_RATE..=MAX_RATE).contains(rate)
            };
            if !rates.iter().all(possible) || !rates.is_sorted_by(|a, b| a[0] < b[0]) {
                return Err(format!(
                    "{name} are {sizes} in ascending order, each with its rate, all above 0: {sizes} up to {most:?}, rates \
                     from {MIN_RATE:?} to {MAX_RATE:?}"
                ));
            }
        }
        if !self.speeds.iter().all(|speed| (1.0 / MAX_FACTOR..=MAX_FACTOR).contains(speed)) {
            return Err(format!("speeds are all above 0, from {:?} to {MAX_FACTOR:?}", 1.0 / MAX_FACTOR));
        }
        Ok(())
    }
}
