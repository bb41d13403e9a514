//! Uses the library inside an MPI program, to contract tensors on the ranks of the program's own communicators.
//!
//! ```text
//! MPICC=mpicc.mpich cargo build --release --features mpi --example 05_mpi_communicator
//! mpirun.mpich -n 4 target/release/examples/05_mpi_communicator
//! ```

use einsum_dist::AlgorithmName;
use einsum_dist::mpi::topology::Color;
use einsum_dist::mpi::traits::Communicator;
use einsum_dist::mpi::{Threading, initialize_with_threading};
use einsum_dist::ndarray::Ix2;
use einsum_dist::{DistTensor, PlanOptions, Problem, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // This program initialises MPI. The library needs MPI_THREAD_FUNNELED, because it calls MPI from the thread that
    // calls the library.
    let (universe, _) = initialize_with_threading(Threading::Funneled).ok_or("MPI runs already")?;
    let everyone = universe.world();
    // Even and odd ranks form two independent groups.
    let group = everyone.rank() % 2;
    let communicator = everyone.split_by_color(Color::with_value(group)).ok_or("no group")?;

    // The library communicates over a duplicate of the communicator. So it neither changes the error handler of the
    // program's communicator nor receives messages that the program sends over it.
    let world = World::from_communicator(&communicator)?;
    let (m, k, n) = (60, 40, 50);
    let options = PlanOptions::default().algorithm(AlgorithmName::RingMn);
    let problem = Problem::parse("mk,kn->mn")?.shapes(&[vec![m, k], vec![k, n]])?;
    let mut program = world.prepare::<f64>(&problem, 1, &options)?;
    let plan = program.plan().clone();

    // Every rank creates its own blocks, in the distributions that the plan specifies. No tensor is gathered.
    let distribution = |operand| &plan.operand(operand).distribution;
    let left = DistTensor::from_fn(&world, &[m, k], distribution(0), |at| (at[0] + at[1]) as f64);
    let right = DistTensor::from_fn(&world, &[k, n], distribution(1), |at| (group as usize + at[0] * at[1]) as f64);
    let mut out = DistTensor::zeros(&world, &[m, n], &plan.output().distribution);
    program.run_dist(1.0, &[&left, &right], 0.0, &mut out)?;

    // Element (i, j) is the sum over l of (i + l) (group + l j).
    for (region, block) in out.blocks() {
        let first: Vec<usize> = region.dims().iter().map(|dim| dim.ranges().first().map_or(0, |r| r.start)).collect();
        for ((i, j), value) in block.view().into_dimensionality::<Ix2>()?.indexed_iter() {
            let (i, j) = (i + first[0], j + first[1]);
            let expected: usize = (0..k).map(|l| (i + l) * (group as usize + l * j)).sum();
            assert_eq!(*value, expected as f64, "element {i}, {j}");
        }
    }
    let (members, rank) = (world.ranks(), everyone.rank());
    let placement = plan.placement(plan.output());
    println!("rank {rank}: in group {group} of {members}, whose output is distributed as {placement}");

    // The library's world must be finished before the program finalises MPI.
    drop((program, left, right, out));
    world.finish()?;
    Ok(())
}
