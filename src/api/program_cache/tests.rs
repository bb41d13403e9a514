//! Unit tests of `program_cache`.

use ndarray::{ArrayD, IxDyn};

use super::*;
use crate::api::einsum;

fn key<T: Element>(expression: &str, shapes: &[&[usize]]) -> Key {
    Key {
        expression: expression.to_owned(),
        shapes: shapes.iter().map(|shape| shape.to_vec()).collect(),
        dtype: T::DTYPE,
        threads: rayon::current_num_threads(),
    }
}

/// Tests that calls with the same text but different shapes or element types use different programs. The results
/// must be correct in any order of calls.
#[test]
fn a_call_finds_the_program_of_its_own_shapes() {
    let ones = |shape: &[usize]| ArrayD::<f32>::ones(IxDyn(shape));
    for _ in 0..3 {
        for k in [3, 5, 0, 1] {
            let out = einsum("pq,qr->pr", &[&ones(&[2, k]), &ones(&[k, 4])]).unwrap();
            assert_eq!(out, ArrayD::from_elem(IxDyn(&[2, 4]), k as f32));
            let wide = ones(&[2, k]).mapv(f64::from);
            let out = einsum("pq,qr->pr", &[&wide, &ones(&[k, 4]).mapv(f64::from)]).unwrap();
            assert_eq!(out, ArrayD::from_elem(IxDyn(&[2, 4]), k as f64));
        }
    }
    let mine = key::<f32>("pq,qr->pr", &[&[2, 5], &[5, 4]]);
    let program = take::<f32>(&mine).expect("the last calls had these shapes");
    assert_eq!(program.plan().operand(0).shape, [2, 5]);
    assert!(take::<f32>(&mine).is_none(), "it is taken");
    put(mine, program);
}

#[test]
fn many_and_large_programs_go() {
    for n in 0..2 * MAX_PROGRAMS {
        einsum("stu,tu->su", &[&ArrayD::<f64>::ones(IxDyn(&[1, 2, n])), &ArrayD::ones(IxDyn(&[2, n]))]).unwrap();
    }
    CACHE.with_borrow(|cache| {
        assert!(cache.len() == MAX_PROGRAMS, "{}", cache.len());
        assert!(cache.iter().map(|entry| entry.bytes).sum::<u64>() <= MAX_BYTES);
    });
}
