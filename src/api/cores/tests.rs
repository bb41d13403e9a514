//! Tests of what counts as a crowded host.

use super::{Load, MAX_THREADS_PER_CORE, load};

fn crowded(processes: &[Load]) -> bool {
    super::crowded(processes, MAX_THREADS_PER_CORE)
}

#[test]
fn hosts_are_crowded_by_the_threads_of_all_their_processes() {
    let process = |host: &str, threads: usize, cpus: &[usize]| (host.to_owned(), threads, cpus.to_vec());
    let many = |host: &str, processes: usize| vec![process(host, 1, &[0, 1]); processes];
    assert!(!crowded(&many("a", 8)) && crowded(&many("a", 9)));
    assert!(!crowded(&[many("a", 8), many("b", 8)].concat()));
    assert!(crowded(&[many("a", 1), many("b", 9)].concat()));
    // Each of 72 processes is bound to a core of its own.
    let bound: Vec<_> = (0..72).map(|core| process("a", 1, &[core])).collect();
    assert!(!crowded(&bound));
    assert!(crowded(&[process("a", 5, &[])]) && !crowded(&[process("a", 4, &[])]));
    assert!(!crowded(&[load(1)]));
    assert!(super::crowded(&many("a", 3), 1) && !super::crowded(&many("a", 2), 1));
}
