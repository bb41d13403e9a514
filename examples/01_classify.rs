//! Classifies the dimensions of a binary contraction into four kinds: c, m, n and k. Before the contraction, unary
//! steps (sums and diagonals of one operand) remove all dimensions that have none of these kinds.
//!
//! `cargo run --example 01_classify`

use einsum_dist::{Kind, Machine, PlanOptions, Problem, Step};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In the example contraction of J. Dressler's thesis, both operands and the result have five dimensions.
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/thesis.einsum"))?;
    let shapes = [vec![8, 4, 12, 7, 6], vec![9, 4, 12, 5, 7]];
    let problem = Problem::parse(text.trim())?.shapes(&shapes)?;
    println!("{}\n", text.trim());
    for (kind, meaning) in [
        (Kind::C, "left, right and out: a batch"),
        (Kind::M, "left and out"),
        (Kind::N, "right and out"),
        (Kind::K, "left and right: summed"),
    ] {
        let tree = problem.tree(&Machine::default(), &PlanOptions::default())?;
        let Step::Contract { kinds, .. } = &tree.nodes[tree.root()].step else { continue };
        let labels = kinds.iter().filter(|(_, k)| *k == kind).map(|(label, _)| tree.name(label));
        println!("  {kind}   {:<8}  {meaning}", labels.collect::<Vec<_>>().join(" "));
    }

    // Taking the diagonal of `ii` and summing over `l` are unary steps before the contraction.
    let problem = Problem::parse("iij,jkl->ik")?.shapes(&[vec![4, 4, 5], vec![5, 6, 2]])?;
    let tree = problem.tree(&Machine::default(), &PlanOptions::default())?;
    println!("\niij,jkl->ik\n");
    let mut steps = Vec::new();
    for (id, node) in tree.nodes.iter().enumerate() {
        match &node.step {
            Step::Leaf { .. } => {}
            Step::Unary { op, .. } => steps.push(format!("{op:?} {}", tree.step_text(id)).to_lowercase()),
            Step::Contract { .. } => steps.push(format!("contract {}", tree.step_text(id))),
        }
    }
    println!("  {}", steps.join("\n  "));
    assert_eq!(steps, ["diagonal iij->ij", "sum jkl->jk", "contract ij,jk->ik"]);

    // The error for conflicting extents shows every position at which the extents occur.
    let conflict = Problem::parse("mk,kn->mn")?.shapes(&[vec![2, 3], vec![4, 5]]);
    match conflict {
        Err(einsum_dist::Error::Shape(error)) => println!("\n{}", error.render()),
        other => panic!("expected a conflict, got {other:?}"),
    }
    Ok(())
}
