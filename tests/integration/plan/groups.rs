//! Tests subtrees on separate groups of ranks. Covers the decision to use groups, verification, results and transferred
//! bytes.

use std::ops::Range;

use crate::common::{Rng, random, run};
use einsum_dist::plan::Source;
use einsum_dist::{Dtype, Machine, Plan, PlanOptions, Problem};
use ndarray::ArrayD;

/// Returns the expression of a chain of matrices that is contracted as a balanced binary tree, and the shapes of its
/// operands.
fn balanced(rng: &mut Rng, depth: u32, max_extent: usize) -> (String, Vec<Vec<usize>>) {
    let matrices = 1usize << depth;
    let names: Vec<char> = ('a'..='z').take(matrices + 1).collect();
    let extents: Vec<usize> = names.iter().map(|_| max_extent / 5 + rng.below(max_extent)).collect();
    let shapes = (0..matrices).map(|at| vec![extents[at], extents[at + 1]]).collect();
    // The product of the matrices from `start` to `end`.
    fn term(names: &[char], start: usize, end: usize) -> String {
        if end - start == 1 {
            return format!("{}{}", names[start], names[end]);
        }
        let middle = usize::midpoint(start, end);
        let (left, right) = (term(names, start, middle), term(names, middle, end));
        format!("[{left},{right}->{}{}]", names[start], names[end])
    }
    let expression = term(&names, 0, matrices);
    (expression[1..expression.len() - 1].to_owned(), shapes)
}

fn plan(expression: &str, shapes: &[Vec<usize>], ranks: usize) -> Plan {
    let options = PlanOptions::default().dtype(Dtype::Float64);
    Problem::parse(expression).unwrap().shapes(shapes).unwrap().plan(&Machine::new(ranks, 1), &options).unwrap()
}

fn groups(plan: &Plan) -> Vec<Range<usize>> {
    let group = |source: &Source| match source {
        Source::Contract { group, .. } => group.clone(),
        _ => None,
    };
    plan.values.iter().filter_map(|value| group(&value.source)).filter(|group| group.len() < plan.ranks()).collect()
}

#[test]
fn small_subtrees_have_ranks_of_their_own() {
    let mut rng = Rng::new(4);
    let mut grouped = 0;
    for number in 0..80 {
        let (depth, ranks) = (2 + number % 3, 2 + rng.below(7));
        let (expression, shapes) = balanced(&mut rng, depth as u32, 250);
        let plan = plan(&expression, &shapes, ranks);
        plan.verify().unwrap_or_else(|error| panic!("{error}: {}", plan.explain()));
        grouped += usize::from(!groups(&plan).is_empty());
        let operands: Vec<ArrayD<f64>> = shapes.iter().zip(0..).map(|(shape, at)| random(shape, 9, at)).collect();
        let (got, want) = (run(&plan, &operands), run(&self::plan(&expression, &shapes, 1), &operands));
        let largest = want.iter().fold(1.0f64, |largest, x| largest.max(x.abs()));
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-11 * largest), "{}", plan.explain());
    }
    println!("{grouped} of 80 with groups");
    assert!(grouped >= 20, "{grouped}");
}

/// On two ranks, two products of the same size must run on one rank each.
#[test]
fn one_subtree_for_each_rank() {
    let shapes = vec![vec![256, 256]; 4];
    let plan = plan("[ab,bc->ac],[cd,de->ce]->ae", &shapes, 2);
    assert_eq!(groups(&plan), [0..1, 1..2], "{}", plan.explain());
    // Each product runs on a single rank, so neither product transfers anything.
    let text = plan.explain().to_string();
    assert!(text.contains("local on rank 0") && text.contains("local on rank 1"), "{text}");
}
