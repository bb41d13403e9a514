//! Inverts a matrix by Newton's iteration. All matrix products are runs of one plan, which is compiled once.
//!
//! `cargo run --release --example 04_compiled_plan`

use einsum_dist::ndarray::Array2;
use einsum_dist::{PlanOptions, Problem, World};

fn main() -> einsum_dist::Result<()> {
    // The matrix is well conditioned, because its diagonal is much larger than the noise in the other elements.
    let size = 96;
    let noise = |i: usize, j: usize| ((i * 37 + j * 101) % 23) as f64 / 23.0 - 0.5;
    let matrix =
        Array2::from_shape_fn((size, size), |(i, j)| noise(i, j) + if i == j { size as f64 / 2.0 } else { 0.0 });

    // Compiling selects kernels and allocates buffers. Each run below only computes and communicates.
    let problem = Problem::parse("ij,jk->ik")?.shapes(&[vec![size, size], vec![size, size]])?;
    let mut product = World::in_process(4).prepare::<f64>(&problem, 1, &PlanOptions::default())?;

    // Each step computes X <- 2 X - X (A X), which doubles the number of correct digits.
    let mut inverse = Array2::from_diag_elem(size, 2.0 / size as f64);
    let mut error = f64::INFINITY;
    for step in 0..10 {
        let before = inverse.clone();
        let close_to_one = product.run(&[&matrix, &inverse])?;
        error = (&close_to_one - &Array2::<f64>::eye(size)).iter().map(|x| x * x).sum::<f64>().sqrt();
        println!("step {step}   |A X - 1| = {error:.3e}");
        if error < 1e-12 {
            break;
        }
        // out = alpha (left right) + beta out, in place.
        product.run_into(-1.0, &[&before, &close_to_one], 2.0, &mut inverse)?;
    }
    assert!(error < 1e-12, "the iteration converges");
    Ok(())
}
