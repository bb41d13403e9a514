//! Contracts a tensor train from a file. Prints the contraction order, the peak memory, and the slices under several
//! memory limits.
//!
//! `cargo run --release --example 07_tensor_train`

mod numpy;

use einsum_dist::ndarray::{ArrayD, Slice};
use einsum_dist::{Error, Machine, PlanOptions, Problem, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The train has four cores. Neighbouring cores share the dimensions p, q and r. The brackets prescribe contraction
    // from left to right.
    let tree = numpy::text("tensor_train.einsum")?;
    let cores = (0..4).map(|core| numpy::array::<f32>(&format!("train_{core}"))).collect::<Result<Vec<_>, _>>()?;
    let operands = numpy::borrowed(&cores);
    let problem = Problem::parse(&tree)?.shapes(&numpy::shapes(&cores))?;
    let whole = problem.plan(&Machine::new(1, 1), &PlanOptions::default())?;
    println!("{}\n", whole.explain());

    // Without brackets, the planner searches for an order. The order that it finds contracts each half of the train
    // first, and then the two halves. This order needs less than half the operations of the order from left to right.
    let free = Problem::parse("ap,pbq,qcr,rd->abcd")?.shapes(&numpy::shapes(&cores))?;
    let halves = free.plan(&Machine::new(1, 1), &PlanOptions::default())?;
    assert!(halves.total_gflop() < 0.5 * whole.total_gflop());

    // The files contain two results from NumPy. The first is every fourth element along each dimension, and the second
    // is the norm of the whole tensor.
    let want = numpy::array::<f64>("tensor_train_sample")?;
    let norm = numpy::array::<f64>("tensor_train_norm")?.sum();
    let magnitude = every_fourth(&World::single().compile(&whole)?.run(&numpy::borrowed(&numpy::absolute(&cores)))?);

    println!("ranks  limit in MB  slices   peak in MB  GFLOP    error    bound");
    for ranks in [1, 3] {
        let machine = Machine::new(ranks, 1);
        let peak = busiest(&problem.plan(&machine, &PlanOptions::default())?);
        for limit in [None, Some(peak * 4 / 5), Some(peak * 3 / 5)] {
            // A plan that would exceed the limit runs in slices. The planner cuts some dimensions into pieces, and the
            // schedule runs once for each combination of pieces. Each of these runs is a slice, which writes its part
            // of the result or adds to the result.
            let options = PlanOptions::default().memory_limit(limit);
            let plan = problem.plan(&machine, &options)?;
            plan.verify()?;
            assert!(limit.is_none_or(|limit| busiest(&plan) <= limit && plan.slice_count() > 1));
            let train = World::in_process(ranks).compile::<f32>(&plan)?.run(&operands)?;

            let (error, bound) = (numpy::error(&every_fourth(&train), &want, &magnitude), numpy::bound(&plan));
            assert!(error <= bound, "{ranks} ranks, {limit:?}: error {error:e}, bound {bound:e}");
            let got = train.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            assert!((got - norm).abs() <= bound * norm, "{ranks} ranks, {limit:?}: norm {got}, expected {norm}");
            let limit = limit.map_or("none".to_owned(), megabytes);
            let (slices, peak, gflop) = (plan.slice_count(), megabytes(busiest(&plan)), plan.total_gflop());
            println!("{ranks:>5}  {limit:>11}  {slices:>6}  {peak:>11}  {gflop:.3}  {error:.1e}  {bound:.1e}");
        }
    }

    // A limit below the total size of operands and result is an error.
    let options = PlanOptions::default().memory_limit(1_000_000);
    match problem.plan(&Machine::new(1, 1), &options) {
        Err(Error::Plan(error)) => println!("\nlimit of 1 MB: {error}"),
        other => panic!("expected an error, got {other:?}"),
    }
    Ok(())
}

/// Peak number of bytes on the rank that needs the most memory.
fn busiest(plan: &einsum_dist::Plan) -> u64 {
    (0..plan.ranks()).map(|rank| plan.peak_bytes(rank)).max().unwrap_or(0)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.3}", bytes as f64 / 1e6)
}

fn every_fourth(train: &ArrayD<f32>) -> ArrayD<f32> {
    train.slice_each_axis(|_| Slice::from(..).step_by(4)).to_owned()
}
