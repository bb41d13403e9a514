//! Tests that on machines with several nodes most of the transferred bytes stay within a node.

use einsum_dist::plan::{AlgorithmName, PipelineChoice, Source};
use einsum_dist::schedule::{Action, Schedule};
use einsum_dist::{Machine, Plan, PlanOptions, Problem};

const PER_NODE: usize = 4;

fn machine(nodes: usize) -> Machine {
    Machine {
        ranks_per_node: PER_NODE,
        node_bandwidth: 2e11,
        node_latency: 1e-6,
        link_bandwidth: 2e9,
        // Transfers do not slow computing down.
        interference: 0.0,
        ..Machine::new(nodes * PER_NODE, 1)
    }
}

fn plan(expression: &str, shapes: &[Vec<usize>], machine: &Machine, options: &PlanOptions) -> Plan {
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(machine, options).unwrap()
}

/// Total number of bytes that all ranks receive from other nodes.
fn crossing(plan: &Plan) -> u64 {
    let bytes = |schedule: &Schedule| -> u64 {
        let far = schedule.tasks.iter().filter_map(|task| match &task.action {
            Action::Recv { peer, into } if peer / PER_NODE != schedule.rank / PER_NODE => {
                Some(Schedule::elements(into))
            }
            _ => None,
        });
        far.sum::<u64>() * plan.dtype.size() as u64
    };
    (0..plan.ranks()).map(|rank| bytes(&plan.schedule(rank))).sum()
}

#[test]
fn grids_keep_heavy_traffic_inside_nodes() {
    let options = PlanOptions::default().algorithm(AlgorithmName::Grid);
    let mut fewer = 0;
    let large = [[2048, 2048, 2048], [4096, 512, 1024], [512, 4096, 1024], [512, 1024, 8192], [1500, 2048, 2048]];
    for [m, n, k] in large.into_iter().chain([[3000, 700, 900]]) {
        let shapes = [vec![m, k], vec![k, n]];
        let two = machine(2);
        let flat = Machine { ranks_per_node: 1, ..two.clone() };
        let plans = [&two, &flat].map(|machine| plan("mk,kn->mn", &shapes, machine, &options));
        let [aware, blind] = plans.each_ref().map(crossing);
        assert!(aware <= blind, "{m} {n} {k}: {aware} bytes between nodes, {blind} where all links are alike");
        fewer += usize::from(aware < blind);
        let simulated = plans.map(|plan| Plan { machine: two.clone(), ..plan }.simulate().unwrap().seconds);
        assert!(simulated[0] <= simulated[1] * 1.001, "{simulated:?}");
    }
    assert!(fewer > 0);
}

#[test]
fn groups_of_pipelines_are_whole_nodes() {
    let options = PlanOptions::default().pipeline(PipelineChoice::Of { batches: 8, groups: 3 });
    let shapes = [vec![64, 500], vec![500, 600], vec![600, 700], vec![700, 100]];
    let plan = plan("[[bi,ij->bj],jk->bk],kl->bl", &shapes, &machine(5), &options);
    plan.verify().unwrap();
    for value in &plan.values {
        if let Source::Contract { group: Some(group), .. } = &value.source {
            assert!(group.start % PER_NODE == 0 && group.end % PER_NODE == 0, "{}", plan.explain());
        }
    }
}

#[test]
fn a_part_of_a_machine_has_its_links() {
    let machine = machine(3);
    assert_eq!(machine.part(4..8).link_bandwidth, machine.node_bandwidth);
    assert_eq!(machine.part(4..12).ranks_per_node, PER_NODE);
    let across = machine.part(2..6);
    assert_eq!((across.ranks, across.ranks_per_node, across.link_bandwidth), (4, 1, machine.link_bandwidth));
}
