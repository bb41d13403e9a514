//! Unit tests of `cost`.

use einsum_dist::Problem;
use einsum_dist::{Machine, PlanOptions};

use super::*;

fn tree(text: &str, shapes: &[Vec<usize>]) -> Tree {
    let shaped = Problem::parse(text).unwrap().shapes(shapes).unwrap();
    shaped.tree(&Machine::default(), &PlanOptions::default()).unwrap()
}

#[test]
fn a_tree_has_fewer_products_than_its_sum() {
    let chain = tree("ab,bc,cd->ad", &[vec![10, 10], vec![10, 10], vec![10, 10]]);
    let along = Cost::of(&chain, Evaluation::AlongTree, &chain.extents);
    let directly = Cost::of(&chain, Evaluation::Directly, &chain.extents);
    assert_eq!((along.products, directly.products), (2000.0, 15_000.0));
    assert_eq!((along.fetched, directly.fetched), (300.0, 300.0));
}

#[test]
fn pieces_fit() {
    let product = tree("mk,kn->mn", &[vec![100, 64], vec![64, 90]]);
    for evaluation in [Evaluation::Directly, Evaluation::AlongTree] {
        let whole = Cost::of(&product, evaluation, &product.extents);
        for most in [1e6, 1e5, 1e4, 1e3] {
            let (sizes, cost) = fit(&product, evaluation, &product.extents, most, f64::INFINITY).unwrap();
            assert!(cost.bytes <= most && cost.products >= whole.products, "{most}: {sizes:?} {cost:?}");
        }
        assert_eq!(fit(&product, evaluation, &product.extents, 100.0, f64::INFINITY), None);
    }
}
