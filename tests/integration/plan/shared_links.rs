//! Tests simulated and predicted times on machines whose ranks share the network of a node, or the middle of the network.

use einsum_dist::distribution::{Axis, Cut, Distribution, Owners, Role};
use einsum_dist::plan::AlgorithmName;
use einsum_dist::schedule::Action;
use einsum_dist::timeline::{Span, Timeline};
use einsum_dist::{FixedDistributions, Machine, Plan, PlanOptions, Problem};

const PER_NODE: usize = 4;
const LINK: f64 = 1e9;

/// Transfers between nodes take time; work, latencies and transfers within nodes take practically none.
fn network(ranks: usize) -> Machine {
    Machine {
        ranks_per_node: PER_NODE,
        link_bandwidth: LINK,
        link_latency: 0.0,
        node_bandwidth: 1e18,
        node_latency: 0.0,
        memory_bandwidth: 1e18,
        flops: 1e18,
        ..Machine::new(ranks, 1)
    }
}

fn shared(machine: &Machine, node: Option<f64>, bisection: Option<f64>) -> Machine {
    Machine { node_link_bandwidth: node, bisection_bandwidth: bisection, ..machine.clone() }
}

/// Moves `elements` elements from each rank to rank `to(rank)`.
fn moves(machine: &Machine, elements: usize, to: impl Fn(usize) -> usize) -> Plan {
    let ranks = machine.ranks;
    let rows = Distribution::new(vec![Axis { ranks, role: Role::Cut { dim: 0, how: Cut::Even } }]);
    let target = rows.clone().owned_by(Owners::Listed((0..ranks).map(to).collect()));
    let fixed = FixedDistributions { operands: vec![Some(rows)], output: Some(target) };
    let problem = Problem::parse("ij->ij").unwrap().shapes(&[vec![ranks, elements]]).unwrap();
    problem.plan(machine, &PlanOptions::default().fixed(fixed)).unwrap()
}

/// `None` if the algorithm does not apply.
fn product(machine: &Machine, extents: [usize; 3], algorithm: AlgorithmName) -> Option<Plan> {
    let [m, n, k] = extents;
    let problem = Problem::parse("cmk,ckn->mcn").unwrap().shapes(&[vec![9, m, k], vec![9, k, n]]).unwrap();
    problem.plan(machine, &PlanOptions::default().algorithm(algorithm)).ok()
}

fn on(plan: &Plan, machine: &Machine) -> Timeline {
    Plan { machine: machine.clone(), ..plan.clone() }.simulate().unwrap()
}

#[track_caller]
fn near(got: f64, want: f64) {
    assert!((got / want - 1.0).abs() < 1e-6, "{got} instead of {want}");
}

#[test]
fn ranks_of_a_node_share_its_link() {
    for (ranks, elements) in [(8, 1000), (8, 1003), (12, 501)] {
        let own = network(ranks);
        let plan = moves(&own, elements, |rank| (rank + PER_NODE) % ranks);
        let seconds = (elements * 4) as f64 / LINK;
        near(on(&plan, &own).seconds, seconds);
        near(on(&plan, &shared(&own, Some(LINK), None)).seconds, 4.0 * seconds);
        near(on(&plan, &shared(&own, Some(2.0 * LINK), None)).seconds, 2.0 * seconds);
        near(on(&plan, &shared(&own, Some(4.0 * LINK), None)).seconds, seconds);
        near(on(&plan, &shared(&own, Some(LINK / 2.0), None)).seconds, 8.0 * seconds);
    }
}

#[test]
fn a_node_that_several_nodes_send_to_is_shared_too() {
    // Each of nodes 1 to 4 sends one row to node 0; rank 4 n and rank n exchange places.
    let own = network(20);
    let partner = |rank: usize| match rank {
        1..4 => 4 * rank,
        4 | 8 | 12 => rank / 4,
        other => other,
    };
    let plan = moves(&own, 999, partner);
    let seconds = 999.0 * 4.0 / LINK;
    near(on(&plan, &own).seconds, seconds);
    // Rank 1 exchanges with rank 4, 2 with 8 and 3 with 12: three transfers in each direction of node 0.
    near(on(&plan, &shared(&own, Some(LINK), None)).seconds, 3.0 * seconds);
}

#[test]
fn a_rank_alone_has_the_whole_link() {
    let own = network(8);
    let plan = moves(&own, 1001, |rank| if rank % PER_NODE == 2 { (rank + PER_NODE) % 8 } else { rank });
    near(on(&plan, &shared(&own, Some(LINK), Some(LINK))).seconds, on(&plan, &own).seconds);
}

#[test]
fn the_middle_of_the_network_is_shared_by_what_crosses_it() {
    // Three nodes: the second half has two.
    for (ranks, per_node, crossing) in [(8, 1, 4.0), (7, 1, 3.0), (12, 4, 4.0), (16, 4, 8.0)] {
        let own = Machine { ranks_per_node: per_node, ..network(ranks) };
        let half = ranks.div_ceil(per_node) / 2 * per_node;
        let across = moves(&own, 800, |rank| (rank + half) % ranks);
        let seconds = 3200.0 / LINK;
        // Of an odd number of nodes, some of the second half stay there.
        near(on(&across, &shared(&own, None, Some(LINK))).seconds, crossing * seconds);
        near(on(&across, &shared(&own, None, Some(crossing * LINK))).seconds, seconds);
        if ranks.is_multiple_of(4) {
            let inside = moves(&own, 800, |rank| rank ^ 1);
            near(on(&inside, &shared(&own, None, Some(1e3))).seconds, on(&inside, &own).seconds);
        }
    }
}

