//! Unit tests of `packing`.

use super::*;

#[test]
fn a_repeated_run_allocates_nothing() {
    let footprint = Arc::new(Footprint::default());
    let mut pool = Pool::new(footprint.clone());
    for _ in 0..3 {
        let (small, large) = (pool.take(100).unwrap(), pool.take(1000).unwrap());
        pool.give_back(large);
        pool.give_back(small);
        let only = pool.take(400).unwrap();
        assert_eq!(only.len(), 1000);
        pool.give_back(only);
        assert_eq!((pool.peak(), footprint.live()), (1100, 1100));
    }
}

#[test]
fn a_larger_buffer_replaces_the_largest_idle_one() {
    let footprint = Arc::new(Footprint::default());
    let mut pool = Pool::new(footprint.clone());
    for bytes in [10, 20, 30, 20, 10] {
        let buffer = pool.take(bytes).unwrap();
        pool.give_back(buffer);
    }
    assert_eq!((pool.peak(), footprint.live()), (30, 30));
}
