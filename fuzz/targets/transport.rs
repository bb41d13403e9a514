//! Fuzzes the value of `--transport`, which is the name of a transport or a rate.
#![no_main]

use einsum_dist_cli::start::{Link, transport};
use einsum_dist_fuzz::{check, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| check(input, || {
    match transport(&text(input)) {
        Ok(Link::Throttled(rate)) => assert!(rate >= 1.0 && rate.is_finite(), "{rate} bytes a second"),
        Ok(Link::Transport(_)) => {}
        Err(failure) => assert!(failure.code() == 2 && !failure.message().is_empty()),
    }
}));
