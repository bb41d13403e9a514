//! Runs random contractions with every algorithm. Results must be correct, schedules must pass the verifier, and the
//! number of received bytes must equal that of the algorithm's formula.

use crate::common::{Case, Rng, on_another_grid};
use einsum_dist::algorithm::{Algorithm, Contraction, Tensor};
use einsum_dist::plan::{AlgorithmName, Source, Value};
use einsum_dist::{Dtype, Machine, Plan, PlanOptions, Problem, World};

/// Number of contractions per algorithm.
const CASES: usize = 400;

/// Plans with the given algorithm. Returns `None` if the algorithm does not apply.
fn plan(case: &Case, ranks: usize, algorithm: AlgorithmName, accumulate: bool) -> Option<Plan> {
    let dtype = if case.f64 { Dtype::Float64 } else { Dtype::Float32 };
    // Cannon's algorithm runs on a square number of ranks. It applies to any number, because the remaining ranks may be
    // idle.
    let idle = true;
    let options = PlanOptions::default().dtype(dtype).algorithm(algorithm).accumulate(accumulate).idle(idle);
    let shapes = [case.shape(&case.left), case.shape(&case.right)];
    Problem::parse(&case.expression()).unwrap().shapes(&shapes).unwrap().plan(&Machine::new(ranks, 1), &options).ok()
}

/// The intervals of blocks that a grid computes without distributions are those of the blocks.
fn assert_grid_knows_blocks(plan: &Plan) {
    for Value { source, .. } in &plan.values {
        let Source::Contract { left, right, algorithm: Algorithm::Grid(grid), .. } = source else { continue };
        for (operand, &id) in [left, right].into_iter().enumerate() {
            let Value { labels, shape, distribution, .. } = &plan.values[id];
            for rank in 0..grid.ranks() {
                let block = distribution.block(shape, rank);
                for (dim, &label) in labels.iter().enumerate() {
                    let stored = block.as_ref().and_then(|block| block.dims()[dim].ranges().first().cloned());
                    let held = grid.held(operand, labels, (label, shape[dim]), rank);
                    assert_eq!(held, stored.unwrap_or(0..0), "operand {operand} on rank {rank}: {}", plan.explain());
                }
            }
        }
    }
}

/// A plan for one contraction, and the indices of `left`, `right` and `out` in the plan's list of values.
struct Tiles<'a> {
    plan: &'a Plan,
    values: [usize; 3],
}

impl<'a> Tiles<'a> {
    fn new(plan: &'a Plan) -> Tiles<'a> {
        let Source::Contract { left, right, .. } = plan.output().source else { panic!("one contraction") };
        Tiles { plan, values: [left, right, plan.values.len() - 1] }
    }

    fn algorithm(&self) -> &'a Algorithm {
        let Source::Contract { algorithm, .. } = &self.plan.output().source else { panic!("one contraction") };
        algorithm
    }

    /// The number of words that `rank` receives, by the algorithm's formula. `None` if the algorithm has no formula.
    fn received(&self, rank: usize) -> Option<u64> {
        let tensor = |node: usize| {
            let Value { labels, shape, distribution, .. } = self.plan.values[node].clone();
            Tensor { node, labels, shape, distribution, buffer: None, window: None }
        };
        let [left, right, out] = self.values.map(tensor);
        let contraction = Contraction { left, right, out, onto: false };
        self.algorithm().words_received(&contraction, rank, self.plan.ranks())
    }
}

fn random_contractions(algorithm: AlgorithmName, seed: u64, ranks: impl Fn(&mut Rng) -> usize) {
    let mut rng = Rng::new(seed);
    let (mut tried, mut filled, mut moved) = (0, 0, 0);
    for number in 0..CASES {
        let case = Case::random(&mut rng);
        let ranks = ranks(&mut rng);
        let accumulate = rng.below(3) == 0;
        let Some(mut plan) = plan(&case, ranks, algorithm, accumulate) else { continue };
        if algorithm == AlgorithmName::Grid && rng.below(4) > 0 {
            on_another_grid(&mut rng, &mut plan);
        }
        assert_grid_knows_blocks(&plan);
        case.check(&World::in_process(ranks), &plan, number as u64, accumulate);
        let tiles = Tiles::new(&plan);
        let received: Vec<u64> = (0..ranks).map(|rank| plan.schedule(rank).bytes_received()).collect();
        for (rank, &planned) in received.iter().enumerate() {
            let words = tiles.received(rank).map(|words| words * plan.dtype.size() as u64);
            assert_eq!(planned, words.unwrap_or(planned), "rank {rank}: {}", plan.explain());
        }
        // Requires that every element of a tensor is stored on exactly one rank.
        for value in &plan.values {
            let blocks = (0..ranks).filter_map(|rank| value.distribution.block(&value.shape, rank));
            let held: usize = blocks.map(|block| block.volume()).sum();
            assert_eq!(held, value.shape.iter().product::<usize>(), "{}", plan.explain());
        }
        tried += 1;
        filled += usize::from(!case.is_empty());
        moved += usize::from(received.iter().any(|&bytes| bytes > 0));
    }
    println!("{}: {tried} cases, {filled} not empty, bytes moved in {moved}", algorithm.name());
    assert!(tried * 4 >= CASES && filled * 10 >= tried * 6, "{}", algorithm.name());
    assert!(algorithm.moves() == "nothing" || moved * 3 >= tried, "{}", algorithm.name());
}

#[test]
fn every_algorithm() {
    for (at, algorithm) in AlgorithmName::ALL.into_iter().enumerate() {
        random_contractions(algorithm, 29 + at as u64, |rng| {
            if algorithm.ranks().allows(3) { 1 + rng.below(12) } else { [1, 2, 4, 6, 9, 11][rng.below(6)] }
        });
    }
}

#[test]
fn cannon_names_the_nearest_square() {
    let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![6, 5], vec![5, 4]]).unwrap();
    let options = PlanOptions::default().algorithm(AlgorithmName::Cannon);
    for (ranks, nearest) in [(2, 1), (3, 4), (8, 9), (12, 9), (13, 16)] {
        let error = shaped.plan(&Machine::new(ranks, 1), &options).unwrap_err().to_string();
        let squares = format!(
            "it needs a square number of ranks, of which {nearest} is the nearest to {ranks}, unless some may be idle"
        );
        assert_eq!(error, format!("algorithm cannon does not apply to `mk,kn->mn`: {squares}"));
    }
}

/// On 8 ranks, a product with m = n = k is cut 2 x 2 x 2. If the memory limit is only slightly larger than the tensors,
/// k must not be cut, because a cut along k needs memory for partial sums of `out`.
#[test]
fn memory_decides_between_two_and_three_dimensions() {
    let cuts = |memory_limit| {
        let options = PlanOptions::default().algorithm(AlgorithmName::Grid).memory_limit(memory_limit);
        let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![256, 256], vec![256, 256]]).unwrap();
        let plan = shaped.plan(&Machine::new(8, 1), &options).unwrap();
        plan.verify().unwrap();
        let tiles = Tiles::new(&plan);
        let cuts = tiles.algorithm().cuts();
        (cuts.len(), cuts.iter().any(|label| !plan.output().labels.contains(label)))
    };
    assert_eq!(cuts(None), (3, true));
    assert!(!cuts(Some(3 * 256 * 256 * 4 / 8 * 3 / 2)).1);
}
