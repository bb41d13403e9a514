//! In which order summands meet in a contraction of a plan: what the verifier holds schedules to.

use super::{Plan, Source};
use crate::algorithm::Contraction;
use crate::distribution::{Intervals, Region};
use crate::schedule::verify::Summand;

/// By rank, where the algorithm has an order of its own; piece by piece where batches follow each other.
pub fn listed(plan: &Plan, id: usize) -> Option<Vec<Vec<Summand>>> {
    let Source::Contract { left, right, algorithm, group, .. } = &plan.values[id].source else { return None };
    let group = group.clone().unwrap_or(0..plan.ranks());
    let mut listed = vec![Vec::new(); plan.ranks()];
    for piece in 0..plan.pieces_of(id) {
        let [left, right, out] = [*left, *right, id].map(|id| plan.tensor(id, piece).relative_to(group.start));
        let window = plan.pieces(id, piece);
        let of_piece = algorithm.order(&Contraction { left, right, out, onto: false }, group.len())?;
        for (all, mut summands) in listed[group.clone()].iter_mut().zip(of_piece) {
            if let Some((dim, range)) = &window {
                summands.iter_mut().for_each(|summand| summand.of = later(&summand.of, *dim, range.start));
            }
            all.append(&mut summands);
        }
    }
    Some(listed)
}

/// The same indices, but for one dimension, along which all come later.
fn later(region: &Region, dim: usize, by: usize) -> Region {
    let mut dims = region.dims().to_vec();
    dims[dim] = Intervals::ascending(dims[dim].ranges().iter().map(|range| range.start + by..range.end + by));
    Region::from(dims)
}
