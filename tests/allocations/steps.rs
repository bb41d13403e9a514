//! Tests that planning, verifying, simulating, reporting, compiling and running a tree cost O(steps).
//!
//! The test compares the bytes that all threads allocate for a tree and for a tree of twice the length, while no other
//! test runs. This detects lists and maps whose length is proportional to that of the tree and that are built in every
//! step. It does not detect a scan of the tree in every step, because such a scan need not allocate. Unit tests count
//! the steps of such scans.

use std::sync::atomic::Ordering::Relaxed;

use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Dtype, Machine, PlanOptions, Problem, World};
use ndarray::{ArrayD, IxDyn};

use super::counting::{ALONE, BYTES};

/// Maximum ratio of the bytes allocated for a tree of 2 [`STEPS`] steps to the bytes allocated for a tree of [`STEPS`]
/// steps.
const MAX_GROWTH: f64 = 2.3;

/// Number of steps of the shorter tree. It exceeds the limits up to which the planner searches exhaustively.
const STEPS: usize = 150;

fn label(at: usize) -> char {
    char::from_u32(0x4e00 + at as u32).unwrap()
}

/// `[[ab,bc->ac],cd->ad],..`, nested to the left.
fn left(steps: usize) -> String {
    let step = |at: usize| format!(",{}{}->{}{}", label(at), label(at + 1), label(0), label(at + 1));
    let tail: Vec<String> = (1..=steps).map(step).collect();
    format!("{}{}{}{}", "[".repeat(steps - 1), label(0), label(1), tail.join("]"))
}

/// `ab,[bc,[cd,de->ce]->be]->ae`, nested to the right.
fn right(steps: usize) -> String {
    let head: Vec<String> = (0..steps).map(|at| format!("{}{},", label(at), label(at + 1))).collect();
    let tail: Vec<String> = (0..steps).rev().map(|at| format!("->{}{}", label(at), label(steps + 1))).collect();
    format!("{}{}{}{}", head.join("["), label(steps), label(steps + 1), tail.join("]"))
}

/// `[ab,bc->ac],[cd,de->ce]->ae`, a balanced binary tree.
fn balanced(steps: usize) -> String {
    fn part(first: usize, end: usize) -> String {
        if end - first == 1 {
            return format!("{}{}", label(first), label(end));
        }
        let middle = first.midpoint(end);
        let below = [(first, middle), (middle, end)].map(|(first, end)| {
            let below = part(first, end);
            if end - first > 1 { format!("[{below}]") } else { below }
        });
        format!("{}->{}{}", below.join(","), label(first), label(end))
    }
    part(0, steps + 1)
}

/// `[[ab,a->ab],b->ab],..`, in which one matrix is multiplied by many vectors.
fn star(steps: usize) -> String {
    let tail: Vec<String> = (0..steps).map(|at| format!(",{}->ab", if at % 2 == 0 { 'a' } else { 'b' })).collect();
    format!("{}ab{}", "[".repeat(steps - 1), tail.join("]"))
}

/// `[[ab,bc->ac],cb->ab],..`, in which all brackets reuse the letters `b` and `c` for different dimensions.
fn same_letters(steps: usize) -> String {
    let step = |at: usize| if at.is_multiple_of(2) { ",bc->ac" } else { ",cb->ab" };
    let tail: Vec<&str> = (0..steps).map(step).collect();
    format!("{}ab{}", "[".repeat(steps - 1), tail.join("]"))
}

/// `[[ab,bc->ac]->ca],cd->ad`, with a transposition between two contractions.
fn turned(steps: usize) -> String {
    let step = |at: usize| {
        let [before, now] = [at, at + 1].map(label);
        let turned = if at < steps { format!("]->{now}{}]", label(0)) } else { String::new() };
        format!(",{before}{now}->{}{now}{turned}", label(0))
    };
    let tail: Vec<String> = (1..=steps).map(step).collect();
    format!("{}{}{}{}", "[".repeat(2 * (steps - 1)), label(0), label(1), tail.concat())
}

/// Number of bytes allocated by all operations on one expression, from parsing to the timeline.
fn bytes(expression: &str, ranks: usize, options: &PlanOptions) -> usize {
    let before = BYTES.load(Relaxed);
    let problem = Problem::parse(expression).unwrap();
    let shapes: Vec<Vec<usize>> = problem.expression().operands().map(|term| vec![6; term.labels().count()]).collect();
    let plan = problem.shapes(&shapes).unwrap().plan(&Machine::new(ranks, 1), options).unwrap();
    plan.verify().unwrap();
    plan.verify_by_classes().unwrap();
    assert!(plan.explain().to_string().len() > shapes.len());
    assert!(plan.fingerprint() > 0);
    let timeline = plan.simulate().unwrap();
    assert!(timeline.trace().len() + timeline.svg("").len() > 0);
    let world = World::in_process(ranks);
    let mut program = world.compile::<f32>(&plan).unwrap();
    let operands: Vec<ArrayD<f32>> = shapes.iter().map(|shape| ArrayD::from_elem(IxDyn(shape), 1.0 / 6.0)).collect();
    let operands: Vec<_> = operands.iter().map(|operand| operand as &dyn einsum_dist::Operand<f32>).collect();
    program.run(&operands).unwrap();
    let report = plan.report(Some(&program.measured().unwrap()));
    assert!(serde_json::to_string(&report).unwrap().len() > shapes.len());
    assert!(program.timeline().unwrap().is_some());
    BYTES.load(Relaxed) - before
}

#[test]
fn twice_the_steps_cost_twice_as_much() {
    let _alone = ALONE.lock();
    let auto = PlanOptions::default().dtype(Dtype::Float32);
    let forced = |algorithm| auto.clone().algorithm(algorithm);
    let limited = auto.clone().memory_limit(1 << 30);
    type Tree = fn(usize) -> String;
    let trees: [(&str, Tree, usize, &PlanOptions); 11] = [
        ("left", left, 1, &auto),
        ("left", left, 3, &auto),
        ("right", right, 3, &auto),
        ("balanced", balanced, 3, &auto),
        ("star", star, 3, &auto),
        ("same letters", same_letters, 3, &auto),
        ("turned", turned, 3, &auto),
        ("left, limited", left, 3, &limited),
        ("left, ring-k", left, 3, &forced(AlgorithmName::RingK)),
        ("left, grid", left, 3, &forced(AlgorithmName::Grid)),
        ("left, slicing", left, 3, &forced(AlgorithmName::Slicing)),
    ];
    // A first run makes the allocations that happen once per process.
    bytes(&left(3), 3, &auto);
    for (name, tree, ranks, options) in trees {
        let [once, twice] = [STEPS, 2 * STEPS].map(|steps| bytes(&tree(steps), ranks, options) as f64);
        assert!(twice <= MAX_GROWTH * once, "{name} on {ranks}: {once} bytes, {twice} for twice the steps");
    }
}
