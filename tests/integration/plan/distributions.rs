//! Tests random contractions on 1 to 12 ranks whose three tensors have arbitrary distributions, including misaligned
//! and replicated ones. The tests check results, verify schedules and compare transferred bytes. For `slicing`, the
//! tests count the bytes independently of the schedule.
//!
//! By default, each contraction runs with one algorithm. With `EINSUM_DIST_ALL_ALGORITHMS=1`, it runs with every
//! algorithm that applies.

use crate::common::{Balance, Case, Rng};
use einsum_dist::algorithm::{Algorithm, Slicing, Stationary};
use einsum_dist::distribution::{Axis, Cut, Distribution, Role};
use einsum_dist::plan::{AlgorithmName, FixedDistributions, Source};
use einsum_dist::{Machine, Plan, PlanOptions, Problem, World};

/// Number of cases for `slicing`, and number of cases for all algorithms.
const CASES: [usize; 2] = [1000, 4000];

/// Counts the elements that ranks must receive. The count is based on one set of indices per dimension and on the
/// distributions of the tensors. The only fact that the count takes from the plan is which tensor is stationary.
struct TransferCount<'a> {
    case: &'a Case,
    ranks: usize,
    distributions: [&'a Distribution; 3],
    stationary: Stationary,
}

/// For each label, whether each index belongs to the set.
type Sets = Vec<Vec<bool>>;

