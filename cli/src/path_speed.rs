//! Measures how fast this machine searches for contraction orders, to convert `--path-time` from seconds to nominal
//! seconds.
//!
//! Invariant: all ranks get the speed of rank 0, because they must find the same order.

use std::time::Instant;

use einsum_dist::World;
use einsum_path::{Network, Prepared, Price, Request, Settings, search};

use super::Result;
use super::args::Args;

/// Nominal seconds of the search that is timed.
const TIMED_SECONDS: f64 = 0.03;

/// Returns the number of nominal seconds of search that rank 0 makes in one second; 1 without `--path-time`. Collective.
///
/// # Errors
/// If the ranks cannot communicate.
pub fn shared(world: &World, args: &Args, workers: usize) -> Result<f64> {
    if args.path_time.is_none() {
        return Ok(1.0);
    }
    let speed = if world.is_root() { measured(workers) } else { 1.0 };
    let all = world.all_gather(&speed.to_le_bytes())?;
    let first = all.first().and_then(|bytes| bytes.as_slice().try_into().ok());
    Ok(first.map_or(1.0, f64::from_le_bytes))
}

/// Times a short search for a lattice of 8 x 8 x 3 tensors.
fn measured(threads: usize) -> f64 {
    const SHAPE: [u32; 3] = [8, 8, 3];
    let at = |place: [u32; 3]| (place[0] * SHAPE[1] + place[1]) * SHAPE[2] + place[2];
    let places = (0..SHAPE[0]).flat_map(|x| (0..SHAPE[1]).flat_map(move |y| (0..SHAPE[2]).map(move |z| [x, y, z])));
    let labels = |place: [u32; 3]| {
        let along = (0..3).flat_map(|axis| {
            let mut before = place;
            before[axis] = before[axis].wrapping_sub(1);
            let next = (place[axis] + 1 < SHAPE[axis]).then(|| 3 * at(place) + axis as u32);
            next.into_iter().chain((place[axis] > 0).then(|| 3 * at(before) + axis as u32))
        });
        along.collect::<Vec<u32>>()
    };
    let tensors: Vec<Vec<u32>> = places.map(labels).collect();
    let extents = vec![2; 3 * tensors.len()];
    let network = Prepared::new(&Network { tensors, output: Vec::new(), extents });
    let settings = Settings { price: Price { element: 1.0, step: 0.0 }, limit: f64::INFINITY };
    let request = Request { threads, budget: &|_| TIMED_SECONDS, patience: f64::INFINITY, known: Vec::new() };
    let started = Instant::now();
    let found = search(&network, settings, request);
    found.seconds / started.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
}
