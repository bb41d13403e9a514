//! Gathers numbers from all processes, unrounded, in the order of the processes.

use einsum_dist::World;

use super::Result;

/// Collective.
pub fn gather(world: &World, mine: &[f64]) -> Result<Vec<Vec<f64>>> {
    let bytes: Vec<u8> = mine.iter().flat_map(|number| number.to_le_bytes()).collect();
    let numbers = |bytes: &Vec<u8>| bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Ok(world.all_gather(&bytes)?.iter().map(numbers).collect())
}
