//! Unit tests of `layout`: how many contractions are priced, and what the layouts then cost.

use super::*;
use crate::local_plan::{Caches, Isa, KernelFamily};
use crate::machine::Machine;
use crate::plan::{PathChoice, Plan, PlanOptions};
use crate::tree::Einsums;

const TARGET: Target =
    Target { isa: Isa::Avx2, family: KernelFamily::Own, caches: Caches { l1: 32 << 10, l2: 1 << 20 }, threads: 2 };

/// A ring of tensors with chords, so that each has three neighbours.
fn ring(tensors: usize, chord: usize, extent: usize) -> Tree {
    let mut terms = vec![String::new(); tensors];
    let chords = (0..tensors).filter(|i| i % (2 * chord) < chord).map(|i| (i, (i + chord) % tensors));
    let edges = (0..tensors).map(|i| (i, (i + 1) % tensors)).chain(chords);
    for ((one, other), name) in edges.zip((0x100..).filter_map(char::from_u32)) {
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
    for (tensors, chord, extent) in [(40, 5, 8), (60, 5, 6), (48, 4, 16), (56, 7, 4)] {
        let tree = ring(tensors, chord, extent);
        let [(written, _), (cost, few), (least, many)] = [0.0, 2.0, 1e9].map(|runs| arranged(&tree, runs));
        println!("{tensors} tensors of extent {extent}: {written}, {cost} ({few} prices), {least} ({many} prices)");
        assert!(least <= cost && cost <= written && least < 0.97 * written);
        assert!(few < many);
    }
}

#[test]
fn pricing_follows_what_it_may_save() {
    let tree = ring(56, 7, 4);
    let (written, fewest) = arranged(&tree, 0.0);
    let found = [0.01, 0.1, 1.0, 3.0, 1e6].map(|runs| (runs, arranged(&tree, runs)));
    println!("{written} {fewest} {found:?}");
    for (runs, (cost, priced)) in found {
        // The last order may exceed the limit.
        let most = (PRICING_SHARE * runs * written + FREE_PRICING) / PRICING + 16.0;
        assert!((priced - fewest) as f64 <= most, "{runs} runs: {priced} prices");
        assert!(cost <= written);
    }
    assert!(found.is_sorted_by_key(|(_, (_, priced))| *priced));
}

#[test]
fn runs_do_not_change_small_trees() {
    let tree = ring(14, 7, 8);
    assert!(tree.nodes.len() <= MAX_NODES);
    let target = &TARGET;
    let [none, many] = [0.0, 1e6].map(|runs| arrange(&tree, Dtype::Float32, target, &mut Prices::new(), runs));
    assert_eq!(none, many);
    assert_ne!(none, tree);
}
