//! Unit tests of `transpose`.

use num_complex::Complex;

use super::*;
use crate::kernel::simd::{Body, available, dispatch};
use crate::local_plan::Isa;

struct One<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
    strides: [isize; 2],
    size: [usize; 2],
}

impl<T: Element> Body for One<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Both>(self) {
        let [rows, cols] = self.size;
        let start = |stride: isize, count: usize| (-stride * (count as isize - 1)).max(0) as usize;
        let from = self.from[start(self.strides[0], rows)..].as_ptr();
        let to = self.to[start(self.strides[1], cols)..].as_mut_ptr();
        // SAFETY: the slices contain all rows and columns of the sizes and strides.
        unsafe { transpose_tile::<S, T>(from, self.strides[0], to, self.strides[1], rows, cols) }
    }
}

fn all_sizes<T: Element>(isa: Isa) {
    for rows in 1..=20 {
        for cols in (1..=20).chain([35, 50]) {
            for (gap, sign, back) in [(0, 1, 1), (3, 1, 1), (1, -1, 1), (2, 1, -1)] {
                let (from_stride, to_stride) = (cols + gap, rows + gap);
                let from: Vec<T> = (0..rows * from_stride).map(|i| T::from_f64(i as f64, -(i as f64))).collect();
                let mark = T::from_f64(-1.0, 5.0);
                let mut to = vec![mark; cols * to_stride];
                let strides = [back * from_stride as isize, sign * to_stride as isize];
                // Slices end with the last element, so that memory checkers detect an access beyond it.
                let used = (rows - 1) * from_stride + cols;
                // SAFETY: the caller checked that the instruction set is available.
                unsafe {
                    dispatch(isa, One { from: &from[..used], to: &mut to, strides, size: [rows, cols] });
                }
                for (at, &got) in to.iter().enumerate() {
                    let (j, i) = (at / to_stride, at % to_stride);
                    let j = if sign < 0 { cols - 1 - j } else { j };
                    let row = if back < 0 { rows.wrapping_sub(1 + i) } else { i };
                    let want = if i < rows { from[row * from_stride + j] } else { mark };
                    assert_eq!(got, want, "{} {rows} x {cols}, row {i}, column {j}", isa.name());
                }
            }
        }
    }
}

#[test]
fn tiles_of_every_size_type_and_instruction_set() {
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        all_sizes::<f32>(isa);
        all_sizes::<f64>(isa);
        all_sizes::<Complex<f32>>(isa);
        all_sizes::<Complex<f64>>(isa);
    }
}
