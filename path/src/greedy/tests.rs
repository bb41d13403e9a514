//! Unit tests of `greedy`.

use super::*;

fn order(tensors: &[&[u32]], output: &[u32], log2: &[f64], ties: u64) -> Vec<[usize; 2]> {
    let tensors: Vec<Vec<u32>> = tensors.iter().map(|labels| labels.to_vec()).collect();
    greedy(Labelled { tensors: &tensors, output, log2 }, GreedyParameters { weight: 0.0, ties, noise: 0.0 }).1
}

#[test]
fn the_smallest_result_first() {
    // The matrices are 2 x 32, 32 x 8 and 8 x 4.
    let log2 = [1.0, 5.0, 3.0, 2.0];
    assert_eq!(order(&[&[0, 1], &[1, 2], &[2, 3]], &[0, 3], &log2, 0), [[0, 1], [2, 3]]);
    // Tensors without common labels are contracted at the end.
    let same = [1.0; 2];
    assert_eq!(order(&[&[0], &[1], &[0], &[]], &[1], &same, 0), [[0, 2], [3, 4], [5, 1]]);
    assert!(order(&[&[0]], &[0], &same, 0).is_empty());
}

#[test]
fn thousands_that_share_a_label() {
    let chain: Vec<Vec<u32>> = (1..5_001).map(|at| vec![0, at, at + 1]).collect();
    let tensors: Vec<&[u32]> = chain.iter().map(Vec::as_slice).collect();
    let order = order(&tensors, &[0], &[1.0; 6000], 0);
    assert_eq!(order.len(), chain.len() - 1);
    // The search must contract neighbours in the chain first, so that no result has more labels than an input tensor.
    let mut labels: Vec<Option<Vec<u32>>> = chain.into_iter().map(Some).collect();
    for pair in order {
        let [one, other] = [pair[0], pair[1]].map(|tensor| labels[tensor].take().unwrap());
        let ends =
            one.iter().chain(&other).filter(|&&label| label > 0 && one.contains(&label) != other.contains(&label));
        let result: Vec<u32> = [0].iter().chain(ends).copied().collect();
        assert!(result.len() <= 3, "{one:?} {other:?}");
        labels.push(Some(result));
    }
}

#[test]
fn ties_have_orders_of_their_own() {
    let ring: Vec<Vec<u32>> = (0..12).map(|at| vec![at, (at + 1) % 12]).collect();
    let ring: Vec<&[u32]> = ring.iter().map(Vec::as_slice).collect();
    let first = |ties| order(&ring, &[], &[1.0; 6000], ties);
    assert_eq!(first(1), first(1));
    assert!((2..9).any(|ties| first(ties) != first(1)));
}
