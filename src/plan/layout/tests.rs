//! Unit tests of `layout`: how many contractions are priced, and what the layouts then cost.

use super::*;
use crate::local_plan::{Caches, Isa, KernelFamily};
use crate::machine::Machine;
use crate::plan::{PathChoice, Plan, PlanOptions};
use crate::tree::Einsums;

const TARGET: Target =
    Target { isa: Isa::Avx2, family: KernelFamily::Own, caches: Caches { l1: 32 << 10, l2: 1 << 20 }, threads: 2 };

/// With a chord from each tensor to a random other one.
fn ring(tensors: usize, seed: u64, extent: usize) -> Tree {
    let mut order: Vec<usize> = (0..tensors).collect();
    order.sort_by_key(|&i| xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed));
    let edges =
        (0..tensors).map(|i| [i, (i + 1) % tensors]).chain(order.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    let mut terms = vec![String::new(); tensors];
    for ([one, other], name) in edges.zip((0x100..).filter_map(char::from_u32)) {
        terms[one].push(name);
        terms[other].insert(0, name);
    }
    let expression = einsum_parser::parse(&(terms.join(",") + "->")).unwrap();
    let shapes: Vec<Vec<usize>> = expression.operands().map(|term| vec![extent; term.indices.len()]).collect();
    let einsums = Einsums::new(&expression, &shapes).unwrap();
    let options = PlanOptions::default().path(PathChoice::Greedy);
    Plan::searched_tree(&einsums, &Machine::new(1, 2), &options).unwrap().tree
}

/// The cost of the layouts for this number of runs, and the number of priced contractions.
fn arranged(tree: &Tree, runs: f64) -> (f64, usize) {
    let (dtype, target, mut prices) = (Dtype::Complex64, &TARGET, Prices::new());
    let arranged = arrange(tree, dtype, target, &mut prices, runs);
    let (priced, mut search) = (prices.len(), LayoutSearch { tree, dtype, target, prices: &mut prices });
    ((0..tree.nodes.len()).map(|node| search.cost(&arranged, node)).sum(), priced)
}

#[test]
fn single_changes_find_almost_what_all_combinations_find_with_fewer_prices() {
    for (tensors, seed, extent) in [(110, 1, 2), (130, 2, 2), (120, 6, 2)] {
        let tree = ring(tensors, seed, extent);
        let (written, _) = arranged(&tree, 0.0);
        // All runs take 50 ms, or very long.
        let [(cost, few), (least, many)] = [5e7 / written, 1e9].map(|runs| arranged(&tree, runs));
        let found = format!("{written} ns, {cost} ({few} prices), {least} ({many} prices)");
        assert!(least < 0.97 * written && (0.999 * least..1.01 * least).contains(&cost), "{found}");
        assert!(10 * few < 9 * many, "{found}");
    }
}

#[test]
fn pricing_follows_what_it_may_save() {
    let tree = ring(110, 1, 2);
    let (written, fewest) = arranged(&tree, 0.0);
    let found = [0.1, 1.0, 3.0, 30.0, 1e6].map(|runs| (runs, arranged(&tree, runs)));
    for (runs, (cost, priced)) in found {
        // The last order may exceed the limit.
        let most = (PRICING_SHARE * runs * written + FREE_PRICING) / PRICING + 16.0;
        assert!((priced - fewest) as f64 <= most, "{runs} runs: {priced} prices");
        assert!(cost <= written);
    }
    assert!(found.is_sorted_by_key(|(_, (_, priced))| *priced), "{found:?}");
}

#[test]
fn runs_do_not_change_small_trees() {
    let tree = ring(16, 5, 32);
    assert!(tree.nodes.len() <= MAX_NODES);
    let target = &TARGET;
    let [none, many] = [0.0, 1e6].map(|runs| arrange(&tree, Dtype::Float32, target, &mut Prices::new(), runs));
    assert_eq!(none, many);
}
