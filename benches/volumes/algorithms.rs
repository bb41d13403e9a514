//! Prints, for every algorithm, the number of words that the busiest rank receives. The number is counted in the
//! schedules and, for comparison, computed by the algorithm's formula.
//!
//! Command: `cargo bench --bench volumes -- algorithms`.

use einsum_dist::algorithm::{Contraction, Tensor};
use einsum_dist::plan::{AlgorithmName, Source, Value};
use einsum_dist::{Machine, Plan, PlanOptions, Problem};

use super::SHAPES;

/// Numbers of ranks: small numbers, primes, squares, and numbers with many divisors.
const RANKS: [usize; 12] = [2, 3, 4, 6, 7, 8, 9, 12, 16, 31, 36, 64];

/// Plans a product with one algorithm. Returns `None` if the algorithm does not apply.
fn plan([m, n, k]: [usize; 3], ranks: usize, algorithm: AlgorithmName) -> Option<Plan> {
    let options = PlanOptions::default().algorithm(algorithm);
    let shaped = Problem::parse("mk,kn->mn").and_then(|problem| problem.shapes(&[vec![m, k], vec![k, n]]));
    shaped.expect("a product").plan(&Machine::new(ranks, 1), &options).ok()
}

/// The number of words that `rank` receives, by the algorithm's formula. `None` if the algorithm has no formula for
/// this plan.
fn words(plan: &Plan, rank: usize) -> Option<u64> {
    let Source::Contract { left, right, algorithm, .. } = &plan.output().source else { unreachable!("a product") };
    let tensor = |node: usize| {
        let Value { labels, shape, distribution, .. } = plan.values[node].clone();
        Tensor { node, labels, shape, distribution, buffer: None, window: None }
    };
    let [left, right, out] = [*left, *right, plan.values.len() - 1].map(tensor);
    algorithm.words_received(&Contraction { left, right, out, onto: false }, rank, plan.ranks())
}

/// Prints the table.
pub fn table() {
    println!(
        "# words that the busiest rank receives, by its schedule and in closed form (empty: depends on distributions)"
    );
    println!("shape,ranks,algorithm,words,closed form");
    for (name, extents, _) in SHAPES {
        for ranks in RANKS {
            for algorithm in AlgorithmName::ALL {
                let Some(plan) = plan(extents, ranks, algorithm) else { continue };
                let size = plan.dtype.size() as u64;
                let by_schedule = (0..ranks).map(|rank| plan.schedule(rank).bytes_received() / size).max();
                let closed: Option<Vec<u64>> = (0..ranks).map(|rank| words(&plan, rank)).collect();
                let closed = closed.and_then(|words| words.into_iter().max()).map(|words| words.to_string());
                let closed = closed.unwrap_or_default();
                println!("{name},{ranks},{},{},{closed}", algorithm.name(), by_schedule.unwrap_or(0));
            }
        }
    }
}
