//! Random contractions whose three tensors lie anyhow, by `slicing`: results, proofs, and bytes counted independently.

mod common;

use common::{Case, Rng};
use einsum_dist::algorithm::{Algorithm, Stationary};
use einsum_dist::dist::{Axis, Cut, Distribution, Owners, Role};
use einsum_dist::plan::{AlgorithmName, Fixed, Source};
use einsum_dist::{Machine, Options, Plan, Problem, World};

const CASES: usize = 1000;

/// A grid of at most so many ranks, chosen among all, that cuts, deals out and replicates.
fn anyhow(rng: &mut Rng, shape: &[usize], ranks: usize) -> Distribution {
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
                0 => Cut::Cyclic { block: 1 + rng.below(4) },
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

fn plan(case: &Case, ranks: usize, fixed: Fixed, accumulate: bool) -> Plan {
    let dtype = if case.f64 { einsum_dist::Dtype::Float64 } else { einsum_dist::Dtype::Float32 };
    let options = Options { dtype, algorithm: Some(AlgorithmName::Slicing), fixed, accumulate, ..Options::default() };
    let shapes = [case.shape(&case.left), case.shape(&case.right)];
    Problem::parse(&case.expression())
        .unwrap()
        .shapes(&shapes)
        .unwrap()
        .plan(&Machine::new(ranks, 1), &options)
        .unwrap()
}

/// Counts what ranks must receive from sets of indices, one dimension at a time, and from where tensors lie; nothing else of
/// the plan is used but which tensor stays.
struct Counted<'a> {
    case: &'a Case,
    ranks: usize,
    lies: [&'a Distribution; 3],
    stationary: Stationary,
}

/// Per label, whether an index belongs to it.
type Sets = Vec<Vec<bool>>;

impl<'a> Counted<'a> {
    fn new(case: &'a Case, plan: &'a Plan) -> Counted<'a> {
        let Source::Contract { algorithm: Algorithm::Slicing { stationary }, .. } = plan.output().source else {
            panic!("one contraction by slicing")
        };
        let lies = [plan.operand(0), plan.operand(1), plan.output()].map(|value| &value.distribution);
        Counted { case, ranks: plan.ranks(), lies, stationary }
    }

    fn labels(&self, tensor: usize) -> &[usize] {
        [&self.case.left, &self.case.right, &self.case.out][tensor]
    }

    fn stays(&self) -> usize {
        [Stationary::Left, Stationary::Right, Stationary::Out].iter().position(|&s| s == self.stationary).unwrap()
    }

    /// The indices of a rank's block; of all where the tensor has no such label.
    fn block(&self, tensor: usize, rank: usize) -> Option<Sets> {
        let region = self.lies[tensor].block(&self.case.shape(self.labels(tensor)), rank)?;
        let mut sets: Sets = self.case.extents.iter().map(|&extent| vec![true; extent]).collect();
        for (&label, dim) in self.labels(tensor).iter().zip(region.dims()) {
            sets[label].iter_mut().enumerate().for_each(|(index, holds)| {
                *holds = dim.ranges().iter().any(|range| range.contains(&index));
            });
        }
        Some(sets)
    }

    /// What a rank multiplies: replicas of what stays share the longest dimension that it lacks, else that it has.
    fn share(&self, rank: usize) -> Option<Sets> {
        let stays = self.stays();
        let mut sets = self.block(stays, rank)?;
        let (replicas, number) = (self.lies[stays].replicas(), self.lies[stays].replica(rank)?);
        let of_tensors: Vec<usize> = (0..3).flat_map(|tensor| self.labels(tensor).to_vec()).collect();
        let longest = |some: &dyn Fn(usize) -> bool| {
            let labels = of_tensors.iter().copied().filter(|&label| some(label));
            labels.min_by_key(|&label| std::cmp::Reverse(self.case.extents[label]))
        };
        match longest(&|label| !self.labels(stays).contains(&label)).or_else(|| longest(&|_| true)) {
            Some(label) => {
                let held: Vec<usize> = (0..sets[label].len()).filter(|&index| sets[label][index]).collect();
                let (size, larger) = (held.len() / replicas, held.len() % replicas);
                let start = number * size + number.min(larger);
                let mine = &held[start..start + size + usize::from(number < larger)];
                (0..sets[label].len()).for_each(|index| sets[label][index] = mine.contains(&index));
                Some(sets)
            }
            None => (number == 0).then_some(sets),
        }
    }

    /// The elements of a tensor in both.
    fn common(&self, tensor: usize, a: &Sets, b: &Sets) -> u64 {
        let both = |&label: &usize| a[label].iter().zip(&b[label]).filter(|(a, b)| **a && **b).count() as u64;
        self.labels(tensor).iter().map(both).product()
    }

    /// Elements that a rank must receive.
    fn received(&self, rank: usize) -> u64 {
        let mut received = 0;
        let stays = self.stays();
        if let Some(share) = self.share(rank) {
            for tensor in (0..2).filter(|&tensor| tensor != stays) {
                let needed = self.common(tensor, &share, &share);
                let nothing_along = share.iter().any(|set| !set.contains(&true)) && self.lacking(stays, &share);
                let has = self.block(tensor, rank).map_or(0, |block| self.common(tensor, &share, &block));
                received += if nothing_along { 0 } else { needed - has };
            }
        }
        let out = self.lies[2];
        if let Some(block) = self.block(2, rank) {
            for maker in (0..self.ranks).filter(|&maker| stays != 2 && maker != rank) {
                let Some(share) = self.share(maker) else { continue };
                if share.iter().all(|set| set.contains(&true)) && out.replica_for(rank, maker) == Some(rank) {
                    received += self.common(2, &share, &block);
                }
            }
            // Replicas: the parts of the others, and from each of these its summand of the own part.
            let (replicas, number) = (out.replicas() as u64, out.replica(rank).unwrap() as u64);
            let extents: Vec<u64> =
                self.labels(2).iter().map(|&l| block[l].iter().filter(|holds| **holds).count() as u64).collect();
            let whole: u64 = extents.iter().product();
            let longest = extents.iter().copied().max().unwrap_or(1);
            let own = longest / replicas + u64::from(number < longest % replicas);
            let own = if whole == 0 { 0 } else { whole / longest * own };
            if replicas > 1 {
                received += own * (replicas - 1) + whole - own;
            }
        }
        received
    }

    /// Whether the share has none of the dimension that what stays lacks: then there is no chunk at all.
    fn lacking(&self, stays: usize, share: &Sets) -> bool {
        (0..share.len()).any(|label| !self.labels(stays).contains(&label) && !share[label].contains(&true))
    }
}

