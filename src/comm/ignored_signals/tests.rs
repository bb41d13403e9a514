//! Unit tests of `ignored_signals`.

use super::*;

#[test]
fn ignored_signals_are_read_from_the_mask() {
    assert_eq!(masked("Name:\tx\nSigBlk:\t0000000000004001\nSigIgn:\t0000000000001003\nSigCgt:\t0\n"), 0x1003);
    assert_eq!(masked(""), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn the_system_says_the_same() {
    remember();
    let now = masked(&std::fs::read_to_string("/proc/self/status").unwrap());
    for signal in 1..=31 {
        assert_eq!(is_ignored(signal), now >> (signal - 1) & 1 == 1, "{signal}");
    }
}
