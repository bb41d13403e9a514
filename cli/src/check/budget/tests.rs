//! Unit tests of `budget`.

use einsum_dist::{KernelChoice, Machine, PlanOptions, Problem};

use super::*;

/// Returns the number of operations for checking a chain of eight matrices. The memory limit is `percent` percent of
/// the memory that an unlimited run needs. The first number is for the memory that a plan without a check leaves free,
/// the second for the memory that `plan_beside` leaves free. A number is `None` if even the smallest check needs more
/// memory than is left free.
fn operations(percent: u64) -> [Option<f64>; 2] {
    let text = "[[[[[[ab,bc->ac],cd->ad],de->ae],ef->af],fg->ag],gh->ah],hi->ai";
    let shaped = Problem::parse(text).unwrap().shapes(&vec![vec![256, 256]; 8]).unwrap();
    let machine = Machine::default();
    // The reference packs nothing. The packing buffers of other kernels depend on the caches of this host.
    let options = PlanOptions::default().kernel(KernelChoice::Reference);
    let tree = shaped.tree(&machine, &options).unwrap();
    let within = |memory_limit| shaped.plan_tree(&tree, &machine, &options.clone().memory_limit(memory_limit));
    let limit = within(None).unwrap().peak_bytes(0) * percent / 100;
    let plain = within(Some(limit)).unwrap();
    let (beside, bytes) = plan_beside(&tree, Some(limit), within).unwrap();
    assert_eq!(beside.peak_bytes(0) + bytes, limit);
    [(&plain, limit - plain.peak_bytes(0)), (&beside, bytes)].map(|(plan, bytes)| {
        let limits = Limits::new(plan, &tree);
        Choice::new(plan, &tree, &limits, bytes, 1, 0).strategy().map(|strategy| strategy.operations)
    })
}

#[test]
fn a_slow_check_gets_more_of_the_limit() {
    for percent in [95, 102, 105, 110] {
        let [Some(plain), Some(beside)] = operations(percent) else { panic!("no room for a check in {percent} %") };
        assert!(
            plain > MAX_QUICK_OPERATIONS && (beside == plain || beside < plain / 8.0),
            "{percent} %: {plain:e}, {beside:e}"
        );
    }
    let [Some(plain), Some(beside)] = operations(102) else { panic!("no room for a check") };
    assert!(plain > 1e3 * MAX_QUICK_OPERATIONS && beside < MAX_QUICK_OPERATIONS, "{plain:e}, {beside:e}");
    assert!(matches!(operations(100), [None, Some(_)]));
}

#[test]
fn a_quick_check_takes_nothing_from_the_run() {
    for percent in [120, 150, 200] {
        let [plain, beside] = operations(percent);
        assert_eq!(plain, beside, "{percent} %");
        assert!(beside.is_some_and(|beside| beside < MAX_QUICK_OPERATIONS), "{percent} %");
    }
}
