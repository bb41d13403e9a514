//! Generates random distributions. The three tensors of a contraction have unrelated grids of any number of ranks, with
//! blocked cuts, cyclic cuts and replicas.
#![allow(dead_code, reason = "every test program uses a part of it")]

use einsum_dist::distribution::{Axis, Cut, Distribution, Owners, Role};
use einsum_dist::plan::FixedDistributions;

use super::{Case, Rng};

impl Case {
    /// Returns random distributions of all three tensors on at most `ranks` ranks.
    pub fn random_distributions(&self, rng: &mut Rng, ranks: usize) -> FixedDistributions {
        let [left, right, out] =
            [&self.left, &self.right, &self.out].map(|labels| random_distribution(rng, &self.shape(labels), ranks));
        FixedDistributions { operands: vec![Some(left), Some(right)], output: Some(out) }
    }
}

/// A random distribution on a grid of at most `ranks` ranks, which need not be all ranks of the world.
fn random_distribution(rng: &mut Rng, shape: &[usize], ranks: usize) -> Distribution {
    let mut axes = Vec::new();
    let mut left = ranks;
    while left > 1 && rng.below(4) > 0 {
        let parts = 1 + rng.below(left);
        left /= parts;
        let role = if shape.is_empty() || rng.below(4) == 0 {
            Role::Replicate
        } else {
            let dim = rng.below(shape.len());
            let how = match rng.below(4) {
                0 => {
                    let block = 1 + rng.below(4);
                    Cut::Cyclic { block, first: 1 + rng.below(block + 1) }
                }
                1 => {
                    let mut at: Vec<usize> = (1..parts).map(|_| rng.below(shape[dim] + 2)).collect();
                    at.sort_unstable();
                    Cut::At(at)
                }
                _ => Cut::Even,
            };
            Role::Cut { dim, how }
        };
        axes.push(Axis { ranks: parts, role });
    }
    let distribution = Distribution::new(axes);
    let places = distribution.places();
    match rng.below(3) {
        0 => distribution.owned_by(Owners::From(rng.below(ranks - places + 1))),
        1 => {
            let mut all: Vec<usize> = (0..ranks).collect();
            rng.shuffle(&mut all);
            distribution.owned_by(Owners::Listed(all[..places].to_vec()))
        }
        _ => distribution,
    }
}
