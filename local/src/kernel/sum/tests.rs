//! Unit tests of `sum`.

use super::*;

#[test]
fn lines_are_no_more_additions_than_blocks_count() {
    for shortest in [2, 4] {
        for lanes in [shortest, 2 * shortest, 4 * shortest] {
            for reals in 1..10 * CHAINS * lanes {
                let (whole, rest) = (reals / (CHAINS * lanes), reals % (CHAINS * lanes));
                let taken = whole + rest.div_ceil(lanes);
                assert!(taken <= additions(reals, shortest), "{reals} reals in vectors of {lanes}: {taken}");
            }
        }
    }
}
