//! Makes, prints, compares and verifies plans without data. A plan is a value and can be made for any number of ranks.
//!
//! `cargo run --example 02_plan_explain`

use einsum_dist::AlgorithmName;
use einsum_dist::{Machine, PlanOptions, Problem};

fn main() -> einsum_dist::Result<()> {
    // Plans a chain of two products on 8 ranks with 4 workers each. The cost model chooses an algorithm for each
    // product. In the printed plan, the column `distribution` shows how each tensor is cut. For example, `i/8` means
    // that dimension i is cut into 8 blocks, one for each rank.
    let chain = Problem::parse("[ij,jk->ik],kl->il")?.shapes(&[vec![4096, 2048], vec![2048, 1024], vec![1024, 512]])?;
    let plan = chain.plan(&Machine::new(8, 4), &PlanOptions::default())?;
    println!("{}\n", plan.explain());

    // Verifies the schedules across all ranks. Transfers must match, no rank may deadlock, no data may be read too
    // early, and every element of the result must contain every summand exactly once.
    plan.verify()?;

    // The same inputs give the same plan; a different machine may give a different plan.
    assert_eq!(plan.fingerprint(), chain.plan(&Machine::new(8, 4), &PlanOptions::default())?.fingerprint());
    assert_ne!(plan.fingerprint(), chain.plan(&Machine::new(9, 4), &PlanOptions::default())?.fingerprint());

    // Compares the communication volume of three algorithms for the same product.
    let (m, k, n, ranks) = (4096, 1024, 2048, 4);
    let product = Problem::parse("mk,kn->mn")?.shapes(&[vec![m, k], vec![k, n]])?;
    println!("mk,kn->mn on {ranks} ranks    MB received by the busiest rank");
    for algorithm in [AlgorithmName::Local, AlgorithmName::RingMn, AlgorithmName::RingK] {
        let options = PlanOptions::default().algorithm(algorithm).cut(cut(algorithm));
        let plan = product.plan(&Machine::new(ranks, 1), &options)?;
        let received = (0..ranks).map(|rank| plan.schedule(rank).bytes_received()).max().unwrap_or(0);
        println!("  {:<8} {:>8.3}", algorithm.name(), received as f64 / 1e6);
        // The tensor that moves has one block per rank, and each rank receives all blocks except its own.
        let all_but_own = (ranks - 1) * 4 / ranks;
        match algorithm {
            AlgorithmName::RingMn => assert_eq!(received, (all_but_own * k * n) as u64),
            AlgorithmName::RingK => assert_eq!(received, (all_but_own * m * n) as u64),
            _ => assert_eq!(received, 0),
        }
    }
    Ok(())
}

/// The dimensions that the algorithm divides among ranks, as in the command-line flag `--cut`. An empty list leaves the
/// choice to the planner.
fn cut(algorithm: AlgorithmName) -> Vec<String> {
    match algorithm {
        AlgorithmName::RingMn => vec!["m".to_owned()],
        _ => Vec::new(),
    }
}
