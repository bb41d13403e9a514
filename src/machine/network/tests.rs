//! Unit tests of `network`.

use std::collections::HashMap;

use super::*;

fn machine(ranks: usize, ranks_per_node: usize) -> Machine {
    let shared = Machine { node_link_bandwidth: Some(24.0), bisection_bandwidth: Some(48.0), ..Machine::default() };
    Machine { ranks, ranks_per_node, link_bandwidth: 20.0, node_bandwidth: 1e3, ..shared }
}

/// Counts the transfers on every shared link if each rank sends to the rank at this distance.
fn counted(machine: &Machine, distance: i64) -> HashMap<usize, usize> {
    let mut counts = HashMap::new();
    for from in 0..machine.ranks as i64 {
        if (0..machine.ranks as i64).contains(&(from + distance)) {
            for shared in machine.shared_links(from as usize, (from + distance) as usize) {
                *counts.entry(shared.number).or_default() += 1;
            }
        }
    }
    counts
}

#[test]
fn transfers_at_a_distance_are_counted() {
    for (ranks, per_node) in [(1, 1), (6, 1), (7, 1), (16, 4), (15, 4), (18, 4), (40, 3), (5, 8)] {
        let machine = machine(ranks, per_node);
        for distance in 1 - ranks as i64..ranks as i64 {
            let counts = counted(&machine, distance);
            for from in 0..ranks {
                let Some(to) = from.checked_add_signed(distance as isize).filter(|&to| to < ranks) else { continue };
                for SharedLink { number, transfers, .. } in machine.shared_links(from, to) {
                    assert_eq!(transfers, counts[&number], "{ranks} {per_node}: {from} to {to}");
                }
                assert_eq!(machine.busy_link(from, to), machine.busy_link(to, from));
            }
        }
    }
}

#[test]
fn transfers_at_a_distance_have_equal_shares() {
    let machine = machine(16, 4);
    let link = |from, to| machine.busy_link(from, to).bandwidth;
    // Within a node; one rank of a node; all of a node; all of a node, and eight ranks across the middle.
    assert_eq!([link(0, 3), link(3, 4), link(0, 4), link(1, 9)], [1e3, 20.0, 6.0, 6.0]);
    let narrow = Machine { bisection_bandwidth: Some(16.0), ..machine.clone() };
    assert_eq!([(3, 4), (7, 8), (1, 9)].map(|(from, to)| narrow.busy_link(from, to).bandwidth), [20.0, 16.0, 2.0]);
    assert_eq!((machine.busy_bandwidth(), narrow.busy_bandwidth()), (6.0, 2.0));
}

#[test]
fn machines_without_shared_links_have_none() {
    let own = Machine { node_link_bandwidth: None, bisection_bandwidth: None, ..machine(16, 4) };
    assert!(!own.shares_links() && own.shared_links(0, 8).next().is_none());
    assert_eq!((own.busy_link(0, 8), own.busy_bandwidth()), (own.link(0, 8), own.link_bandwidth));
}
