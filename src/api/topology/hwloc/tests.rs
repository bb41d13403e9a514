//! Unit tests of `hwloc`.

use super::*;
use crate::machine::Synthetic;

/// Parses the text of a topology with this crate and with hwloc.
fn both(text: &str) -> [Topology; 2] {
    let hwloc = Hwloc::builder().from_synthetic(text).unwrap().build().unwrap();
    [text.parse::<Synthetic>().unwrap().topology(), topology(&hwloc)]
}

#[test]
fn a_core_is_of_one_domain() {
    let domain = |number: usize, cores: &[usize]| Domain {
        number,
        socket: 0,
        memory: 0,
        cores: cores.iter().map(|&core| vec![core]).collect(),
    };
    let all = [(4, &[0, 1, 2, 3][..]), (0, &[0, 1]), (1, &[2, 3]), (2, &[4]), (3, &[4])];
    let kept = disjoint(all.map(|(number, cores)| domain(number, cores)).to_vec());
    assert_eq!(kept.iter().map(|domain| domain.number).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn synthetic_topologies_are_those_of_hwloc() {
    for text in [
        "pack:2 numa:1(memory=240GB) l3:1(size=114MiB) l2:72(size=1MiB) l1:1(size=64KiB) core:1 pu:1",
        "pack:2 numa:1(memory=768GB) l3:1(size=36MiB) l2:96(size=2MiB) l1:1(size=64KiB) core:1 pu:1",
        "pack:2 numa:4(memory=64GiB) l3:1(size=32MiB) l2:8(size=1MiB) l1:1(size=32KiB) core:1 pu:2",
    ] {
        let [ours, theirs] = both(text);
        assert_eq!(ours, theirs, "{text}");
    }
    // If a text specifies no cache or memory sizes, hwloc invents them, so sizes are not compared.
    for text in ["pack:2 numa:1 core:72 pu:1", "pack:2 numa:4 core:3 pu:2", "core:1 pu:1", "pack:2 core:2 pu:2"] {
        let [ours, theirs] = both(text);
        let cores =
            |host: &Topology| host.domains.iter().map(|d| (d.number, d.socket, d.cores.clone())).collect::<Vec<_>>();
        assert_eq!(cores(&ours), cores(&theirs), "{text}");
    }
}

/// Tests that placements on topologies from hwloc are the same as on topologies parsed by this crate.
#[test]
fn placements_by_hwloc() {
    for (text, says) in [
        ("pack:2 numa:1 core:72 pu:1", "rank 1: NUMA domain 1, workers on 72-142, communication on 143"),
        ("pack:2 numa:1 core:96 pu:1", "rank 1: NUMA domain 1, workers on 96-190, communication on 191"),
        ("pack:2 numa:4 core:12 pu:1", "rank 1: NUMA domain 1, workers on 12-22, communication on 23"),
    ] {
        let [_, host] = both(text);
        let places = host.place(host.ranks(), host.workers(host.ranks(), true), true).places;
        assert_eq!(crate::machine::listed(&places).nth(1).unwrap(), says);
    }
    // The mask allows three cores of the first domain and one core of the second. Each of the two ranks is assigned
    // two of these cores.
    let [_, host] = both("numa:2 core:4 pu:1");
    let host = host.restricted(&[0, 2, 3, 5]);
    let places = host.place(2, host.workers(2, true), true).places;
    assert_eq!(
        crate::machine::listed(&places).collect::<Vec<_>>(),
        [
            "rank 0: NUMA domain 0, workers on 0, communication on 2",
            "rank 1: NUMA domains 0-1, workers on 3, communication on 5",
        ]
    );
    let [_, one] = both("core:1 pu:1");
    assert_eq!((one.ranks(), one.workers(1, false)), (1, 1));
}