impl<'a> TransferCount<'a> {
    fn new(case: &'a Case, plan: &'a Plan) -> TransferCount<'a> {
        let Source::Contract { algorithm: Algorithm::Slicing(Slicing { stationary, .. }), .. } = plan.output().source
        else {
            panic!("one contraction by slicing")
        };
        let distributions = [plan.operand(0), plan.operand(1), plan.output()].map(|value| &value.distribution);
        TransferCount { case, ranks: plan.ranks(), distributions, stationary }
    }

    fn labels(&self, tensor: usize) -> &[usize] {
        [&self.case.left, &self.case.right, &self.case.out][tensor]
    }

    fn stays(&self) -> usize {
        [Stationary::Left, Stationary::Right, Stationary::Out].iter().position(|&s| s == self.stationary).unwrap()
    }

    /// The indices of a rank's block. Contains all indices of labels that the tensor does not have.
    fn block(&self, tensor: usize, rank: usize) -> Option<Sets> {
        let region = self.distributions[tensor].block(&self.case.shape(self.labels(tensor)), rank)?;
        let mut sets: Sets = self.case.extents.iter().map(|&extent| vec![true; extent]).collect();
        for (&label, dim) in self.labels(tensor).iter().zip(region.dims()) {
            sets[label].iter_mut().enumerate().for_each(|(index, holds)| {
                *holds = dim.ranges().iter().any(|range| range.contains(&index));
            });
        }
        Some(sets)
    }

    /// The part of the index space that a rank contracts. Ranks with replicas of one block of the stationary tensor
    /// divide the work on this block along the longest dimension that the tensor lacks. If the tensor lacks no
    /// dimension, they divide it along the longest dimension of the contraction.
    fn share(&self, rank: usize) -> Option<Sets> {
        let stays = self.stays();
        let mut sets = self.block(stays, rank)?;
        let (replicas, number) = (self.distributions[stays].replicas(), self.distributions[stays].replica(rank)?);
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

    /// Number of elements of a tensor whose indices belong to both `a` and `b`.
    fn common(&self, tensor: usize, a: &Sets, b: &Sets) -> u64 {
        let both = |&label: &usize| a[label].iter().zip(&b[label]).filter(|(a, b)| **a && **b).count() as u64;
        self.labels(tensor).iter().map(both).product()
    }

    /// Number of elements that a rank must receive.
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
        let out = self.distributions[2];
        if let Some(block) = self.block(2, rank) {
            for maker in (0..self.ranks).filter(|&maker| stays != 2 && maker != rank) {
                let Some(share) = self.share(maker) else { continue };
                if share.iter().all(|set| set.contains(&true)) && out.replica_for(rank, maker) == Some(rank) {
                    received += self.common(2, &share, &block);
                }
            }
            // Replicas are summed by an all-reduce. Each rank first receives the partial sums for its own part of the
            // block from the other ranks, and then the finished parts of these ranks.
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

    /// Whether `share`, the part of the index space that a rank contracts, is empty along a dimension that the
    /// stationary tensor lacks. If so, the contraction is not divided into any chunks, and no operand is transferred.
    fn lacking(&self, stays: usize, share: &Sets) -> bool {
        (0..share.len()).any(|label| !self.labels(stays).contains(&label) && !share[label].contains(&true))
    }
}

#[test]
fn tensors_that_lie_anyhow() {
    let mut rng = Rng::new(5);
    let (mut filled, mut moved) = (0, 0);
    for number in 0..CASES[0] {
        let case = Case::random(&mut rng);
        let ranks = 1 + rng.below(12);
        let fixed = case.random_distributions(&mut rng, ranks);
        let accumulate = rng.below(3) == 0;
        let plan = case.plan_fixed(ranks, AlgorithmName::Slicing, &fixed, false).expect("slicing always applies");
        assert_distributions(&plan, &fixed);
        let world = World::in_process(ranks);
        case.check(&world, &plan, number as u64, accumulate);
        let count = TransferCount::new(&case, &plan);
        let received: Vec<u64> = (0..ranks).map(|rank| plan.schedule(rank).bytes_received()).collect();
        for (rank, &planned) in received.iter().enumerate() {
            assert_eq!(planned, count.received(rank) * plan.dtype.size() as u64, "rank {rank}: {}", plan.explain());
        }
        filled += usize::from(!case.is_empty());
        moved += usize::from(received.iter().any(|&bytes| bytes > 0));
    }
    println!("{filled} of {} not empty, bytes moved in {moved}", CASES[0]);
    assert!(filled * 10 >= CASES[0] * 7 && moved * 2 >= CASES[0]);
}

/// Requires that operands and result have the prescribed distributions. The plan may choose the steps in between.
fn assert_distributions(plan: &Plan, fixed: &FixedDistributions) {
    let planned = [plan.operand(0), plan.operand(1), plan.output()].map(|value| Some(&value.distribution));
    assert_eq!(planned, [fixed.operands[0].as_ref(), fixed.operands[1].as_ref(), fixed.output.as_ref()]);
}

#[test]
fn every_algorithm_from_anywhere_to_anywhere() {
    let all = std::env::var_os("EINSUM_DIST_ALL_ALGORITHMS").is_some();
    let mut rng = Rng::new(71);
    let mut balance = Balance::default();
    for number in 0..CASES[1] {
        let case = Case::random(&mut rng);
        // Square numbers are more frequent, because `cannon` applies only to square numbers of ranks.
        let ranks = if rng.below(4) == 0 { [1, 4, 9][rng.below(3)] } else { 1 + rng.below(12) };
        let fixed = case.random_distributions(&mut rng, ranks);
        let accumulate = rng.below(3) == 0;
        // The plan either accumulates onto the output or overwrites it. If the plan overwrites but the run accumulates,
        // the run compiles a second plan, which accumulates.
        let planned = accumulate && rng.below(2) == 0;
        let plan = |algorithm| case.plan_fixed(ranks, algorithm, &fixed, planned);
        let among = AlgorithmName::ALL.chunks(if all { 1 } else { AlgorithmName::ALL.len() });
        for plan in among.filter_map(|among| balance.plan(among, !case.is_empty(), plan)) {
            assert_distributions(&plan, &fixed);
            case.check(&World::in_process(ranks), &plan, number as u64, accumulate);
        }
    }
    println!("{balance}");
    assert!(balance.filled.iter().sum::<usize>() * 10 >= balance.ran.iter().sum::<usize>() * 7, "{balance}");
    assert!(balance.filled.iter().all(|&filled| filled * 16 >= CASES[1]), "{balance}");
}

#[test]
fn ranks_are_renumbered_to_suit_a_prescribed_result() {
    let bytes = |cuts: [(usize, usize); 2]| {
        let axes = cuts.map(|(dim, ranks)| Axis { ranks, role: Role::Cut { dim, how: Cut::Even } });
        let output = Some(Distribution::new(axes.to_vec()));
        let fixed = FixedDistributions { output, ..FixedDistributions::default() };
        let options = PlanOptions::default().algorithm(AlgorithmName::Grid).fixed(fixed);
        let shapes = [vec![240, 200], vec![200, 360]];
        let plan =
            Problem::parse("mk,kn->mn").unwrap().shapes(&shapes).unwrap().plan(&Machine::new(6, 1), &options).unwrap();
        for value in &plan.values {
            let Source::Contract { algorithm, .. } = &value.source else { continue };
            let chosen = value.considered.iter().filter(|candidate| candidate.chosen);
            assert_eq!(chosen.map(|c| &c.algorithm).collect::<Vec<_>>(), [algorithm], "{}", plan.explain());
        }
        (0..6).map(|rank| plan.schedule(rank).bytes_received()).sum::<u64>()
    };
    assert_eq!(bytes([(0, 2), (1, 3)]), bytes([(1, 3), (0, 2)]));
}
