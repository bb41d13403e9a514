//! Unit tests of `host`.

use super::*;

#[test]
fn lists_of_cores() {
    assert_eq!(sharers(Some("0")), 1);
    assert_eq!(sharers(Some("0-1,64")), 3);
    assert_eq!(sharers(Some("nonsense")), 1);
    assert_eq!(sharers(None), 1);
}

#[test]
fn there_are_caches() {
    let target = host();
    assert!(target.caches.l1 >= 4 << 10 && target.caches.l2 >= target.caches.l1 && target.threads > 0);
}
