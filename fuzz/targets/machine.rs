//! Fuzzes the files of `--machine`. Asserts that an accepted machine is unchanged after it is written to a file and
//! read again.
#![no_main]

use einsum_dist::Machine;
use einsum_dist_fuzz::{check_beyond, text};
use libfuzzer_sys::fuzz_target;

/// Number of bytes in memory of the largest host that a file may describe, which has 2^16 cores. A host stores a list
/// for each of its cores.
const MAX_HOST_BYTES: usize = (1 << 16) * 160;

/// Maximum number of ranks, and of workers per rank, for which the target computes the placement of ranks.
const MAX_COMPUTED_SIZE: usize = 64;

fuzz_target!(|input: &[u8]| check_beyond(input, MAX_HOST_BYTES, || {
    let text = text(input);
    let machine = match Machine::from_toml(&text) {
        Ok(machine) => machine,
        Err(error) => return assert!(!error.trim().is_empty()),
    };
    let written = machine.to_toml();
    assert_eq!(Machine::from_toml(&written).as_ref(), Ok(&machine), "{written}");
    assert!(machine.rate(1.0) > 0.0 && machine.rate(1e6) > 0.0 && machine.balance(4) > 0);
    assert!(machine.bandwidth(1.0) > 0.0 && machine.bandwidth(1e9) > 0.0);
    assert_eq!(Machine::from_toml_with(&text, Some(3)).map_or(3, |machine| machine.ranks), 3);
    if machine.ranks <= MAX_COMPUTED_SIZE && machine.workers <= MAX_COMPUTED_SIZE {
        let ranks = machine.placement().map_or(0, |(_, placement)| placement.places.len());
        assert!(ranks <= machine.ranks);
        assert_eq!(machine.part(0..machine.ranks).ranks, machine.ranks);
    }
}));
