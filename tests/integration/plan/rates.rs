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

/// The local plan adds packing and the ends of tiles to the multiply-adds.
#[test]
fn doubles_take_twice_as_long_whether_real_or_complex() {
    let machine = Machine { flops: 1e11, ..Machine::new(1, 1) };
    let flop = 2.0 * 512f64.powi(3);
    for (dtype, factor) in
        [(Dtype::Float32, 1.0), (Dtype::Float64, 2.0), (Dtype::Complex64, 4.0), (Dtype::Complex128, 8.0)]
    {
        let quotient = seconds("mk,kn->mn", &vec![vec![512, 512]; 2], &machine, dtype) / (factor * flop / 1e11);
        assert!((0.9..1.4).contains(&quotient), "{} {quotient}", dtype.name());
    }
    // Ranks that divide the work are priced by its size only.
    let (two, shapes) = (Machine { flops: 1e11, ..Machine::new(2, 1) }, vec![vec![2, 512, 512]; 2]);
    for (dtype, factor) in [(Dtype::Float32, 1.0), (Dtype::Complex128, 8.0)] {
        near(seconds("cmk,ckn->cmn", &shapes, &two, dtype), factor * flop / 1e11);
    }
}

#[test]
fn the_order_of_dimensions_counts() {
    let machine = Machine { memory_bandwidth: 1e11, ..Machine::new(1, 1) };
    let of = |expression, shapes: &[Vec<usize>]| seconds(expression, shapes, &machine, Dtype::Float32);
    let shape = [vec![40, 50, 60]];
    assert!(of("abc->cab", &shape) > 1.5 * of("abc->abc", &shape));
    // Memory limits this product, of which one layout has to be transposed.
    let factors = [vec![60, 40, 50], vec![50, 8]];
    assert!(of("abk,kn->bna", &factors) > 1.2 * of("abk,kn->abn", &factors));
}

#[test]
fn first_runs_need_new_memory() {
    let plan = |ranks, expression: &str, shapes: &[Vec<usize>]| {
        let machine = Machine { first_run_seconds: 0.5, new_memory_bandwidth: 1e6, ..Machine::new(ranks, 2) };
        let problem = Problem::parse(expression).unwrap().shapes(shapes).unwrap();
        problem.plan(&machine, &PlanOptions::default()).unwrap()
    };
    let tree = plan(1, "[ab,bc->ac],cd->ad", &[vec![30, 20], vec![20, 50], vec![50, 7]]);
    for (got, want) in tree.first_run_seconds().into_iter().zip([0.5 + 30.0 * 50.0 * 4.0 / 2e6, 30.0 * 7.0 * 4.0 / 2e6])
    {
        near(got, want);
    }
    let two = plan(2, "cmk,ckn->cmn", &[vec![2, 30, 20], vec![2, 20, 50]]);
    near(two.first_run_seconds().iter().sum(), 0.5 + 30.0 * 50.0 * 4.0 / 2e6);
}

#[test]
fn rates_of_small_products_are_interpolated() {
    let machine = Machine { flops: 8e10, block_rates: vec![[16.0, 1e10], [64.0, 4e10]], ..Machine::default() };
    let rates = [8.0, 16.0, 32.0, 64.0, 100.0].map(|side| (machine.rate(side) / 1e9).round());
    assert_eq!(rates, [5.0, 10.0, 20.0, 40.0, 80.0]);
}

#[test]
fn links_are_within_nodes_or_between_them() {
    let machine = Machine { ranks_per_node: 4, node_bandwidth: 1e11, link_bandwidth: 1e10, ..Machine::new(8, 1) };
    assert_eq!([(0, 3), (3, 4)].map(|(a, b)| machine.link(a, b).bandwidth), [1e11, 1e10]);
}

#[test]
fn numbers_out_of_range_are_named() {
    assert_eq!(Machine::new(18_432, 36).check(), Ok(()));
    for (machine, says) in [
        (Machine::new(2_000_000, 36), "ranks is 2000000, and must be from 1 to 1048576"),
        (Machine { flops: f64::NAN, ..Machine::default() }, "flops is NaN, and must be from 0.001 to 1e24"),
    ] {
        assert_eq!(machine.check().unwrap_err(), says);
    }
}
