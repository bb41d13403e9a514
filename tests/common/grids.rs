//! Replaces grids of ranks by random ones, which the planner would not choose.

use einsum_dist::Plan;
use einsum_dist::algorithm::{Algorithm, Grid, Sharing};
use einsum_dist::dims::Label;
use einsum_dist::plan::Source;
use einsum_dist::schedule::collective::CollectiveAlgorithm;

use super::Rng;

/// Replaces the grid of a contraction by a random one. It can cut a dimension twice, and ranks of a node can forward.
pub fn on_another_grid(rng: &mut Rng, plan: &mut Plan) {
    let last = plan.values.len() - 1;
    let Source::Contract { left, right, ref kinds, .. } = plan.values[last].source else { panic!("one contraction") };
    let mut labels: Vec<Label> = kinds.iter().map(|(label, _)| label).collect();
    rng.shuffle(&mut labels);
    labels.extend(labels.clone().into_iter().take(rng.below(3)));
    let mut free = plan.ranks();
    let mut cuts = Vec::new();
    for label in labels {
        let parts = 1 + rng.below(free.min(4));
        free /= parts;
        cuts.push((label, parts));
    }
    let values = [left, right, last];
    let shared = values.map(|value| {
        let labels = &plan.values[value].labels;
        let mut shared = Vec::new();
        for (at, &(cut, parts)) in cuts.iter().enumerate() {
            if labels.contains(&cut) || labels.is_empty() {
                continue;
            }
            let cut = (cut, cuts[..at].iter().filter(|(label, _)| *label == cut).count());
            let mut along = |ranks| Sharing { cut, along: labels[rng.below(labels.len())], ranks };
            match parts {
                4 => shared.extend([along(2), along(2)]),
                _ => shared.push(along(parts)),
            }
            if rng.below(8) == 0 {
                shared.retain(|sharing| sharing.cut != cut);
            }
        }
        shared
    });
    let (rounds, slots, pieces) = (1 + rng.below(5), 1 + rng.below(3), 1 + rng.below(3));
    let (algorithm, in_place) = (CollectiveAlgorithm::ALL[rng.below(3)], rng.below(2) == 0);
    let inner = rng.below(cuts.len() + 1);
    let stride: usize = cuts[inner..].iter().map(|(_, parts)| parts).product();
    let split = cuts[..inner].last().map_or(1, |(_, parts)| *parts);
    let node = stride
        * if rng.below(2) == 0 { 1 } else { (1..=split).rfind(|part| part < &split && split % part == 0).unwrap_or(1) };
    on_grid(plan, Grid { cuts, node, shared, rounds, slots, pieces, in_place, algorithm });
}

/// Replaces the algorithm of a contraction by a grid.
pub fn on_grid(plan: &mut Plan, grid: Grid) {
    let last = plan.values.len() - 1;
    let Source::Contract { left, right, .. } = plan.values[last].source else { panic!("one contraction") };
    let (values, grid) = ([left, right, last], Algorithm::Grid(Box::new(grid)));
    let labels = values.map(|value| plan.values[value].labels.clone());
    let distributions = grid.distributions(&labels[0], &labels[1], &labels[2], plan.ranks()).unwrap();
    for (value, distribution) in values.into_iter().zip([distributions.left, distributions.right, distributions.out]) {
        plan.values[value].distribution = distribution;
    }
    if let Source::Contract { algorithm, .. } = &mut plan.values[last].source {
        *algorithm = grid;
    }
}
