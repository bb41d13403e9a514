//! Which dimensions of one kind could be the rows, columns or depth of the inner matrix product.
//!
//! Every non-empty answer is an ordered list of indices, outermost first; the rest of the kind become loops. The list
//! is short on purpose: a contraction with twenty dimensions of extent 2 must not take longer to plan than to run.

use super::Dim;

/// A product of extents from which GEMM runs well, and one from which more gains nothing.
const ENOUGH: [usize; 2] = [64, 512];
/// How many single dimensions are worth a look.
const SINGLES: usize = 2;

/// The candidates for dimensions that occur in the tensors `first` and `second`.
pub(super) fn candidates(dims: &[Dim<3>], first: usize, second: usize) -> Vec<Vec<usize>> {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    let mut add = |list: Vec<usize>| {
        if !lists.contains(&list) {
            lists.push(list);
        }
    };
    for tensor in [first, second] {
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(dims[i].strides[tensor].unsigned_abs()));
        add(order.clone());
        for enough in ENOUGH {
            let mut product = 1usize;
            let keep = order.iter().rev().take_while(|&&i| {
                let wanted = product < enough;
                product = product.saturating_mul(dims[i].extent);
                wanted
            });
            let keep = keep.count();
            add(order[order.len() - keep..].to_vec());
        }
    }
    let mut longest: Vec<usize> = (0..dims.len()).collect();
    longest.sort_by_key(|&i| std::cmp::Reverse(dims[i].extent));
    for &i in longest.iter().take(SINGLES) {
        add(vec![i]);
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dimension_leaves_no_choice() {
        assert_eq!(candidates(&[Dim { extent: 9, strides: [1, 0, 1] }], 0, 2), [vec![0]]);
        assert_eq!(candidates(&[], 0, 2), [Vec::<usize>::new()]);
    }

    #[test]
    fn many_small_dimensions_stay_few_candidates() {
        let dims: Vec<_> = (0..20).map(|i| Dim { extent: 2, strides: [1 << i, 0, 1 << (19 - i)] }).collect();
        let lists = candidates(&dims, 0, 2);
        assert!(lists.len() <= 8);
        assert!(lists.iter().any(|list| list.len() == 20));
    }
}
