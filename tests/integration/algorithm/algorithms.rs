//! Random contractions by `grid`, `cannon` and `master-worker`: results, proofs, and bytes counted from the extents of
//! tiles.

use crate::common::{Case, Rng, on_another_grid};
use einsum_dist::algorithm::{Algorithm, Grid};
use einsum_dist::dims::Label;
use einsum_dist::distribution::tile_bounds;
use einsum_dist::plan::{AlgorithmName, Source};
use einsum_dist::schedule::collective::{Collective, CollectiveAlgorithm, Pattern};
use einsum_dist::{Dtype, Machine, Options, Plan, Problem, World};

const CASES: usize = 600;

/// A plan, if the algorithm applies.
fn plan(case: &Case, ranks: usize, algorithm: AlgorithmName, accumulate: bool) -> Option<Plan> {
    let dtype = if case.f64 { Dtype::Float64 } else { Dtype::Float32 };
    // Beyond a square some are.
    let idle = true;
    let options = Options { dtype, algorithm: Some(algorithm), accumulate, idle, ..Options::default() };
    let shapes = [case.shape(&case.left), case.shape(&case.right)];
    Problem::parse(&case.expression()).unwrap().shapes(&shapes).unwrap().plan(&Machine::new(ranks, 1), &options).ok()
}

/// One contraction and the tiles that its tensors are cut into.
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

    fn summed(&self, label: Label) -> bool {
        !self.plan.output().labels.contains(&label)
    }

    /// Elements of left, right or out in a tile: `tile` says how many indices of a dimension.
    fn volume(&self, tensor: usize, tile: impl Fn(Label) -> Option<usize>) -> u64 {
        let labels = &self.plan.values[self.values[tensor]].labels;
        labels.iter().map(|&l| tile(l).unwrap_or(self.plan.extents[l.0 as usize]) as u64).product()
    }

    fn held(&self, tensor: usize, rank: usize) -> u64 {
        let value = &self.plan.values[self.values[tensor]];
        value.distribution.block(&value.shape, rank).map_or(0, |block| block.volume()) as u64
    }

    fn tile(&self, label: Label, parts: usize, at: usize) -> usize {
        tile_bounds(self.plan.extents[label.0 as usize], parts, at).len()
    }

    /// What a rank lacks of its tiles of the operands, and its part of out from each of those who sum up the same tile,
    /// if these send it directly.
    fn by_grid(&self, grid: &Grid, rank: usize) -> u64 {
        if rank >= grid.ranks() {
            return 0;
        }
        // Coordinates, the last cut fastest.
        let (mut rest, mut tiles) = (rank, Vec::new());
        for &(label, parts) in grid.cuts.iter().rev() {
            tiles.push((label, self.tile(label, parts, rest % parts)));
            rest /= parts;
        }
        let tile = |label| tiles.iter().find(|(cut, _)| *cut == label).map(|cut| cut.1);
        let operands: u64 = [0, 1].map(|operand| self.volume(operand, tile) - self.held(operand, rank)).iter().sum();
        let summing: usize = grid.cuts.iter().filter(|cut| self.summed(cut.0)).map(|cut| cut.1).product();
        operands
            + match grid.algorithm {
                CollectiveAlgorithm::Direct => self.held(2, rank) * (summing as u64 - 1),
                // What passes by is received, too.
                CollectiveAlgorithm::Ring | CollectiveAlgorithm::Tree => {
                    let group = grid.sharing(&self.plan.output().labels, rank);
                    let me = group.iter().position(|&member| member == rank).unwrap();
                    let pattern = Pattern::new(Collective::ReduceScatter, grid.algorithm, summing);
                    let received = (0..pattern.rounds()).filter_map(|round| pattern.step(me, round).received);
                    let parts = received.flat_map(|message| message.parts.iter());
                    parts.map(|part| self.held(2, group[part])).sum()
                }
            }
    }

    /// All tiles along k of both operands but those of the first step, where these are the rank's own.
    fn by_cannon(&self, [m, n, k]: [Label; 3], side: usize, rank: usize) -> u64 {
        if rank >= side * side {
            return 0;
        }
        let (row, column) = (rank / side, rank % side);
        let steps = |operand: usize, first_is_own: bool| -> u64 {
            let of = |step: usize| {
                let tile = self.tile(k, side, (row + column + step) % side);
                self.volume(operand, |label| match label {
                    _ if label == k => Some(tile),
                    _ if label == m => Some(self.tile(m, side, row)),
                    _ if label == n => Some(self.tile(n, side, column)),
                    _ => None,
                })
            };
            (usize::from(first_is_own)..side).map(of).sum()
        };
        steps(0, row == 0) + steps(1, column == 0)
    }

    /// A worker's part of the operands; all that is not its own part of out for rank 0.
    fn by_master(&self, cut: Label, ends: &[usize], rank: usize) -> u64 {
        let part = |tensor: usize, rank: usize| {
            let start = if rank == 0 { 0 } else { ends[rank - 1] };
            self.volume(tensor, |label| (label == cut).then_some(ends[rank] - start))
        };
        if rank > 0 { part(0, rank) + part(1, rank) } else { (1..ends.len()).map(|worker| part(2, worker)).sum() }
    }

    fn received(&self, rank: usize) -> u64 {
        match self.algorithm() {
            Algorithm::Grid(grid) => self.by_grid(grid, rank),
            &Algorithm::Cannon { m, n, k, side } => self.by_cannon([m, n, k], side, rank),
            Algorithm::MasterWorker { cut, ends } => self.by_master(*cut, ends, rank),
            other => panic!("{other:?} was not asked for"),
        }
    }
}

