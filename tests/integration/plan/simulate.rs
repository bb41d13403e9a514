//! Tests plans that are simulated without data. Every task must run once, in order and after its dependencies. Times
//! must agree with values computed by hand.

use std::collections::BTreeMap;

use einsum_dist::algorithm::Residency;
use einsum_dist::plan::AlgorithmName;
use einsum_dist::schedule::{Action, Lane};
use einsum_dist::timeline::Timeline;
use einsum_dist::{Machine, Plan, PlanOptions, Problem};

fn plan(expression: &str, extents: &[(char, usize)], machine: &Machine, algorithm: Option<AlgorithmName>) -> Plan {
    let extent = |label: char| extents.iter().find(|(l, _)| *l == label).unwrap().1;
    let operands = expression.split("->").next().unwrap().replace(['[', ']'], "");
    let shapes: Vec<Vec<usize>> = operands.split(',').map(|term| term.chars().map(extent).collect()).collect();
    let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
    shaped.plan(machine, &PlanOptions::default().algorithm(algorithm)).unwrap()
}

fn product(extent: usize, machine: &Machine, algorithm: AlgorithmName) -> Timeline {
    let extents = ['m', 'n', 'k'].map(|label| (label, extent));
    plan("mk,kn->mn", &extents, machine, Some(algorithm)).simulate().unwrap()
}

