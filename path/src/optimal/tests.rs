//! Unit tests of `optimal`.

use super::*;

const STEPS: u64 = 20_000_000;

/// Labels of each tensor, labels of the output, and extents by label.
type Case = (Vec<Vec<u32>>, Vec<u32>, Vec<usize>);

/// Returns a network with three to seven tensors and two to nine labels. Each label is in one to three tensors, and
/// some labels are in the output. Some tensors have no labels, and some networks are not connected.
fn random(seed: u64) -> Case {
    let mut at = 0;
    let mut below = |n: u64| {
        at += 1;
        xxhash_rust::xxh3::xxh3_64_with_seed(&u64::to_le_bytes(at), seed) % n
    };
    let mut tensors = vec![Vec::new(); 3 + below(5) as usize];
    let mut output = Vec::new();
    let mut extents = Vec::new();
    for label in 0..2 + below(8) as u32 {
        extents.push([1, 2, 2, 3, 5, 8][below(6) as usize]);
        for _ in 0..2 + below(5) / 4 {
            let tensor = below(tensors.len() as u64) as usize;
            if !tensors[tensor].contains(&label) {
                tensors[tensor].push(label);
            }
        }
        if below(5) == 0 {
            output.push(label);
        }
    }
    // Removes labels that only one tensor has and the output lacks, because they would be summed before the search.
    for tensor in 0..tensors.len() {
        let others: Vec<u32> =
            tensors.iter().enumerate().filter(|(at, _)| *at != tensor).flat_map(|(_, t)| t.clone()).collect();
        tensors[tensor].retain(|label| others.contains(label) || output.contains(label));
    }
    (tensors, output, extents)
}

fn products((tensors, output, extents): &Case, steps: &[[usize; 2]]) -> f64 {
    let mut live: Vec<Option<Vec<u32>>> = tensors.iter().cloned().map(Some).collect();
    let mut products = 0.0;
    for pair in steps {
        let [one, other] = pair.map(|tensor| live[tensor].take().unwrap());
        let mut both: Vec<u32> = one.into_iter().chain(other).collect();
        both.sort_unstable();
        both.dedup();
        products += both.iter().map(|&label| extents[label as usize] as f64).product::<f64>();
        both.retain(|label| output.contains(label) || live.iter().flatten().any(|labels| labels.contains(label)));
        live.push(Some(both));
    }
    products
}

fn found(case: &Case, steps: u64) -> (Option<Vec<[usize; 2]>>, Proof) {
    let (tensors, output, extents) = case;
    let log2: Vec<f64> = extents.iter().map(|&extent| (extent as f64).log2()).collect();
    let left = |step: usize| if step == 0 { 0 } else { tensors.len() + step - 1 };
    let known: Vec<[usize; 2]> = (1..tensors.len()).map(|right| [left(right - 1), right]).collect();
    optimal(Labelled { tensors, output, log2: &log2 }, products(case, &known).log2(), steps)
}

/// Returns the minimum cost by brute force, over all splits of all sets into two.
fn least((tensors, output, extents): &Case) -> f64 {
    let all = (1usize << tensors.len()) - 1;
    let labels = |set: usize| {
        let of = |inside: bool| {
            let tensors = tensors.iter().enumerate().filter(move |(at, _)| (set >> at & 1 == 1) == inside);
            tensors.flat_map(|(_, labels)| labels.iter().copied())
        };
        let outside: Vec<u32> = of(false).chain(output.iter().copied()).collect();
        of(true).filter(|label| outside.contains(label)).collect::<std::collections::BTreeSet<u32>>()
    };
    let mut costs = vec![f64::INFINITY; all + 1];
    for set in 1..=all {
        if set.is_power_of_two() {
            costs[set] = 0.0;
            continue;
        }
        let mut part = (set - 1) & set;
        while part > 0 {
            let rest = set & !part;
            let both = labels(part).union(&labels(rest)).map(|&l| extents[l as usize] as f64).product::<f64>();
            costs[set] = costs[set].min(costs[part] + costs[rest] + both);
            part = (part - 1) & set;
        }
    }
    costs[all]
}

#[test]
fn no_order_is_cheaper() {
    for seed in 0..200 {
        let case = random(seed);
        let (order, proof) = found(&case, STEPS);
        assert_eq!(proof, Proof::Optimal, "{case:?}");
        let (least, found) = (least(&case), order.map_or(f64::INFINITY, |order| products(&case, &order)));
        assert!((found - least).abs() <= 1e-6 * least, "{found} instead of {least}: {case:?}");
    }
}

#[test]
fn rings_and_lattices_take_few_steps() {
    let ring: Vec<Vec<u32>> = (0..40).map(|at| vec![at, (at + 1) % 40]).collect();
    let (order, proof) = found(&(ring, Vec::new(), vec![3; 40]), STEPS);
    assert!(matches!(proof, Proof::Optimal | Proof::OptimalConnected) && order.is_some_and(|o| o.len() == 39));
    // More than 64 tensors need more than one word per set.
    let chain: Vec<Vec<u32>> = (0..70).map(|at| vec![at, at + 1]).collect();
    let (order, proof) = found(&(chain, vec![0, 70], vec![2; 71]), STEPS);
    assert!(matches!(proof, Proof::Optimal | Proof::OptimalConnected) && order.is_some_and(|o| o.len() == 69));
}

#[test]
fn a_limit_of_steps_ends_the_search() {
    let label = |one: u32, other: u32| if one < other { one * 16 + other } else { other * 16 + one };
    let all: Vec<Vec<u32>> =
        (0..16).map(|one| (0..16).filter(|other| *other != one).map(|other| label(one, other)).collect()).collect();
    assert_eq!(found(&(all, Vec::new(), vec![2; 256]), 10_000), (None, Proof::Steps));
}
