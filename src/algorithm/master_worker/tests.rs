//! Unit tests of `master_worker`.

use super::*;

#[test]
fn parts_are_as_large_as_ranks_are_fast() {
    let parts = |machine: Machine, extent| {
        let ends = ends(&machine, extent);
        (0..machine.ranks).map(|rank| ends.part(extent, rank)).collect::<Vec<_>>()
    };
    assert_eq!(parts(Machine::new(3, 1), 10), [0..4, 4..7, 7..10]);
    assert_eq!(parts(Machine { speeds: vec![1.05, 0.95], ..Machine::new(2, 1) }, 1000), [0..525, 525..1000]);
    assert_eq!(parts(Machine { speeds: vec![1.3, 0.9, 0.8], ..Machine::new(3, 1) }, 0), [0..0, 0..0, 0..0]);
}
