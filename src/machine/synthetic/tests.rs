//! Unit tests of `synthetic`.

use super::*;

#[test]
fn what_is_wrong_is_said() {
    for (text, says) in [
        ("", "a topology needs cores: `core:4`"),
        ("pack:2", "a topology needs cores: `core:4`"),
        ("core", "`core` is no level with its number: `core:4`"),
        ("core:0", "`core:0` needs a number above 0 behind the colon"),
        ("core:x", "`core:x` needs a number above 0 behind the colon"),
        ("core:2 core:2", "`core` is there twice"),
        ("core:2 numa:2", "`numa` is on the wrong side of `core`"),
        ("pu:2 core:2", "`pu` is on the wrong side of `core`"),
        ("l6:1 core:2", "`l6` is no level of a topology (known: pack, die, group, numa, l1 to l5, core, pu)"),
        ("core:2(size=1)", "`core:2(size=1)`: only `numa:1(memory=240GB)` and `l2:1(size=1MiB)` say more"),
        ("numa:2(size=1) core:2", "`numa:2(size=1)`: only `numa:1(memory=240GB)` and `l2:1(size=1MiB)` say more"),
        ("core:65537", "a host has at most 65536 processing units"),
        ("pack:99999999999 core:99999999999", "a host has at most 65536 processing units"),
        ("pack:4294967296 core:4294967296", "a host has at most 65536 processing units"),
        ("core:18446744073709551616", "`core:18446744073709551616` needs a number above 0 behind the colon"),
        ("numa:513 core:1", "a host has at most 512 NUMA domains"),
        ("pack:4294967296 numa:4294967296 core:1", "a host has at most 512 NUMA domains"),
        (
            "numa:2(memory=2000000GB) core:1",
            "`numa:2(memory=2000000GB)`: `2000000GB` is no size of at most 1 PiB (`240GB`, `1MiB`)",
        ),
    ] {
        assert_eq!(text.parse::<Synthetic>().unwrap_err(), says, "{text}");
    }
}

#[test]
fn levels_may_be_in_any_order_above_cores() {
    let text = "numa:2(memory=1000) pack:2 l3:1(size=2097152) die:2 l2:2(size=1024) L1dCache:1(size=1KiB) Core:1 PU:2";
    let synthetic: Synthetic = text.parse().unwrap();
    let topology = synthetic.topology();
    assert_eq!(
        topology.domains.iter().map(|d| (d.number, d.socket, d.memory)).collect::<Vec<_>>(),
        [(0, 0, 1000), (1, 2, 1000)]
    );
    assert_eq!(topology.domains[1].cores[0], [16, 17]);
    assert_eq!(
        topology.caches.iter().map(|c| (c.level, c.bytes)).collect::<Vec<_>>(),
        [(1, 1024), (2, 1024), (3, 2 << 20)]
    );
    assert_eq!(synthetic.to_string().parse(), Ok(synthetic));
}

#[test]
fn sizes_have_units() {
    let sizes = ["7", "7B", "2kB", "2KiB", "3MiB", "240GB", "1TiB", "x", "3QB"].map(bytes);
    assert_eq!(sizes[..4], [Some(7), Some(7), Some(2000), Some(2048)]);
    assert_eq!(sizes[4..], [Some(3 << 20), Some(240_000_000_000), Some(1 << 40), None, None]);
}
