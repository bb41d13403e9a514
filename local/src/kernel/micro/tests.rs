//! Tests every micro-kernel on its own, with every layout of its operands. Results must be exact, because all numbers
//! are small integers.

use num_complex::Complex;

use super::super::{Element, available};
use super::{Call, LINES};
use crate::local_plan::{Isa, KernelFamily, TileOffsets, register_tiles};

/// The layout of `right`, the operand that contains the columns. `step` and `column` are the strides from one term and
/// from one column to the next, in elements.
#[derive(Debug, Clone, Copy)]
struct Right {
    step: isize,
    column: isize,
    packed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    isa: Isa,
    vectors: usize,
    columns: usize,
    rows: usize,
    depth: usize,
    left_step: isize,
    right: Right,
    factors: Factors,
}

/// The combinations of `alpha`, `beta` and stores that kernels distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Factors {
    Any,
    /// `out` is the product.
    One,
    /// `out` is the product (`Streams`) or a multiple of it (`StreamsAny`), written with stores that bypass the caches.
    Streams,
    StreamsAny,
    /// The product is added to `out`.
    Adds,
}

impl Factors {
    fn values<T: Element>(self) -> (T, T) {
        match self {
            Factors::Any => (T::from_f64(2.0, 1.0), T::from_f64(-1.0, 2.0)),
            Factors::One | Factors::Streams => (T::ONE, T::ZERO),
            Factors::StreamsAny => (T::from_f64(2.0, 1.0), T::ZERO),
            Factors::Adds => (T::ONE, T::ONE),
        }
    }

    fn stream(self) -> bool {
        matches!(self, Factors::Streams | Factors::StreamsAny)
    }
}

/// Returns elements that differ from their neighbours, so that wrong accesses are detected. The elements are small
/// integers, so that sums are exact.
fn numbers<T: Element>(count: usize) -> Vec<T> {
    (0..count).map(|i| T::from_f64((i * 7 % 11) as f64 - 5.0, (i * 5 % 7) as f64 - 3.0)).collect()
}

/// Returns the index at which loops with these strides and extents start in a slice, and the length of the slice. Loops
/// with negative strides start far enough inside the slice to stay within it.
fn start(steps: &[(isize, usize)]) -> (usize, usize) {
    let reach = |&(step, count): &(isize, usize)| step.unsigned_abs() * count.saturating_sub(1);
    let before = steps.iter().filter(|(step, _)| *step < 0).map(reach).sum();
    (before, steps.iter().map(reach).sum::<usize>() + 1)
}

fn check<T: Element>(case: Case) {
    let Case { isa, vectors, columns, rows, depth, left_step, right, factors } = case;
    let (first_left, left_len) = start(&[(left_step, depth), (1, rows)]);
    let (first_right, right_len) = start(&[(right.step, depth), (right.column, columns)]);
    let (left, right_numbers) = (numbers::<T>(left_len), numbers::<T>(right_len));
    // Stores that bypass the caches need columns that are aligned to the size of a vector.
    let bytes = isa.vector_bytes();
    let lead = if factors.stream() { rows + bytes / size_of::<T>() } else { rows + 3 };
    let mut room = numbers::<T>(lead * columns + bytes);
    let first = room.as_ptr().align_offset(bytes);
    let (alpha, beta) = factors.values::<T>();
    let conjugated = [depth & 1 != 0, depth & 2 != 0];
    let conj = |value: T, which: usize| if conjugated[which] { value.conjugate() } else { value };
    let mut want = room.clone();
    let offsets: Vec<isize> = (0..columns).map(|n| (n * lead) as isize).collect();
    for n in 0..columns {
        for m in 0..rows {
            let mut sum = T::ZERO;
            for k in 0..depth as isize {
                let from = first_left as isize + k * left_step + m as isize;
                let times = first_right as isize + k * right.step + n as isize * right.column;
                sum += conj(left[from as usize], 0) * conj(right_numbers[times as usize], 1);
            }
            let at = first + n * lead + m;
            want[at] = beta * want[at] + alpha * sum;
            if beta == T::ZERO {
                room[at] = T::from_f64(f64::NAN, f64::NAN);
            }
        }
    }
    let parts = T::PARTS as isize;
    let lines = vec![left.as_ptr().cast::<T::Real>(); LINES * (rows % 4)];
    let call = Call {
        depth,
        left: left[first_left.min(left_len - 1)..].as_ptr().cast::<T::Real>(),
        left_step: left_step * parts,
        left_next: 0,
        right: right_numbers[first_right..].as_ptr().cast(),
        right_step: right.step * parts,
        right_column: right.column * parts,
        out: room[first..].as_mut_ptr().cast(),
        columns: offsets.as_ptr(),
        rows: rows * T::PARTS,
        left_padded: false,
        streams: factors.stream(),
        prefetches_out: true,
        next: left.as_ptr().cast(),
        lines: [lines.as_ptr(), lines.as_ptr().wrapping_add(lines.len())],
        ahead: if depth % 2 == 0 { 0 } else { 3 * left_step * parts },
        alpha: alpha.parts(),
        beta: beta.parts(),
        conjugated,
    };
    let lanes = bytes / size_of::<T::Real>();
    // SAFETY: all accesses of the call are inside the slices, and the instruction set is available.
    unsafe { T::kernel(isa, vectors, columns, right.packed)(&call, &[TileOffsets::dense(lanes)]) };
    assert_eq!(room, want, "{} {case:?}", std::any::type_name::<T>());
}

fn all<T: Element>(isa: Isa) {
    let lanes = isa.vector_bytes() / size_of::<T>();
    for &(vectors, most) in register_tiles(isa, KernelFamily::Own, T::PARTS == 2) {
        for columns in 1..=most {
            let wide = columns as isize + 2;
            let right_at = |step, column| Right { step, column, packed: false };
            let mut rights = vec![
                right_at(wide, 1),
                right_at(-wide, 1),
                right_at(1, 11),
                right_at(1, -13),
                right_at(2 * wide, 2),
                right_at(17, 19),
            ];
            if columns == most {
                rights.push(Right { step: most as isize, column: 1, packed: true });
            }
            for right in rights {
                for depth in 0..=9 {
                    let whole = vectors * lanes;
                    for (rows, factors) in [
                        (whole, Factors::Any),
                        (whole, Factors::One),
                        (whole, Factors::Streams),
                        (whole, Factors::StreamsAny),
                        (whole, Factors::Adds),
                        ((vectors - 1) * lanes + 1, Factors::Any),
                        ((vectors - 1) * lanes + 1, Factors::One),
                        ((vectors - 1) * lanes + 1, Factors::Adds),
                    ] {
                        for left_step in [whole as isize + 1, -(whole as isize) - 1] {
                            check::<T>(Case { isa, vectors, columns, rows, depth, left_step, right, factors });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn tiles_of_every_size_with_operands_that_lie_anyhow() {
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        all::<f32>(isa);
        all::<f64>(isa);
        all::<Complex<f32>>(isa);
        all::<Complex<f64>>(isa);
    }
}
