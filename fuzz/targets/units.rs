//! Fuzzes numbers of bytes with units, as in `--memory-limit`. Asserts that an accepted number keeps its value, to four
//! significant digits, when it is written and read again.
#![no_main]

use einsum_dist_cli::units;
use einsum_dist_fuzz::{check, one_line, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| check(input, || {
    match units::parse_bytes(&text(input)) {
        Ok(bytes) => {
            let written = units::bytes(bytes as f64);
            let again = units::parse_bytes(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
            let off = again.abs_diff(bytes) as f64;
            assert!(off <= 1.0 + bytes as f64 / 1000.0, "{bytes} became {written}, which is {again}");
            units::seconds(bytes as f64);
        }
        Err(error) => one_line(&error.replace(text(input).trim(), "")),
    }
}));
