//! The order in which a contraction of a plan adds its summands, to which the verifier holds schedules.

use super::{Plan, Source};
use crate::algorithm::Contraction;
use crate::distribution::{Intervals, Region};
use crate::schedule::verify::Summand;

/// The summands of value `id` in order, by rank, if its algorithm has an order of its own; in a pipeline, batch by
/// batch.
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

/// Shifts the indices of one dimension of a region by `by`.
fn later(region: &Region, dim: usize, by: usize) -> Region {
    let mut dims = region.dims().to_vec();
    dims[dim] = Intervals::ascending(dims[dim].ranges().iter().map(|range| range.start + by..range.end + by));
    Region::from(dims)
}
