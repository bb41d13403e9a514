//! Small matrix products with LIBXSMM, which generates code on the first request for a shape.
//!
//! Invariants: a [`Tile`] has code that this machine can execute until the program ends, extents of at least 1, and
//! large enough leading dimensions. On x86-64, the upper halves of the vector registers are cleared after every call,
//! because they would slow down SSE instructions.
//!
//! Products overwrite their destination and are not scaled, and the left operand cannot be transposed
//! (`docs/kernels.md`). Matrices are column-major; exchanged operands give row-major products.

pub trait Real: Copy {
    /// Generates code for checked extents, if LIBXSMM has any.
    fn generate(shape: Shape) -> Option<Code<Self>>;
}

#[derive(Debug, Clone, Copy)]
pub struct Shape {
    extents: [libxsmm_sys::libxsmm_blasint; 3],
    strides: [libxsmm_sys::libxsmm_blasint; 3],
    transpose_b: bool,
}

/// Generated code for `c = a b` of one shape.
#[derive(Clone, Copy)]
pub(super) struct Tile<R> {
    code: Code<R>,
}

impl<R: Real> Tile<R> {
    /// Requests code for `c = a b`, where `c` is m x n, with columns `ldc`, `lda` and `ldb` elements apart, or rows of
    /// `b` if `transpose_b`. `None` if LIBXSMM has no code, without AVX on x86-64, or if an extent or a leading
    /// dimension is 0, at least 2^24 or too small.
    pub(super) fn get([m, n, k]: [usize; 3], [lda, ldb, ldc]: [usize; 3], transpose_b: bool) -> Option<Tile<R>> {
        // Generated code counts bytes in 32 bits.
        let fits = |value: &usize| (1..1 << 24).contains(value);
        let rows_b = if transpose_b { n } else { k };
        if ![m, n, k, lda, ldb, ldc].iter().all(fits) || lda < m || ldb < rows_b || ldc < m || !usable() {
            return None;
        }
        let shape = Shape {
            extents: [m, n, k].map(|extent| extent as _),
            strides: [lda, ldb, ldc].map(|stride| stride as _),
            transpose_b,
        };
        R::generate(shape).map(|code| Tile { code })
    }

    /// Computes the product. `c` is not read.
    ///
    /// # Safety
    /// All elements of `a` and `b` may be read and are initialised, and all elements of `c` may be written. `c`
    /// overlaps neither `a` nor `b`. During the call, no other code writes `a` or `b`, or accesses `c`. Elements
    /// between the last row of a matrix and its leading dimension are not accessed.
    #[inline(always)]
    pub(super) unsafe fn call(&self, a: *const R, b: *const R, c: *mut R) {
        // SAFETY: the code is for this shape, and the caller guarantees access.
        unsafe { call(self.code, a, b, c) };
        clean();
    }
}

fn usable() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

/// Clears the upper halves of the vector registers.
#[inline(always)]
fn clean() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: tiles exist only with AVX. All vector registers are declared as overwritten, and nothing else changes.
    unsafe {
        std::arch::asm!("vzeroupper", clobber_abi("C"), options(nomem, nostack, preserves_flags));
    }
}

#[cfg(xsmm_api = "1")]
use first::{Code, call};
#[cfg(xsmm_api = "2")]
use second::{Code, call};

/// The interface of LIBXSMM 1.17.
#[cfg(xsmm_api = "1")]
mod first {
    use libxsmm_sys::v1::*;

    use super::{Real, Shape};

    pub type Code<R> = unsafe extern "C" fn(*const R, *const R, *mut R);

