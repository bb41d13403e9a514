//! Unit tests of `program_cache`.

use ndarray::{Array2, ArrayD, ArrayViewD, IxDyn, arr1};

use super::*;
use crate::api::{Operand, einsum};
use crate::plan::PathChoice;

/// Tests that calls with the same text but different shapes or element types use different programs. The results
/// must be correct in any order of calls.
#[test]
fn a_call_finds_the_program_of_its_own_shapes() {
    let mut cache = ProgramCache::new();
    let ones = |shape: &[usize]| ArrayD::<f32>::ones(IxDyn(shape));
    for _ in 0..3 {
        for k in [3, 5, 0, 1] {
            let (a, b) = (ones(&[2, k]), ones(&[k, 4]));
            let (wide, other) = (a.mapv(f64::from), b.mapv(f64::from));
            let shapes = [a.shape(), b.shape()];
            let options = PlanOptions::default();
            let out = cache.run::<f32, _>("pq,qr->pr", &shapes, &options, |p| p.run(&[&a, &b])).unwrap();
            assert_eq!(out, ArrayD::from_elem(IxDyn(&[2, 4]), k as f32));
            let out = cache.run::<f64, _>("pq,qr->pr", &shapes, &options, |p| p.run(&[&wide, &other])).unwrap();
            assert_eq!(out, ArrayD::from_elem(IxDyn(&[2, 4]), k as f64));
        }
    }
    assert_eq!(cache.count, 8);
}

#[test]
fn options_distinguish_programs_and_failed_runs_are_forgotten() {
    let mut cache = ProgramCache::new();
    let a = Array2::<f64>::eye(3);
    let shapes = [a.shape(); 3];
    let left = PlanOptions::default().path(PathChoice::LeftToRight);
    for options in [PlanOptions::default(), left.clone(), PlanOptions::default(), left] {
        let out = cache.run::<f64, _>("ab,bc,cd->ad", &shapes, &options, |p| p.run(&[&a, &a, &a])).unwrap();
        assert_eq!(out, a.clone().into_dyn());
    }
    assert_eq!(cache.count, 2);
    let wrong = cache.run::<f64, _>("ab,bc,cd->ad", &shapes, &PlanOptions::default(), |p| p.run(&[&a]));
    assert!(wrong.is_err() && cache.count == 1);
    assert!(cache.run::<f64, _>("ab,", &shapes, &PlanOptions::default(), |p| p.run(&[&a])).is_err());
}

#[test]
fn many_and_large_programs_go() {
    let mut cache = ProgramCache::new();
    let mut call = |n: usize| {
        let (a, b) = (ArrayD::<f64>::ones(IxDyn(&[1, 2, n])), ArrayD::ones(IxDyn(&[2, n])));
        let shapes = [a.shape(), b.shape()];
        cache.run::<f64, _>("stu,tu->su", &shapes, &PlanOptions::default(), |p| p.run(&[&a, &b])).unwrap();
        (cache.count, cache.bytes, cache.entries.values().flatten().map(|entry| entry.bytes).sum::<u64>())
    };
    for n in 0..MAX_PROGRAMS + 20 {
        let (count, bytes, sum) = call(n);
        assert!(count == (n + 1).min(MAX_PROGRAMS) && bytes == sum && bytes <= MAX_BYTES, "{count}, {bytes} of {sum}");
    }
    // A program with an intermediate larger than the limit runs, but is not kept.
    let (a, b) = (Array2::<f64>::ones((1500, 1)), Array2::<f64>::ones((1, 1500)));
    let shapes = [a.shape(), b.shape(), b.shape()];
    let options = PlanOptions::default().path(PathChoice::LeftToRight);
    let kept = cache.count;
    let out = cache.run::<f64, _>("ab,bc,dc->ad", &shapes, &options, |p| p.run(&[&a, &b, &b])).unwrap();
    assert!(out[[3, 0]] == 1500.0 && cache.count == kept && cache.bytes <= MAX_BYTES);
}

/// An operand that contracts something else when it is read, as a stolen task may do during a run.
struct Nested(ArrayD<f64>);

impl Operand<f64> for Nested {
    fn view_dyn(&self) -> ArrayViewD<'_, f64> {
        assert_eq!(einsum("i,i->", &[&arr1(&[1.0, 2.0]), &arr1(&[3.0, 4.0])]).unwrap()[[]], 11.0);
        self.0.view()
    }
}

#[test]
fn a_call_during_a_run_has_another_cache() {
    let nested = Nested(arr1(&[5.0, 6.0]).into_dyn());
    for _ in 0..2 {
        assert_eq!(einsum("i,i->", &[&nested, &arr1(&[1.0, 1.0])]).unwrap()[[]], 11.0);
    }
}
