//! Unit tests of `choose`.

use super::*;

/// Over all ranks.
fn slowest_of_all(machine: &Machine, [rows, columns]: [usize; 2]) -> [f64; 2] {
    let busy = |from: usize, to: usize| {
        let link = if to > from { machine.busy_link(from, to) } else { machine.link(from, to) };
        link.bandwidth
    };
    let of_rank = |rank: usize| {
        let (row, column) = (rank / columns, rank % columns);
        let (right, down) = (row * columns + (column + 1) % columns, (row + 1) % rows * columns + column);
        [busy(rank, right), busy(rank, down)]
    };
    let all = (0..rows * columns).map(of_rank);
    all.fold([f64::INFINITY; 2], |[a, b], [c, d]| [a.min(c), b.min(d)])
}

#[test]
fn a_few_nodes_have_the_slowest_links() {
    let rates = [None, Some(24.0), Some(3.0)];
    for (ranks, ranks_per_node) in
        (1..=60).chain([96, 100, 144]).flat_map(|ranks| [1, 2, 3, 4, 5, 7, 8, 12, 36].map(|per_node| (ranks, per_node)))
    {
        for (node_link_bandwidth, bisection_bandwidth) in rates.iter().flat_map(|&node| rates.map(|half| (node, half)))
        {
            let machine = Machine {
                ranks,
                ranks_per_node,
                link_bandwidth: 20.0,
                node_bandwidth: 1e3,
                node_link_bandwidth,
                bisection_bandwidth,
                ..Machine::default()
            };
            for rows in (1..=ranks).filter(|rows| ranks % rows == 0) {
                let shape = [rows, ranks / rows];
                let [right, down] = slowest_links(&machine, shape).map(|link| link.bandwidth);
                assert_eq!([right, down], slowest_of_all(&machine, shape), "{machine:?} {shape:?}");
            }
        }
    }
}
