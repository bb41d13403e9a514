//! Unit tests of `registry`.

use super::*;

#[test]
fn names_are_distinct() {
    for (at, name) in AlgorithmName::ALL.iter().enumerate() {
        assert_eq!(*name as usize, at);
        assert!(AlgorithmName::ALL[..at].iter().all(|other| other.name() != name.name()), "{}", name.name());
    }
}
