//! Fuzzes the text form of topologies. Asserts that an accepted topology is unchanged after it is printed and parsed
//! again. Creates hosts from small topologies.
#![no_main]

use einsum_dist::machine::Synthetic;
use einsum_dist_fuzz::{check_beyond, text};
use libfuzzer_sys::fuzz_target;

/// Maximum number of processing units of the hosts that are created here. The number is limited because a host has a
/// list for each of its cores.
const MAX_CORES: usize = 2000;

fuzz_target!(|input: &[u8]| check_beyond(input, MAX_CORES * 300, || {
    let text = text(input);
    let Ok(synthetic) = text.parse::<Synthetic>() else { return };
    let printed = synthetic.to_string();
    assert_eq!(printed.parse(), Ok(synthetic.clone()), "{printed}");
    let product = |number: &str| number.split('(').next()?.parse::<usize>().ok();
    let counts = printed.split(' ').filter_map(|level| product(level.split_once(':')?.1));
    let units: usize = counts.product();
    if units <= MAX_CORES {
        let host = synthetic.topology();
        let threads: usize = host.domains.iter().flat_map(|domain| &domain.cores).map(Vec::len).sum();
        assert!(threads == units && host.cores() <= units, "{printed}");
        assert!(!host.to_string().is_empty());
        for ranks in 1..4 {
            assert_eq!(host.place(ranks, 2, ranks > 1).places.len(), ranks);
        }
    }
}));