#[test]
fn every_task_is_played_once_and_in_order() {
    let extents = [('c', 9), ('m', 40), ('k', 30), ('n', 50)];
    for algorithm in AlgorithmName::ALL {
        for (ranks, interference) in [(1, 0.0), (4, 0.0), (9, 0.0), (4, 1.0), (9, 3.0)] {
            let machine = Machine { link_bandwidth: 1e7, interference, ..Machine::new(ranks, 1) };
            let plan = plan("cmk,ckn->mcn", &extents, &machine, Some(algorithm));
            let simulation = plan.simulate().unwrap();
            let mut by_lane: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
            for span in &simulation.spans {
                by_lane.entry((span.rank, span.activity.lane() as usize)).or_default().push((span.start, span.end));
            }
            for rank in 0..ranks {
                let schedule = plan.schedule(rank);
                for lane in [Lane::Work, Lane::Send, Lane::Recv] {
                    let tasks = schedule.tasks.iter().filter(|task| task.action.lane() == lane).count();
                    let simulated = by_lane.get(&(rank, lane as usize)).cloned().unwrap_or_default();
                    assert_eq!(simulated.len(), tasks, "{} on {ranks}", algorithm.name());
                    assert!(simulated.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{}", algorithm.name());
                    assert!(simulated.iter().all(|&(start, end)| start <= end && end <= simulation.seconds));
                }
                // The receive lane must be busy for the sum of bytes / bandwidth and of one latency per message, plus
                // interference.
                let messages = schedule.tasks.iter().filter(|task| matches!(task.action, Action::Recv { .. })).count();
                let seconds = schedule.bytes_received() as f64 / 1e7 + messages as f64 * machine.link_latency;
                let received = simulation.busy(rank, Lane::Recv);
                let longest = seconds + interference * simulation.busy(rank, Lane::Work);
                let possible = (1.0 - 1e-9) * seconds..=(1.0 + 1e-9) * longest;
                assert!(possible.contains(&received), "{}: {received} of {seconds}", algorithm.name());
            }
        }
    }
}

/// Hidden time costs at most what it does in predicted times ([`Machine::interference`] times the shorter of computing
/// and receiving), and at least half of it.
#[test]
fn computing_and_receiving_slow_each_other_down() {
    let seconds = |link_bandwidth: f64, interference: f64, algorithm| {
        let machine = Machine { link_bandwidth, interference, link_latency: 0.0, ..Machine::new(4, 1) };
        product(1200, &machine, algorithm).seconds
    };
    for algorithm in [AlgorithmName::RingMn, AlgorithmName::RingK] {
        let compute = seconds(1e15, 0.0, algorithm);
        for link_bandwidth in [2e7, 1e8, 5e8] {
            let receive = 3.0 / 4.0 * 1200.0 * 1200.0 * 4.0 / link_bandwidth;
            let (without, with) = (seconds(link_bandwidth, 0.0, algorithm), seconds(link_bandwidth, 0.5, algorithm));
            let costs = (with - without) / compute.min(receive);
            assert!((0.25..=0.55).contains(&costs), "{}, {link_bandwidth}: {costs}", algorithm.name());
        }
    }
}

/// Interference at most doubles the time, also above 1,024 ranks, where one rank of each class is simulated.
#[test]
fn interference_makes_no_plan_faster() {
    let ratio = |ranks: usize| {
        let machine = Machine { interference: 0.0, link_bandwidth: 1e8, link_latency: 0.0, ..Machine::new(ranks, 1) };
        let extents = [('m', 64 * ranks), ('k', 500), ('n', 500)];
        let mut plan = plan("mk,kn->mn", &extents, &machine, Some(AlgorithmName::Summa));
        let without = plan.simulate().unwrap().seconds;
        plan.machine.interference = 1.0;
        plan.simulate().unwrap().seconds / without
    };
    let (all, representatives) = (ratio(1024), ratio(1025));
    assert!((1.0..=2.0).contains(&all) && (1.0..=2.0).contains(&representatives), "{all} {representatives}");
}

#[test]
fn rings_hide_what_they_can() {
    let alone = product(1200, &Machine::new(1, 1), AlgorithmName::Local).seconds;
    // With practically infinite bandwidth, four ranks need little more than a quarter of the time of one rank.
    let fast = Machine { link_bandwidth: 1e15, link_latency: 0.0, ..Machine::new(4, 1) };
    let spread = |algorithm: &AlgorithmName| algorithm.residency() == Residency::Distributed;
    // The algorithm `c` does not apply, because the product has no c dimension.
    let applies = |algorithm: &AlgorithmName| spread(algorithm) && *algorithm != AlgorithmName::BatchParallel;
    for algorithm in AlgorithmName::ALL.into_iter().filter(applies) {
        let seconds = product(1200, &fast, algorithm).seconds;
        assert!(seconds > 0.249 * alone && seconds < 0.4 * alone, "{}: {seconds} of {alone}", algorithm.name());
    }
    // With slow links, a run takes little longer than the transfers of the busiest rank.
    let slow = Machine { link_bandwidth: 1e6, link_latency: 0.0, ..Machine::new(4, 1) };
    let bytes = 3.0 / 4.0 * 1200.0 * 1200.0 * 4.0;
    let seconds = product(1200, &slow, AlgorithmName::RingMn).seconds;
    assert!(seconds >= bytes / 1e6 && seconds < 1.01 * bytes / 1e6, "{seconds}");
}

#[test]
fn machines_of_files_are_as_they_say() {
    for name in ["dual-grace", "dual-graviton", "cluster-512", "turin-200g", "sapphire-rapids-hdr"] {
        let path = format!("{}/../data/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let machine = Machine::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
        assert!(machine.ranks >= 2 && machine.flops > 1e10, "{name}");
    }
    let machine = Machine::from_toml("ranks = 2\nworkers = 72\nlink_bandwidth = 450e9").unwrap();
    assert_eq!((machine.ranks, machine.workers, machine.flops), (2, 72, Machine::default().flops));
    let machine = Machine::from_toml("topology = 'pack:2 numa:1 core:72'").unwrap();
    assert_eq!((machine.ranks, machine.workers), (2, 71));
    for wrong in
        ["bisection_bandwidth = -1", "ranks = 0", "flops = nan", "link_latency = -1", "cores = 3", "ranks = two"]
    {
        assert!(Machine::from_toml(wrong).is_err(), "{wrong}");
    }
}
