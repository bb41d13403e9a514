//! Unit tests of `random`.

use super::*;

/// Tests the generator with the test vectors published with Random123.
#[test]
fn the_generator_is_philox4x32_10() {
    let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
    for (counter, key, want) in [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (pi, [0xa409_3822, 0x299f_31d0], [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
    ] {
        assert_eq!(philox4x32_10(counter, key), want);
    }
}

#[test]
fn every_part_of_the_identity_reaches_the_generator() {
    assert_eq!(words(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let all = [(0, 0, 0), (1, 0, 0), (1 << 32, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1 << 32)];
    for (i, &(s, o, e)) in all.iter().enumerate() {
        for &(t, p, f) in &all[..i] {
            assert_ne!(words(s, o, e), words(t, p, f));
        }
    }
}

#[test]
fn the_ends_of_the_interval() {
    assert_eq!(single(0), -1.0);
    assert_eq!(single(u32::MAX), 1.0 - f32::EPSILON);
    assert_eq!(double(0, 0), -1.0);
    assert_eq!(double(u32::MAX, u32::MAX), 1.0 - f64::EPSILON);
}
