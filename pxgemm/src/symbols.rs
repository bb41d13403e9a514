//! The exported functions, for each type under the names that Fortran compilers give them, and prefixed with
//! `einsum_dist_` for programs that also call ScaLAPACK's own.

use std::ffi::{c_char, c_int};

use num_complex::Complex;

use super::add::{self, Given};
use super::gemm::{self, MatrixArgument, Op};

macro_rules! matrix {
    ($array:ident, $row:ident, $column:ident, $descriptor:ident) => {
        MatrixArgument { array: $array, row: $row, column: $column, descriptor: $descriptor }
    };
}

/// Exports `pxgemm` of an element type.
macro_rules! gemm {
    ($element:ty, $routine:literal, $($name:ident)*) => { $(
        /// `C = alpha op(A) op(B) + beta C`.
        ///
        /// # Safety
        /// Arguments are as in ScaLAPACK.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "a name that a Fortran compiler gives")]
        pub unsafe extern "C" fn $name(
            transa: *const c_char,
            transb: *const c_char,
            m: *const c_int,
            n: *const c_int,
            k: *const c_int,
            alpha: *const $element,
            a: *mut $element,
            ia: *const c_int,
            ja: *const c_int,
            desca: *const c_int,
            b: *mut $element,
            ib: *const c_int,
            jb: *const c_int,
            descb: *const c_int,
            beta: *const $element,
            c: *mut $element,
            ic: *const c_int,
            jc: *const c_int,
            descc: *const c_int,
        ) {
            let call = gemm::Call {
                op: [transa, transb],
                extents: [m, n, k],
                alpha,
                a: matrix!(a, ia, ja, desca),
                b: matrix!(b, ib, jb, descb),
                beta,
                c: matrix!(c, ic, jc, descc),
            };
            // SAFETY: guaranteed by the caller.
            unsafe { gemm::gemm($routine, &call) };
        }
    )* };
}

/// Exports `pxgeadd` of an element type.
macro_rules! geadd {
    ($element:ty, $routine:literal, $($name:ident)*) => { $(
        /// `C = alpha op(A) + beta C`.
        ///
        /// # Safety
        /// Arguments are as in ScaLAPACK.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "a name that a Fortran compiler gives")]
        pub unsafe extern "C" fn $name(
            trans: *const c_char,
            m: *const c_int,
            n: *const c_int,
            alpha: *const $element,
            a: *mut $element,
            ia: *const c_int,
            ja: *const c_int,
            desca: *const c_int,
            beta: *const $element,
            c: *mut $element,
            ic: *const c_int,
            jc: *const c_int,
            descc: *const c_int,
        ) {
            let (a, c) = (matrix!(a, ia, ja, desca), matrix!(c, ic, jc, descc));
            let call = add::Call { op: Given::Letter(trans), extents: [m, n], alpha, a, beta, c };
            // SAFETY: guaranteed by the caller.
            unsafe { add::add($routine, &call) };
        }
    )* };
}

/// Exports `pxtran`, `pxtranu` or `pxtranc` of an element type.
macro_rules! tran {
    ($element:ty, $op:expr, $routine:literal, $($name:ident)*) => { $(
        /// `C = alpha op(A) + beta C`.
        ///
        /// # Safety
        /// Arguments are as in ScaLAPACK.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "a name that a Fortran compiler gives")]
        pub unsafe extern "C" fn $name(
            m: *const c_int,
            n: *const c_int,
            alpha: *const $element,
            a: *mut $element,
            ia: *const c_int,
            ja: *const c_int,
            desca: *const c_int,
            beta: *const $element,
            c: *mut $element,
            ic: *const c_int,
            jc: *const c_int,
            descc: *const c_int,
        ) {
            let (a, c) = (matrix!(a, ia, ja, desca), matrix!(c, ic, jc, descc));
            let call = add::Call { op: Given::Name($op), extents: [m, n], alpha, a, beta, c };
            // SAFETY: guaranteed by the caller.
            unsafe { add::add($routine, &call) };
        }
    )* };
}

gemm!(f32, "PSGEMM", psgemm psgemm_ psgemm__ PSGEMM einsum_dist_psgemm einsum_dist_psgemm_);
gemm!(f64, "PDGEMM", pdgemm pdgemm_ pdgemm__ PDGEMM einsum_dist_pdgemm einsum_dist_pdgemm_);
gemm!(Complex<f32>, "PCGEMM", pcgemm pcgemm_ pcgemm__ PCGEMM einsum_dist_pcgemm einsum_dist_pcgemm_);
gemm!(Complex<f64>, "PZGEMM", pzgemm pzgemm_ pzgemm__ PZGEMM einsum_dist_pzgemm einsum_dist_pzgemm_);

geadd!(f32, "PSGEADD", psgeadd psgeadd_ psgeadd__ PSGEADD einsum_dist_psgeadd einsum_dist_psgeadd_);
geadd!(f64, "PDGEADD", pdgeadd pdgeadd_ pdgeadd__ PDGEADD einsum_dist_pdgeadd einsum_dist_pdgeadd_);
geadd!(Complex<f32>, "PCGEADD", pcgeadd pcgeadd_ pcgeadd__ PCGEADD einsum_dist_pcgeadd einsum_dist_pcgeadd_);
geadd!(Complex<f64>, "PZGEADD", pzgeadd pzgeadd_ pzgeadd__ PZGEADD einsum_dist_pzgeadd einsum_dist_pzgeadd_);

tran!(f32, Op::Transpose, "PSTRAN", pstran pstran_ pstran__ PSTRAN einsum_dist_pstran einsum_dist_pstran_);
tran!(f64, Op::Transpose, "PDTRAN", pdtran pdtran_ pdtran__ PDTRAN einsum_dist_pdtran einsum_dist_pdtran_);
tran!(Complex<f32>, Op::Transpose, "PCTRANU", pctranu pctranu_ pctranu__ PCTRANU einsum_dist_pctranu einsum_dist_pctranu_);
tran!(Complex<f64>, Op::Transpose, "PZTRANU", pztranu pztranu_ pztranu__ PZTRANU einsum_dist_pztranu einsum_dist_pztranu_);
tran!(
    Complex<f32>, Op::ConjugateTranspose, "PCTRANC",
    pctranc pctranc_ pctranc__ PCTRANC einsum_dist_pctranc einsum_dist_pctranc_
);
tran!(
    Complex<f64>, Op::ConjugateTranspose, "PZTRANC",
    pztranc pztranc_ pztranc__ PZTRANC einsum_dist_pztranc einsum_dist_pztranc_
);
