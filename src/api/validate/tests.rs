//! Unit tests of `validate`.

use super::*;
use crate::api::{DistTensor, NpyOutput, Problem, World, einsum};
use crate::distribution::{Axis, Cut, Distribution, Owners, Role};
use crate::dtype::Dtype;
use crate::machine::Machine;
use crate::plan::{FixedDistributions, Plan, PlanOptions};

const HUGE: usize = usize::MAX;

/// Invalid distributions of a [4, 3] tensor on two ranks, each with an expected substring of the error message.
fn distributions() -> Vec<(Distribution, &'static str)> {
    let axis = |ranks, dim, how| Axis { ranks, role: Role::Cut { dim, how } };
    vec![
        (Distribution::cut(2, 2), "it cuts dimension 2 of 2"),
        (Distribution::cut(HUGE, 1), "it cuts dimension 18446744073709551615 of 2"),
        (Distribution::cut(0, 3), "it needs 3 ranks, and there are 2"),
        (Distribution::replicated(HUGE), "it needs 18446744073709551615 ranks, and there are 2"),
        (Distribution::single().owned_by(Owners::From(HUGE - 1)), "it needs 18446744073709551615 ranks"),
        (Distribution::new(vec![axis(2, 0, Cut::Even), axis(1, 7, Cut::Even)]), "it cuts dimension 7 of 2"),
    ]
}

#[test]
fn distributions_of_other_tensors_are_errors() {
    let world = World::in_process(2);
    let tensor = DistTensor::<f32>::zeros(&world, &[4, 3], &Distribution::cut(0, 2));
    let path = std::env::temp_dir().join(format!("einsum-dist-fits-{}.npy", std::process::id()));
    tensor.write_npy(&world, &path).unwrap();
    for (distribution, says) in distributions() {
        let moved = tensor.redistribute(&world, &distribution).map(drop);
        let read = DistTensor::<f32>::from_npy(&world, &path, &distribution).map(drop);
        let whole = ndarray::ArrayD::from_elem(vec![4, 3], 1.0f32);
        let spread = DistTensor::from_root(&world, Some(whole.view()), &[4, 3], &distribution).map(drop);
        let plan = Plan::redistribution(&[4, 3], Dtype::Float32, tensor.distribution(), &distribution, 2);
        let compiled = world.compile::<f32>(&plan).map(drop);
        for failed in [moved, read, spread, compiled] {
            let error = failed.unwrap_err();
            assert!(error.is_input() && error.to_string().contains(says), "{error}");
        }
    }
    let mut part = tensor.clone();
    for corner in [&[HUGE, HUGE][..], &[1, 0], &[0]] {
        assert!(part.read_npy(&world, &path, corner).unwrap_err().is_input(), "{corner:?}");
        let output = NpyOutput::create(&world, path.with_extension("out.npy"), Dtype::Float32, &[4, 3]).unwrap();
        assert!(output.write(&tensor, corner).unwrap_err().is_input(), "{corner:?}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn plans_with_distributions_that_do_not_fit() {
    let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![4, 3], vec![3, 5]]).unwrap();
    for (distribution, says) in distributions() {
        let fixed = FixedDistributions { operands: vec![Some(distribution)], output: None };
        let error =
            shaped.plan(&Machine::new(2, 1), &PlanOptions { fixed, ..PlanOptions::default() }).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn worlds_and_plans_of_other_sizes() {
    let plan = |ranks| {
        let shaped = Problem::parse("mk,kn->mn").unwrap().shapes(&[vec![4, 3], vec![3, 5]]).unwrap();
        shaped.plan(&Machine::new(ranks, 1), &PlanOptions::default()).unwrap()
    };
    let world = World::in_process(2);
    let error = world.check_memory(&plan(4), 0).unwrap_err().to_string();
    assert_eq!(error, "the plan is for 4 ranks, the world has 2");
    let many = World::in_process(HUGE);
    let tensor = many.place(1).and_then(|()| many.machine(1).map(drop)).and_then(|()| many.places().map(drop));
    assert!(tensor.unwrap_err().to_string().contains("ranks is 18446744073709551615"));
    assert!(world.machine(HUGE).unwrap_err().to_string().contains("workers is 18446744073709551615"));
    assert!(many.default_workers().is_err());
}

/// Tests that a result that does not fit into memory leads to an error and does not abort the process.
#[test]
fn results_larger_than_memory() {
    let one = ndarray::arr1(&[1.0f32]);
    let long = one.broadcast(1usize << 56).unwrap();
    let error = einsum("i->i", &[&long]).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
    assert!(einsum("i,j->ij", &[&long, &long]).is_err());
}
