//! Measures this machine's speed of path searches, to convert `--path-time` to nominal seconds.
//!
//! Invariant: all ranks get rank 0's speed, because they must find the same order.

use std::time::Instant;

use einsum_dist::World;
use einsum_path::{Network, Prepared, Price, Request, Settings, search};

use super::Result;
use super::args::Args;
use super::start::gather;

/// The speed of long searches relative to the short one that is timed.
const LONG_SEARCH: f64 = 0.75;

const TIMED_SECONDS: f64 = 0.03;

/// Nominal seconds of search per second on rank 0; 1 without `--path-time`. Collective.
pub fn shared(world: &World, args: &Args, workers: usize) -> Result<f64> {
    if args.path_time.is_none() {
        return Ok(1.0);
    }
    let speed = if world.is_root() { measured(workers) } else { 1.0 };
    Ok(gather(world, &[speed])?[0][0])
}

/// Times a short search on a ring of tensors with chords.
fn measured(threads: usize) -> f64 {
    const TENSORS: u32 = 150;
    let labels = |at: u32| vec![2 * at, 2 * at + 1, 2 * ((at + 1) % TENSORS), 2 * ((at + 7) % TENSORS) + 1];
    let tensors = (0..TENSORS).map(labels).collect();
    let network = Prepared::new(&Network { tensors, output: Vec::new(), extents: vec![2; 2 * TENSORS as usize] });
    let settings = Settings { price: Price { element: 1.0, step: 0.0 }, limit: f64::INFINITY };
    let request = Request { threads, budget: &|_| TIMED_SECONDS, known: Vec::new(), excess: &|_| 0.0 };
    let started = Instant::now();
    let found = search(&network, settings, request);
    LONG_SEARCH * found.seconds / started.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
}
