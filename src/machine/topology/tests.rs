//! Unit tests of `topology`.

use super::*;

#[test]
fn sockets_and_domains_are_counted() {
    let mut host = Topology::flat(&[0, 1]);
    host.domains.push(Domain { number: 8, socket: 1, memory: 0, cores: vec![vec![2, 6], vec![3, 7]] });
    assert_eq!(host.to_string(), "2 sockets, 2 NUMA domains, 4 cores of 6 hardware threads together");
}

#[test]
fn a_mask_leaves_what_it_names() {
    let host = Topology::flat(&[0, 1, 2]);
    assert_eq!(host.restricted(&[2, 0, 5]), Topology::flat(&[0, 2]));
    assert_eq!(host.restricted(&[]).domains, []);
    assert_eq!(Topology::flat(&[0]).to_string(), "1 socket, 1 NUMA domain, 1 core");
}

#[test]
fn a_mask_leaves_parts_of_domains() {
    let host = "numa:2 core:4 pu:1".parse::<crate::machine::Synthetic>().unwrap().topology();
    let left = host.restricted(&[1, 6, 7]);
    assert_eq!(left.domains.iter().map(|domain| domain.cores.len()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(host.restricted(&[5]).domains[0].number, 1);
}
