//! Tests that contraction orders are reproducible and follow a given path. The orders that a search finds must cost at
//! most as much as the order from left to right and the paths in the data file.

use crate::common::{Rng, trees};
use einsum_dist::plan::PathChoice;
use einsum_dist::{Machine, Plan, PlanOptions, Problem};

fn plan(expression: &str, extent: &dyn Fn(char) -> usize, path: PathChoice) -> Plan {
    let terms = expression.split("->").next().unwrap().split(',');
    let shapes: Vec<Vec<usize>> = terms.map(|term| term.chars().map(extent).collect()).collect();
    let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
    shaped.plan(&Machine::new(1, 1), &PlanOptions::default().path(path).layout(false)).unwrap()
}

/// A random network in which every label is in two or sometimes three tensors, and some labels are in the output.
fn network(rng: &mut Rng, tensors: usize) -> String {
    let mut terms = vec![String::new(); tensors];
    let mut output = String::new();
    for label in ('a'..='z').chain('A'..='Z').take(tensors * 3 / 2) {
        for _ in 0..2 + usize::from(rng.below(8) == 0) {
            let at = rng.below(tensors);
            if !terms[at].contains(label) {
                terms[at].push(label);
            }
        }
        if rng.below(10) == 0 && terms.iter().any(|term| term.contains(label)) {
            output.push(label);
        }
    }
    format!("{}->{output}", terms.join(","))
}

#[test]
fn searches_find_the_same_path_every_time() {
    let mut rng = Rng::new(11);
    for tensors in [3, 5, 9, 14, 25] {
        let expression = network(&mut rng, tensors);
        for choice in [PathChoice::Auto, PathChoice::Greedy, PathChoice::Anneal] {
            let paths: Vec<_> = (0..6).map(|_| plan(&expression, &|_| 2, choice.clone()).path).collect();
            assert!(paths.iter().all(|path| *path == paths[0]), "{choice:?} of {expression}: {paths:?}");
        }
    }
}

/// In these networks, many pairs have the same cost. A search must break ties deterministically.
#[test]
fn ties_are_broken_the_same_way_every_time() {
    let ring = |tensors: usize| {
        let name = |at: usize| format!("a{}", at % tensors);
        (0..tensors).map(|at| format!("[{},{}]", name(at), name(at + 1))).collect::<Vec<_>>().join(",") + "->[a0]"
    };
    let grid = |side: usize| {
        let mut terms = vec![Vec::new(); side * side];
        for at in 0..side * side {
            for (next, edge) in [(at + 1, at % side == side - 1), (at + side, at + side >= side * side)] {
                if !edge {
                    terms[at].push(format!("e{at}_{next}"));
                    terms[next].push(format!("e{at}_{next}"));
                }
            }
        }
        terms.iter().map(|term| format!("[{}]", term.join(","))).collect::<Vec<_>>().join(",") + "->[]"
    };
    let circuit = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/circuit.einsum")).unwrap();
    let same = format!("{}->ij", ["ij"; 12].join(","));
    let star = format!("{}->", ('b'..='m').map(|label| format!("a{label},{label}")).collect::<Vec<_>>().join(","));
    let mut faults = Vec::new();
    for expression in [&ring(4), &ring(6), &ring(24), &grid(3), &grid(6), &circuit, &same, &star, "ab,ab,bc,bc,ac->ac"]
    {
        let problem = Problem::parse(expression).unwrap();
        let shapes = problem.expression().operands().map(|term| vec![2; term.indices.len()]).collect::<Vec<_>>();
        let shaped = problem.shapes(&shapes).unwrap();
        for path in [PathChoice::Auto, PathChoice::Greedy, PathChoice::Optimal, PathChoice::Anneal] {
            if path == PathChoice::Optimal && shapes.len() > 12 {
                continue;
            }
            let options = PlanOptions::default().path(path.clone()).layout(false);
            let paths: Vec<_> = (0..4).map(|_| shaped.plan(&Machine::new(1, 1), &options).unwrap().path).collect();
            if paths.iter().any(|other| *other != paths[0]) {
                faults.push(format!("{path:?} of {expression:.80}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn auto_takes_no_more_operations_than_left_to_right() {
    let mut rng = Rng::new(12);
    for _ in 0..40 {
        let tensors = 3 + rng.below(10);
        let expression = network(&mut rng, tensors);
        let extents: Vec<usize> = (0..128).map(|_| 1 + rng.below(4)).collect();
        let gflop = |path| plan(&expression, &|label| extents[label as usize], path).total_gflop();
        assert!(gflop(PathChoice::Auto) <= gflop(PathChoice::LeftToRight) * (1.0 + 1e-9), "{expression}");
    }
}

#[test]
fn trees_take_no_more_operations_than_their_paths() {
    for network in trees() {
        let (expression, path) = (&network.expression, &network.path);
        let extent = |label: char| network.extent(label);
        let given = plan(expression, &extent, path.parse().unwrap());
        let auto = plan(expression, &extent, PathChoice::Auto);
        assert!(auto.total_gflop() <= given.total_gflop() * (1.0 + 1e-9), "{expression}");
        let steps: Vec<String> = given.path.iter().map(|[left, right]| format!("({left},{right})")).collect();
        assert_eq!(steps.join(","), *path);
    }
}
