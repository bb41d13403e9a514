//! Checks the predicted times that follow from a machine's rates.

use einsum_dist::{Dtype, FixedDistributions, Machine, PlanOptions, Problem};

fn seconds(expression: &str, shapes: &[Vec<usize>], machine: &Machine, dtype: Dtype) -> f64 {
    let problem = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
    problem.plan(machine, &PlanOptions::default().dtype(dtype)).unwrap().seconds()
}

fn near(got: f64, want: f64) {
    assert!((got / want - 1.0).abs() < 1e-9, "{got} instead of {want}");
}

#[test]
fn tensors_in_caches_have_higher_bandwidth() {
    let machine = Machine { memory_bandwidth: 1e10, copy_rates: vec![[1e6, 8e10], [1e8, 2e10]], ..Machine::new(1, 1) };
    let rates = [1e3, 1e6, 1e7, 1e8, 1.1e8];
    for (bytes, rate) in rates.into_iter().zip([8e10, 8e10, 4e10, 2e10, 1e10]) {
        near(machine.bandwidth(bytes), rate);
    }
    // A copy of 1,250 x 1,000 elements of 4 bytes reads and writes 1e7 bytes.
    near(seconds("ij->ij", &[vec![1250, 1000]], &machine, Dtype::Float32), 1e7 / 4e10);
    near(seconds("ij->ij", &[vec![12_500, 10_000]], &machine, Dtype::Float32), 1e9 / 1e10);
    near(machine.bandwidth(1e7), Machine::from_toml(&machine.to_toml()).unwrap().bandwidth(1e7));
}

#[test]
fn each_rank_has_only_its_part_in_caches() {
    let labels: &[&str] = &["i", "j"];
    let problem = Problem::parse("ij->ij").unwrap().shapes(&[vec![1250, 1000]]).unwrap();
    for (ranks, spec, seconds) in [(1, "one; one", 1e7 / 4e10), (10, "i:10; i:10", 1e6 / 8e10)] {
        let machine = Machine { copy_rates: vec![[1e6, 8e10], [1e8, 2e10]], ..Machine::new(ranks, 1) };
        let fixed = FixedDistributions::parse(spec, &[labels, labels]).unwrap();
        near(problem.plan(&machine, &PlanOptions::default().fixed(fixed)).unwrap().seconds(), seconds);
    }
}

#[test]
fn doubles_take_twice_as_long_whether_real_or_complex() {
    let machine = Machine { flops: 1e11, ..Machine::new(1, 1) };
    let cube = |dtype| seconds("mk,kn->mn", &vec![vec![512, 512]; 2], &machine, dtype);
    let flop = 2.0 * 512f64.powi(3);
    near(cube(Dtype::Float32), flop / 1e11);
    near(cube(Dtype::Float64), 2.0 * flop / 1e11);
    near(cube(Dtype::Complex64), 4.0 * flop / 1e11);
    near(cube(Dtype::Complex128), 8.0 * flop / 1e11);
}