    macro_rules! real {
        ($real:ty, $dispatch:ident) => {
            impl Real for $real {
                fn generate(shape: Shape) -> Option<Code<$real>> {
                    let [m, n, k] = shape.extents;
                    let [lda, ldb, ldc] = &shape.strides;
                    let flags = if shape.transpose_b { LIBXSMM_GEMM_FLAG_TRANS_B } else { LIBXSMM_GEMM_FLAG_NONE };
                    let none = LIBXSMM_GEMM_PREFETCH_NONE;
                    // SAFETY: all pointers refer to values that outlive the call, and any thread may make the call.
                    unsafe { $dispatch(m, n, k, lda, ldb, ldc, &1.0, &0.0, &flags, &none) }
                }
            }
        };
    }

    real!(f32, libxsmm_smmdispatch);
    real!(f64, libxsmm_dmmdispatch);

    /// # Safety
    /// Same as for `Tile::call`.
    #[inline(always)]
    pub unsafe fn call<R>(code: Code<R>, a: *const R, b: *const R, c: *mut R) {
        // SAFETY: guaranteed by the caller; code without prefetching reads three arguments.
        unsafe { code(a, b, c) }
    }
}

/// The interface of LIBXSMM 2.
#[cfg(xsmm_api = "2")]
mod second {
    use std::marker::PhantomData;
    use std::ptr::null_mut;

    use libxsmm_sys::v2::*;

    use super::{Real, Shape};

    /// Called with untyped pointers.
    pub struct Code<R> {
        function: libxsmm_gemmfunction,
        of: PhantomData<fn(R)>,
    }

    impl<R> Clone for Code<R> {
        fn clone(&self) -> Self {
            *self
        }
    }

    impl<R> Copy for Code<R> {}

    macro_rules! real {
        ($real:ty, $datatype:ident) => {
            impl Real for $real {
                fn generate(shape: Shape) -> Option<Code<$real>> {
                    let [m, n, k] = shape.extents;
                    let [lda, ldb, ldc] = shape.strides;
                    let [a_in_type, b_in_type, out_type, comp_type] = [$datatype; 4];
                    let shape_of =
                        libxsmm_gemm_shape { m, n, k, lda, ldb, ldc, a_in_type, b_in_type, out_type, comp_type };
                    let transpose = if shape.transpose_b { LIBXSMM_GEMM_FLAG_TRANS_B } else { LIBXSMM_GEMM_FLAG_NONE };
                    // SAFETY: arguments are passed by value, and any thread may make the call.
                    let function = unsafe {
                        libxsmm_dispatch_gemm(
                            shape_of,
                            transpose | LIBXSMM_GEMM_FLAG_BETA_0,
                            LIBXSMM_GEMM_PREFETCH_NONE,
                        )
                    };
                    function.map(|function| Code { function, of: PhantomData })
                }
            }
        };
    }

    real!(f32, LIBXSMM_DATATYPE_F32);
    real!(f64, LIBXSMM_DATATYPE_F64);

    const NO_STATE: libxsmm_matrix_op_arg = libxsmm_matrix_op_arg {
        primary: null_mut(),
        secondary: null_mut(),
        tertiary: null_mut(),
        quaternary: null_mut(),
    };

    const NO_MATRIX: libxsmm_matrix_arg = libxsmm_matrix_arg {
        primary: null_mut(),
        secondary: null_mut(),
        tertiary: null_mut(),
        quaternary: null_mut(),
        quinary: null_mut(),
        senary: null_mut(),
    };

    /// # Safety
    /// Same as for `Tile::call`.
    #[inline(always)]
    pub unsafe fn call<R>(code: Code<R>, a: *const R, b: *const R, c: *mut R) {
        let matrix = |primary| libxsmm_matrix_arg { primary, ..NO_MATRIX };
        let parameters = libxsmm_gemm_param {
            op: NO_STATE,
            a: matrix(a.cast_mut().cast()),
            b: matrix(b.cast_mut().cast()),
            c: matrix(c.cast()),
        };
        // SAFETY: guaranteed by the caller; the code only reads `a` and `b`.
        unsafe { (code.function)(&parameters) }
    }
}

#[cfg(test)]
#[path = "xsmm/tests.rs"] // Benchmarks include this file by its path.
mod tests;
