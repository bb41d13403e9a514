//! Unit tests of `sum`.

use super::*;

#[test]
fn units_and_steps_visit_everything_once() {
    let out_loops = [Dim { extent: 700, strides: [1, 1] }, Dim { extent: 3, strides: [2100, 700] }];
    let plan = Sum::new(&out_loops, &[Dim { extent: 3, strides: [700] }], 2);
    let elements: usize = (0..plan.units()).map(|unit| plan.unit(unit).1).sum();
    assert_eq!((elements, plan.steps(), plan.line_is_summed), (2100, 3, false));
    let plan = Sum::new(&[], &[Dim { extent: 100_000, strides: [1] }], 2);
    let elements: usize = (0..plan.steps()).map(|step| plan.step(step).1).sum();
    assert_eq!((plan.units(), elements), (1, 100_000));
}