/// A schedule's spans, in the same order for all simulations of it.
fn sorted(timeline: Timeline) -> Vec<Span> {
    let mut spans = timeline.spans;
    spans.sort_by_key(|span| (span.rank, span.task));
    spans
}

#[test]
fn wide_links_change_nothing_and_narrow_ones_bound_the_time() {
    let mut played = 0;
    for algorithm in AlgorithmName::ALL {
        for (ranks, extents) in [(4, [40, 50, 30]), (9, [37, 41, 29]), (12, [1, 64, 5]), (6, [0, 3, 4]), (1, [8, 8, 8])]
        {
            let own = Machine { link_bandwidth: 1e7, ranks_per_node: 3, ..Machine::new(ranks, 1) };
            let Some(plan) = product(&own, extents, algorithm) else { continue };
            played += 1;
            let (free, wide) = (on(&plan, &own), on(&plan, &shared(&own, Some(1e22), Some(1e22))));
            near(wide.seconds.max(1e-9), free.seconds.max(1e-9));
            for (one, other) in sorted(free.clone()).iter().zip(&sorted(wide)) {
                let alike = (one.start - other.start).abs() + (one.end - other.end).abs();
                assert!(
                    one.task == other.task && alike <= 1e-9 * free.seconds,
                    "{}: {one:?} {other:?}",
                    algorithm.name()
                );
            }
            let narrow = on(&plan, &shared(&own, Some(1e7), Some(1e7)));
            assert_eq!(narrow.spans.len(), free.spans.len());
            assert!(narrow.seconds >= free.seconds * (1.0 - 1e-9), "{}", algorithm.name());
            let mut out = vec![0u64; ranks.div_ceil(3)];
            for schedule in (0..ranks).map(|rank| plan.schedule(rank)) {
                for task in &schedule.tasks {
                    if let Action::Send { peer, .. } = task.action
                        && peer / 3 != schedule.rank / 3
                    {
                        out[schedule.rank / 3] += schedule.bytes(&task.action);
                    }
                }
            }
            let bound = out.into_iter().max().unwrap_or(0) as f64 / 1e7;
            assert!(narrow.seconds >= bound * (1.0 - 1e-9), "{}: {} below {bound}", algorithm.name(), narrow.seconds);
        }
    }
    assert!(played > 30, "{played}");
}

/// Above 1,024 ranks, only one rank of each class is simulated.
#[test]
fn representatives_share_links_as_all_ranks_do() {
    let times = |ranks: usize| {
        let own = network(ranks);
        [PER_NODE, 1].map(|distance| {
            let plan = moves(&own, 1003, |rank| (rank + distance) % ranks);
            [own.clone(), shared(&own, Some(LINK), None), shared(&own, None, Some(LINK))]
                .map(|machine| on(&plan, &machine).seconds)
        })
    };
    let seconds = 1003.0 * 4.0 / LINK;
    for ranks in [64, 2048] {
        // All four ranks of a node send to the next node, and the two nodes in the middle and at the ends send across
        // it. At distance 1, one rank of each node does.
        for (got, want) in times(ranks).as_flattened().iter().zip([1.0, 4.0, 4.0, 1.0, 1.0, 1.0]) {
            near(*got, want * seconds);
        }
    }
}

#[test]
fn prices_have_the_share_of_each_rank() {
    let options = |algorithm| PlanOptions::default().algorithm(algorithm);
    for algorithm in [AlgorithmName::RingMn, AlgorithmName::RingK, AlgorithmName::Summa, AlgorithmName::Grid] {
        let own = Machine { interference: 0.0, ..network(16) };
        let price = |machine: &Machine| {
            let problem = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![512, 300], vec![300, 700]]).unwrap();
            problem.plan(machine, &options(algorithm)).unwrap().seconds()
        };
        let [free, wide, node, both] = [
            own.clone(),
            shared(&own, Some(4.0 * LINK), Some(16.0 * LINK)),
            shared(&own, Some(LINK / 4.0), None),
            shared(&own, Some(LINK / 4.0), Some(LINK / 16.0)),
        ]
        .map(|machine| price(&machine));
        near(wide, free);
        assert!(free < node && node < both, "{}: {free} {node} {both}", algorithm.name());
    }
}

#[test]
fn a_part_of_a_machine_has_its_part_of_the_network() {
    let machine = shared(&network(16), Some(LINK), Some(8e8));
    let shares = |machine: Machine| (machine.node_link_bandwidth, machine.bisection_bandwidth);
    assert_eq!(shares(machine.part(0..16)), (Some(LINK), Some(8e8)));
    assert_eq!(shares(machine.part(4..12)), (Some(LINK), Some(4e8)));
    assert_eq!(shares(machine.part(4..8)), (None, None));
    // Ranks of two halves of nodes count as nodes, with their share of the link.
    assert_eq!(shares(machine.part(2..6)), (Some(LINK / 4.0), Some(2e8)));
    let text = machine.to_toml();
    assert_eq!(Machine::from_toml(&text).unwrap(), machine);
    assert_eq!(shares(Machine::from_toml_with(&text, Some(32)).unwrap()), (Some(LINK), Some(1.6e9)));
    let unsized_text = "bisection_bandwidth = 8e8";
    assert_eq!(shares(Machine::from_toml_with(unsized_text, Some(32)).unwrap()), (None, Some(8e8)));
    assert!(!network(16).to_toml().contains("bisection"));
}
