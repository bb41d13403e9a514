//! Unit tests of `rma`.

use super::*;

#[test]
fn windows_of_many_ranks_stay_small() {
    assert_eq!([1, 8, 9, 128, 1000].map(slot), [1 << 20, 1 << 20, 896 << 10, 64 << 10, 64 << 10]);
    assert!([2, 9, 100, 128].into_iter().all(|max_ranks| max_ranks * Rma::bytes(max_ranks) <= MAX_NODE_BYTES));
}