#[test]
fn tensors_that_lie_anyhow() {
    let mut rng = Rng::new(5);
    let (mut filled, mut moved) = (0, 0);
    for number in 0..CASES {
        let case = Case::random(&mut rng);
        let ranks = 1 + rng.below(12);
        let [left, right, out] =
            [&case.left, &case.right, &case.out].map(|labels| anyhow(&mut rng, &case.shape(labels), ranks));
        let fixed = Fixed { operands: vec![Some(left.clone()), Some(right.clone())], output: Some(out.clone()) };
        let accumulate = rng.below(3) == 0;
        let plan = plan(&case, ranks, fixed, false);
        assert_eq!(
            [plan.operand(0), plan.operand(1), plan.output()].map(|value| &value.distribution),
            [&left, &right, &out]
        );
        let world = World::in_process(ranks);
        case.check(&world, &plan, number as u64, accumulate);
        let counted = Counted::new(&case, &plan);
        for rank in 0..ranks {
            let planned = plan.schedule(rank).bytes_received();
            assert_eq!(planned, counted.received(rank) * plan.dtype.size() as u64, "rank {rank}: {}", plan.explain());
        }
        filled += usize::from(!case.is_empty());
        moved += usize::from((0..ranks).any(|rank| plan.schedule(rank).bytes_received() > 0));
    }
    println!("{filled} of {CASES} not empty, bytes moved in {moved}");
    assert!(filled * 10 >= CASES * 7 && moved * 2 >= CASES);
}
