//! Tests that contraction orders are reproducible and follow a given path. The orders that a search finds must cost at
//! most as much as the order from left to right and the paths in the data file.

use crate::common::{Rng, trees};
use einsum_dist::plan::{GivenPath, PathChoice};
use einsum_dist::{Machine, Plan, PlanOptions, Problem, Shaped};

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

/// Plans again with what `plan` writes.
fn planned_again(shaped: &Shaped, plan: &Plan, options: &PlanOptions) -> Plan {
    let GivenPath { order, sliced } = plan.path_json().parse().unwrap();
    let again = options.clone().path(order).sliced(sliced);
    shaped.plan(&plan.machine, &again).unwrap_or_else(|error| panic!("{}: {error}", plan.path_json()))
}

#[test]
fn paths_and_slices_read_as_they_were_written() {
    let mut rng = Rng::new(13);
    let mut sliced = 0;
    for round in 0..90 {
        let tensors = 2 + rng.below(14);
        let expression = network(&mut rng, tensors);
        let problem = Problem::parse(&expression).unwrap();
        let zero = rng.one_in(10);
        let extents: Vec<usize> =
            (0..128).map(|_| if zero { rng.below(3) } else { [1, 2, 3, 4, 6][rng.below(5)] }).collect();
        let terms = expression.split("->").next().unwrap().split(',');
        let shapes: Vec<Vec<usize>> =
            terms.map(|term| term.chars().map(|label| extents[label as usize]).collect()).collect();
        let shaped = problem.shapes(&shapes).unwrap();
        let machine = Machine::new([1, 1, 3][round % 3], 1);
        let options = PlanOptions::default();
        let whole = shaped.plan(&machine, &options).unwrap();
        let limit = options.clone().memory_limit(whole.peak_bytes(0) * 2 / 3).in_parts(rng.one_in(2));
        for (plan, options) in [(Ok(whole), options), (shaped.plan(&machine, &limit), limit)] {
            let Ok(plan) = plan else { continue };
            sliced += usize::from(plan.slice_count() > 1);
            let again = planned_again(&shaped, &plan, &options);
            assert_eq!((&again.path, again.ssa_path()), (&plan.path, plan.ssa_path()), "{expression}");
            assert_eq!(again.slices, plan.slices, "{expression} {extents:?}");
            assert_eq!(again.total_gflop(), plan.total_gflop(), "{expression}");
            again.verify().unwrap();
            if plan.slice_count() == 1 {
                assert_eq!(again.fingerprint(), plan.fingerprint(), "{expression}");
            }
        }
    }
    assert!(sliced >= 10, "{sliced}");
}

#[test]
fn paths_of_brackets_read_as_they_were_written() {
    for (expression, operands) in [
        ("[ab,bc->ac],cd,de->ae", 4),
        ("[[ab->ba],bc,cd->ad],de,[ef,fg,gh->eh]->ah", 7),
        ("[[ab,b->a]->],[cd,d->c]->c", 4),
        ("[ab,bc->ac]->ca", 2),
        ("[[ab->ba]->ab]->ba", 1),
    ] {
        let problem = Problem::parse(expression).unwrap();
        let shapes = problem.expression().operands().map(|term| vec![3; term.indices.len()]).collect::<Vec<_>>();
        assert_eq!(shapes.len(), operands);
        let shaped = problem.shapes(&shapes).unwrap();
        let plan = shaped.plan(&Machine::default(), &PlanOptions::default()).unwrap();
        let again = planned_again(&shaped, &plan, &PlanOptions::default());
        assert_eq!(again.fingerprint(), plan.fingerprint(), "{expression}");
    }
}

/// Steps of opt_einsum may have one operand, or more than two.
#[test]
fn steps_of_any_number_of_operands_are_followed() {
    let shaped = Problem::parse("ab,bc,cd,de->ae").unwrap().shapes(&vec![vec![2, 2]; 4]).unwrap();
    for (given, path) in [
        ("(0,1,2,3)", [[0, 1], [2, 0], [1, 0]]),
        ("(3,),(1,2,3),(0,1)", [[1, 2], [2, 1], [0, 1]]),
        (r#"{"ssa_path": [[2], [4, 3], [1, 0], [6, 5]]}"#, [[2, 3], [1, 0], [1, 0]]),
    ] {
        let GivenPath { order, .. } = given.parse().unwrap();
        assert_eq!(
            shaped.plan(&Machine::default(), &PlanOptions::default().path(order)).unwrap().path,
            path,
            "{given}"
        );
    }
}

/// Prescribed slices are followed with and without a memory limit, and on groups of ranks.
#[test]
fn prescribed_slices_are_followed() {
    let shaped = Problem::parse("ab,bc,cd->ad").unwrap().shapes(&[vec![6, 8], vec![8, 4], vec![4, 5]]).unwrap();
    let sliced =
        |names: &[(&str, usize)]| names.iter().map(|(name, piece)| ((*name).to_owned(), *piece)).collect::<Vec<_>>();
    for ranks in [1, 2, 3] {
        for (names, slices) in
            [(&[("b", 2)][..], 4), (&[("a", 3), ("c", 1)], 8), (&[("d", 5)], 1), (&[("b", 8), ("d", 1)], 5)]
        {
            let options = PlanOptions::default().sliced(sliced(names));
            let plan = shaped.plan(&Machine::new(ranks, 1), &options).unwrap();
            assert_eq!(plan.slice_count(), slices, "{names:?}");
            plan.verify().unwrap();
            let small =
                shaped.plan(&Machine::new(ranks, 1), &options.clone().memory_limit(100)).unwrap_err().to_string();
            assert!(small.contains("more than the memory limit of 100"), "{small}");
        }
    }
    for (names, says) in [
        (&[("x", 1)][..], "there is no dimension `x` to slice (known: a, b, c, d)"),
        (&[("b", 3)], "dimension `b` has extent 8, which is no multiple of 3 per slice"),
        (&[("b", 0)], "dimension `b` has extent 8, which is no multiple of 0 per slice"),
        (&[("b", 1), ("b", 2)], "dimension `b` is sliced twice"),
    ] {
        let error = shaped.plan(&Machine::default(), &PlanOptions::default().sliced(sliced(names))).unwrap_err();
        assert_eq!(error.to_string(), says);
    }
}
