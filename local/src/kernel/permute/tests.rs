//! Unit tests of `permute`.

use super::super::simd::available;
use super::*;
use crate::local_plan::Dim;

fn each_offset(dims: &[Dim<2>], mut visit: impl FnMut([isize; 2])) {
    for number in 0..dims.iter().map(|d| d.extent).product() {
        let (mut rest, mut at) = (number, [0; 2]);
        for dim in dims {
            (0..2).for_each(|t| at[t] += (rest % dim.extent) as isize * dim.strides[t]);
            rest /= dim.extent;
        }
        visit(at);
    }
}

/// All values are small integers, so results are exact in any order of operations.
fn merges<T: Element>(isa: Isa, dims: &[Dim<2>], [source, target]: [usize; 2]) {
    let whole = |i: usize| T::from_f64((i % 251) as f64, (i % 13) as f64);
    let from: Vec<T> = (0..source).map(whole).collect();
    let (one, two) = (T::ONE, T::from_f64(2.0, -1.0));
    for (alpha, beta) in [(one, T::ZERO), (one, one), (one, two), (two, T::ZERO), (two, one), (two, two)] {
        let mut to: Vec<T> = (0..target).map(|i| whole(i + 7)).collect();
        let mut want = to.clone();
        each_offset(dims, |[f, t]| {
            let old = if beta == T::ZERO { T::ZERO } else { beta * want[t as usize] };
            want[t as usize] = old + alpha * from[f as usize];
        });
        if beta == T::ZERO {
            let nan = T::from_f64(f64::NAN, f64::NAN);
            each_offset(dims, |[_, t]| to[t as usize] = nan);
        }
        let plan = Permute::new(dims, size_of::<T>(), 1);
        // SAFETY: the caller checked that the instruction set is available; every offset is inside the slices.
        unsafe { permute(&plan, isa, from.as_ptr(), to.as_mut_ptr(), Factors { alpha, beta }) };
        assert!(to == want, "{} {} {dims:?} {alpha:?} {beta:?}", isa.name(), T::DTYPE.name());
    }
}

#[test]
fn alpha_and_beta_wherever_elements_lie() {
    let dim = |extent, from, to| Dim { extent, strides: [from, to] };
    let cases: [(&[Dim<2>], [usize; 2]); 7] = [
        (&[dim(37, 29, 1), dim(29, 1, 37)], [1073, 1073]),
        (&[dim(300, 200, 1), dim(200, 1, 300)], [60_000, 60_000]),
        (&[dim(37, 30, 29), dim(29, 1, 1)], [1110, 1073]),
        (&[dim(37, 0, 29), dim(29, 0, 1)], [1, 1073]),
        (&[dim(37, 2, 29), dim(29, 74, 1)], [2146, 1073]),
        (&[dim(9, 26, 2), dim(13, 2, 18), dim(2, 1, 1)], [234, 234]),
        (&[dim(1200, 1000, 1), dim(1000, 1, 1200)], [1_200_000, 1_200_000]),
    ];
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        for (dims, sizes) in cases {
            merges::<f32>(isa, dims, sizes);
            merges::<f64>(isa, dims, sizes);
            merges::<Complex<f32>>(isa, dims, sizes);
            merges::<Complex<f64>>(isa, dims, sizes);
        }
    }
}
