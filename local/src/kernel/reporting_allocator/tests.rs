//! Unit tests of `reporting_allocator`.

use super::*;

#[test]
fn refusals_are_taken_inside_only() {
    assert!(!FALLIBLE.get());
    let had = fallible(|| {
        assert!(FALLIBLE.get());
        fallible(|| assert!(FALLIBLE.get()));
        FALLIBLE.get()
    });
    assert!(had && !FALLIBLE.get());
    let panicked = std::panic::catch_unwind(|| fallible(|| panic!("for a test")));
    assert!(panicked.is_err() && !FALLIBLE.get());
}
