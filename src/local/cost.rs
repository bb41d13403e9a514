//! A rough price of plain loops, in nanoseconds of one present-day core.

/// One turn of a plain loop's body, and starting the loop.
const LOOP_STEP: f64 = 0.35;
const LOOP_START: f64 = 4.0;

/// Plain loops: `multiply_adds` in all, with the innermost loop `inner` long and all its steps at most 1, or not.
pub(super) fn loops(multiply_adds: f64, inner: usize, dense: bool) -> f64 {
    let step = if dense { LOOP_STEP / 4.0 } else { LOOP_STEP * 2.0 };
    multiply_adds * (step + LOOP_START / inner.max(1) as f64)
}
