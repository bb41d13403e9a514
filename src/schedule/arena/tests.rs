//! Unit tests of `arena`.

use super::*;

fn below(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

#[test]
fn lives_that_meet_are_found() {
    let mut state = 1;
    for _ in 0..200 {
        let mut lifetimes = Lifetimes::default();
        let mut all = Vec::new();
        for buffer in 0..30 {
            let start = below(&mut state, 40);
            let end = if below(&mut state, 10) == 0 { usize::MAX } else { start + below(&mut state, 20) };
            let mut found: Vec<BufferId> = lifetimes.overlapping((start, end)).map(|(buffer, _)| buffer).collect();
            found.sort_unstable();
            let meets = |&(_, lifetime): &(BufferId, (usize, usize))| lifetime.0 <= end && start <= lifetime.1;
            let expected: Vec<BufferId> = all.iter().copied().filter(meets).map(|(buffer, _)| buffer).collect();
            assert_eq!(found, expected);
            lifetimes.insert(&Allocation { buffer, bytes: 64, lifetime: (start, end) });
            all.push((buffer, (start, end)));
        }
    }
}

/// In a chain of thousands of steps, few lifetimes overlap, so a query must visit only a few of them.
#[test]
fn lives_that_are_over_are_not_looked_at() {
    let mut lifetimes = Lifetimes::default();
    for buffer in 0..10_000 {
        let lifetime = (buffer, buffer + 1 + buffer % 3);
        assert!(lifetimes.candidates(lifetime).count() <= 12);
        lifetimes.insert(&Allocation { buffer, bytes: 64, lifetime });
    }
}

#[test]
fn the_smallest_gap_is_taken() {
    let mut state = 1;
    let mut gaps = Gaps::default();
    for _ in 0..2000 {
        let (start, bytes) = (below(&mut state, 500), below(&mut state, 6));
        if below(&mut state, 2) == 0 {
            // Free the range only if it overlaps no gap, because `free` requires this.
            if gaps.starts.iter().all(|(&at, &length)| at + length <= start || start + bytes <= at) {
                gaps.free(start, bytes);
            }
        } else {
            let fitting = gaps.starts.iter().filter(|&(_, &length)| length >= bytes);
            let smallest = fitting.min_by_key(|&(_, &length)| length).map(|(&start, _)| start);
            assert_eq!(gaps.take(bytes), smallest);
        }
        let sizes: BTreeSet<(usize, usize)> = gaps.starts.iter().map(|(&start, &bytes)| (bytes, start)).collect();
        assert_eq!(gaps.sizes, sizes);
        let separate = |(one, other): ((&usize, &usize), (&usize, &usize))| one.0 + one.1 < *other.0;
        assert!(gaps.starts.iter().zip(gaps.starts.iter().skip(1)).all(separate));
    }
}
