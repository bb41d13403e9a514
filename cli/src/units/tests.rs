//! Unit tests of `units`.

use super::*;

#[test]
fn bytes_have_binary_and_decimal_units() {
    for (text, want) in
        [("512", 512), ("4GiB", 4 << 30), ("1.5 GB", 1_500_000_000), ("100k", 100_000), ("1e9", 1_000_000_000)]
    {
        assert_eq!(parse_bytes(text), Ok(want), "{text}");
    }
    for text in ["", "GB", "4 parsecs", "-1", "1e99", "18446744073709551615k"] {
        assert!(parse_bytes(text).is_err(), "{text}");
    }
}

#[test]
fn four_digits() {
    assert_eq!((bytes(1536.0), bytes(12.0)), ("1.536 kB".to_owned(), "12 B".to_owned()));
    assert_eq!((seconds(0.01234), seconds(12.0)), ("12.34 ms".to_owned(), "12.00 s".to_owned()));
    assert_eq!((seconds(0.0), seconds(2e-12)), ("0 s".to_owned(), "0.002 ns".to_owned()));
}
