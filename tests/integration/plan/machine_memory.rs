//! Tests plans without a memory limit on machines that have too little memory for a plan without slices.

use crate::common::Rng;
use crate::networks::{lattice, network};
use einsum_dist::{Dtype, KernelChoice, Machine, PathChoice, Plan, PlanOptions, Problem, Shaped};

fn machine(ranks: usize, memory: u64) -> Machine {
    Machine { memory: Some(memory), ..Machine::new(ranks, 1) }
}

/// The kernel packs nothing, so plans need the same on all processors.
fn options() -> PlanOptions {
    PlanOptions::default().dtype(Dtype::Float64).kernel(KernelChoice::Reference)
}

fn peaks(plan: &Plan) -> Vec<u64> {
    (0..plan.ranks()).map(|rank| plan.peak_bytes(rank)).collect()
}

/// A lattice of tensors whose labels have extents from 1 to 5.
fn random_lattice(rng: &mut Rng, sides: &[usize]) -> Shaped {
    let edges = lattice(sides);
    let problem = Problem::parse(&network(sides.iter().product(), &edges)).unwrap();
    let extents: Vec<usize> = edges.iter().map(|_| 1 + rng.below(5)).collect();
    let of = |tensor| edges.iter().zip(&extents).filter(move |((one, other), _)| [*one, *other].contains(&tensor));
    let shapes: Vec<Vec<usize>> =
        (0..sides.iter().product()).map(|tensor| of(tensor).map(|(_, &extent)| extent).collect()).collect();
    problem.shapes(&shapes).unwrap()
}

#[test]
fn slices_are_made_only_if_nothing_else_fits() {
    let mut rng = Rng::new(30);
    let (mut same, mut sliced) = (0, 0);
    for case in 0..12 {
        let shaped = random_lattice(&mut rng, &[4, 5]);
        let ranks = [1, 3][case % 2];
        let path = [PathChoice::Auto, PathChoice::Anneal, PathChoice::Greedy][case % 3].clone();
        let options = options().path(path).slice_groups([None, Some(1)][case / 2 % 2]);
        let whole = shaped.plan(&Machine::new(ranks, 1), &options).unwrap();
        let needed = peaks(&whole).iter().sum::<u64>().div_ceil(ranks as u64);
        for percent in [300, 100, 99, 60, 40] {
            let machine = machine(ranks, needed * percent / 100);
            let plan = shaped.plan(&machine, &options).unwrap();
            let what = format!("case {case}, {percent} % of {needed} bytes on {ranks} ranks");
            if percent >= 100 {
                assert_eq!(plan, whole, "{what}");
                same += 1;
                continue;
            }
            let Some(limit) = plan.memory_limit else {
                assert_eq!(plan.fingerprint(), whole.fingerprint(), "{what}");
                continue;
            };
            assert_eq!(Some(limit), machine.memory_limit(), "{what}");
            assert!(peaks(&plan).iter().all(|&peak| peak <= limit), "{what}");
            plan.verify().unwrap();
            sliced += 1;
        }
    }
    assert!(same == 24 && sliced >= 12, "{same} {sliced}");
}

#[test]
fn other_free_memory_makes_the_same_plan() {
    let limit = |memory| machine(1, memory).memory_limit().unwrap();
    assert_eq!(limit(24_569_196_544), 20 << 30);
    assert_eq!(limit(25_000_000_000), limit(27_000_000_000));
    assert_eq!([0, 1, 8, 100, u64::MAX].map(limit), [0, 0, 7, 80, 6 << 61]);
    for memory in (1..2000).chain((1..2000).map(|n| n << 30)) {
        let limit = limit(memory);
        assert!(limit <= memory && limit as f64 >= (memory / 8 * 7) as f64 * 0.8, "{memory}: {limit}");
    }
}

/// The explicit limit decides alone, and an unknown memory or a result that no slices make smaller changes nothing.
#[test]
fn nothing_changes_where_slices_are_no_help() {
    let shaped = Problem::parse("ab,bc,cd->ad").unwrap().shapes(&[vec![90, 2], vec![2, 3], vec![3, 110]]).unwrap();
    for ranks in [1, 3] {
        let whole = shaped.plan(&Machine::new(ranks, 1), &options()).unwrap();
        for memory in [0, 1, 10_000, 1 << 40] {
            assert_eq!(
                shaped.plan(&machine(ranks, memory), &options()).unwrap(),
                whole,
                "{ranks} ranks, {memory} bytes"
            );
        }
        let limited = options().memory_limit(60_000).in_parts(true);
        let plans =
            [Machine::new(ranks, 1), machine(ranks, 100)].map(|machine| shaped.plan(&machine, &limited).unwrap());
        assert_eq!(plans[0], plans[1]);
    }
}

#[test]
fn two_searches_share_the_time() {
    let shaped = random_lattice(&mut Rng::new(9), &[7, 7]);
    let options = options().path(PathChoice::Anneal).path_seconds(0.1);
    let needed = shaped.plan(&Machine::default(), &options).unwrap().peak_bytes(0);
    for (shift, most) in [(0, 0.101), (1, 0.151), (5, 0.151)] {
        let searched = shaped.searched_tree(&machine(1, needed >> shift), &options).unwrap();
        let spent = searched.records[0].seconds;
        assert!(searched.tree.sliced.is_empty() == (shift == 0) && spent <= most, "{shift}: {spent} s");
        assert!(searched.records[0].found_at <= spent);
    }
}
