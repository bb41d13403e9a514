//! Fuzzes the parser for the headers of `.npy` files. Each input is parsed as the beginning of a file, once for each of
//! three file lengths: the length of the input, 2^40 bytes and 2^64 - 1 bytes.
#![no_main]

use std::path::Path;

use einsum_dist::io::npy::read_header_from;
use einsum_dist_fuzz::{check, one_line};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| check(input, || {
    for length in [input.len() as u64, 1 << 40, u64::MAX] {
        match read_header_from(Path::new("a.npy"), input, length) {
            Ok(header) => {
                let bytes = header.file_bytes().expect("a header that was accepted has a length");
                assert!(header.data_offset <= input.len() as u64 && (header.data_offset..=length).contains(&bytes));
            }
            Err(error) => one_line(&error.to_string()),
        }
    }
}));