fn random_contractions(algorithm: AlgorithmName, seed: u64, ranks: impl Fn(&mut Rng) -> usize) {
    let mut rng = Rng::new(seed);
    let (mut tried, mut filled, mut moved, mut summed) = (0, 0, 0, 0);
    for number in 0..CASES {
        let case = Case::random(&mut rng);
        let ranks = ranks(&mut rng);
        let accumulate = rng.below(3) == 0;
        let Some(mut plan) = plan(&case, ranks, algorithm, accumulate) else { continue };
        if algorithm == AlgorithmName::Grid && rng.below(4) > 0 {
            on_another_grid(&mut rng, &mut plan);
        }
        plan.verify().unwrap_or_else(|error| panic!("{error}: {}", plan.explain()));
        case.check(&World::in_process(ranks), &plan, number as u64, accumulate);
        let tiles = Tiles::new(&plan);
        for rank in 0..ranks {
            let planned = plan.schedule(rank).bytes_received();
            assert_eq!(planned, tiles.received(rank) * plan.dtype.size() as u64, "rank {rank}: {}", plan.explain());
        }
        // Every tensor is held once.
        for value in &plan.values {
            let blocks = (0..ranks).filter_map(|rank| value.distribution.block(&value.shape, rank));
            let held: usize = blocks.map(|block| block.volume()).sum();
            assert_eq!(held, value.shape.iter().product::<usize>(), "{}", plan.explain());
        }
        tried += 1;
        filled += usize::from(!case.is_empty());
        moved += usize::from((0..ranks).any(|rank| plan.schedule(rank).bytes_received() > 0));
        summed += usize::from(tiles.algorithm().cuts().iter().any(|&label| tiles.summed(label)));
    }
    println!("{}: {tried} cases, {filled} not empty, bytes moved in {moved}, k cut in {summed}", algorithm.name());
    assert!(tried * 4 >= CASES && filled * 10 >= tried * 6 && moved * 3 >= tried);
    assert!(algorithm == AlgorithmName::MasterWorker || summed * 10 >= tried);
}

#[test]
fn grids() {
    random_contractions(AlgorithmName::Grid, 29, |rng| 1 + rng.below(12));
}

#[test]
fn squares() {
    random_contractions(AlgorithmName::Cannon, 31, |rng| [1, 2, 4, 6, 9, 11][rng.below(6)]);
}

#[test]
fn masters() {
    random_contractions(AlgorithmName::MasterWorker, 37, |rng| 1 + rng.below(7));
}

#[test]
fn cannon_names_the_nearest_square() {
    let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![6, 5], vec![5, 4]]).unwrap();
    let options = Options { algorithm: Some(AlgorithmName::Cannon), ..Options::default() };
    for (ranks, nearest) in [(2, 1), (3, 4), (8, 9), (12, 9), (13, 16)] {
        let error = shaped.plan(&Machine::new(ranks, 1), &options).unwrap_err().to_string();
        let squares = format!(
            "it needs a square number of ranks, of which {nearest} is the nearest to {ranks}, unless some may be idle"
        );
        assert_eq!(error, format!("algorithm cannon does not apply to `mk,kn->mn`: {squares}"));
    }
}

/// A cube on 8 ranks is cut 2 x 2 x 2; with memory for little more than the tensors, out stays where it is.
#[test]
fn memory_decides_between_two_and_three_dimensions() {
    let cuts = |memory_limit| {
        let options = Options { algorithm: Some(AlgorithmName::Grid), memory_limit, ..Options::default() };
        let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![256, 256], vec![256, 256]]).unwrap();
        let plan = shaped.plan(&Machine::new(8, 1), &options).unwrap();
        plan.verify().unwrap();
        let tiles = Tiles::new(&plan);
        let cuts = tiles.algorithm().cuts();
        (cuts.len(), cuts.iter().any(|&label| tiles.summed(label)))
    };
    assert_eq!(cuts(None), (3, true));
    assert!(!cuts(Some(3 * 256 * 256 * 4 / 8 * 3 / 2)).1);
}
