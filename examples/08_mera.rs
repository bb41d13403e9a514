//! Contracts a network of fifteen tensors in one einsum, which is feasible only with a good contraction order.
//!
//! The network consists of two layers of a ternary MERA (multi-scale entanglement renormalization ansatz), which
//! represents a quantum state of a chain of sites. Isometries map one site to three sites, and disentanglers act on two
//! neighbouring sites. Labels of the state are lower-case letters, and labels of its conjugate are capitals. Tensors
//! outside the light cone of the operators cancel to identities, so the expression does not contain them.
//!
//! `cargo run --release --example 08_mera`

mod numpy;

use einsum_dist::{Dtype, Machine, PlanOptions, Problem, World};
use einsum_dist::{PathChoice, PathReport};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = numpy::text("mera.einsum")?;
    let names = numpy::names("mera.operands")?;
    let tensors = names.iter().map(|name| numpy::array::<f64>(name)).collect::<Result<Vec<_>, _>>()?;
    let problem = Problem::parse(&text)?.shapes(&numpy::shapes(&tensors))?;
    println!("{text}\n");

    // The contraction order is an option, and a plan reports the cost of its order without data. The order from left to
    // right computes the whole state before contracting it with its conjugate.
    println!("path            operations  dimensions  largest intermediate");
    let plan = |path: PathChoice, ranks| {
        let options = PlanOptions::default().dtype(Dtype::Float64).path(path);
        problem.plan(&Machine::new(ranks, 1), &options)
    };
    let mut operations = Vec::new();
    for (name, path) in
        [("left-to-right", PathChoice::LeftToRight), ("greedy", PathChoice::Greedy), ("auto", PathChoice::Auto)]
    {
        let plan = plan(path, 1)?;
        let report = PathReport::of(&plan).ok_or("a network has contractions")?;
        let ([_, flops], [_, most]) = (report.log2_flops, report.scaling);
        let (elements, largest) = report.largest.ok_or("a network has intermediates")?;
        println!("{name:<14}  {:>10.2e}  {most:>10}  {:.1e} elements, {largest}", flops.exp2(), elements.exp2());
        operations.push(flops);
    }
    assert!(operations[2] <= operations[1] && operations[2] < operations[0] - 10.0);

    // A plan for an explicit path needs no search. The path is saved as text, in opt_einsum's notation: a list of pairs
    // of positions.
    let found = plan(PathChoice::Auto, 1)?;
    let positions: Vec<String> = found.path.iter().map(|[left, right]| format!("({left},{right})")).collect();
    let given: PathChoice = positions.join(",").parse()?;
    assert_eq!(plan(given.clone(), 1)?, found);
    println!("\npath {}\n", positions.join(","));

    // NumPy computed the expected result by a different method, which carries density matrices of two sites from layer
    // to layer.
    let want = numpy::array::<f64>("mera_result")?;
    let magnitude = World::single().compile(&found)?.run(&numpy::borrowed(&numpy::absolute(&tensors)))?;
    for ranks in [1, 2, 4] {
        let plan = plan(given.clone(), ranks)?;
        let expectations = World::in_process(ranks).compile::<f64>(&plan)?.run(&numpy::borrowed(&tensors))?;
        let bound = numpy::bound(&plan) * magnitude.iter().copied().fold(0.0, f64::max);
        let error = (&expectations - &want).iter().fold(0.0, |most: f64, off| most.max(off.abs()));
        assert!(error <= bound, "{ranks} ranks: error {error:e}, bound {bound:e}");
        // The first operator is the identity, and the state has norm 1, because isometries preserve norms.
        assert!((expectations[0] - 1.0).abs() < 1e-12, "norm {}", expectations[0]);
        let numbers: Vec<String> = expectations.iter().map(|number| format!("{number:.6}")).collect();
        println!("on {ranks}: {}  error {error:.1e}, bound {bound:.1e}", numbers.join(" "));
    }
    Ok(())
}
