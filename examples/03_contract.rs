//! Contracts two arrays with a single call in one process, and then distributes the same contraction over several
//! ranks.
//!
//! `cargo run --release --example 03_contract`

use einsum_dist::AlgorithmName;
use einsum_dist::ndarray::{Array4, ArrayD};
use einsum_dist::{Dtype, Machine, PlanOptions, Problem, World, einsum};

fn main() -> einsum_dist::Result<()> {
    // To compute attention scores, every head of every sequence multiplies its queries by its keys. Operands may have
    // any strides. Here, the keys are a transposed view, which is not copied.
    let queries = Array4::from_shape_fn((2, 48, 4, 16), |(b, q, h, d)| (b + 2 * q + 3 * h + 5 * d) as f64 % 7.0 - 3.0);
    let keys = Array4::from_shape_fn((2, 4, 64, 16), |(b, h, k, d)| (3 * b + h + 2 * k + d) as f64 % 5.0 - 2.0);
    let keys = keys.permuted_axes([0, 2, 1, 3]);
    let text = "bqhd,bkhd->bhqk";

    // Contracts in this process, on the threads of the current rayon pool.
    let scores: ArrayD<f64> = einsum(text, &[&queries, &keys])?;
    assert_eq!(scores.shape(), [2, 4, 48, 64]);
    println!("{text} -> {:?}, first score {}", scores.shape(), scores[[0, 0, 0, 0]]);

    // Runs the same contraction on several ranks in this process. A problem is planned for a machine, and the plan is
    // compiled for a world, which is a group of ranks. By default, the planner divides the sequences (dimension b)
    // or the heads (h) among the ranks, so no data move. The algorithm `ring-mn` moves blocks of one operand, here of the
    // queries, from rank to rank.
    let problem = Problem::parse(text)?.shapes(&[queries.shape().to_vec(), keys.shape().to_vec()])?;
    for (ranks, algorithm) in [(2, None), (4, None), (3, Some(AlgorithmName::RingMn))] {
        let options = PlanOptions::default().dtype(Dtype::Float64).algorithm(algorithm);
        let plan = problem.plan(&Machine::new(ranks, 1), &options)?;
        let mut program = World::in_process(ranks).compile::<f64>(&plan)?;
        let distributed = program.run(&[&queries, &keys])?;
        // Sums of small integers are exact, so results are equal in any order of summation.
        assert_eq!(distributed, scores);
        let moved: u64 = program.measured()?.iter().flat_map(|rank| &rank.received).sum();
        let placement = plan.placement(plan.output());
        println!("{ranks} ranks: the same result, distributed as {placement}, {moved} bytes received");
    }
    Ok(())
}
