//! The interface of LIBXSMM 1.16 and 1.17.
//!
//! A null pointer for a leading dimension, `alpha`, `beta`, `flags` or `prefetch` selects the default. With the default
//! prefetch, generated code may read more arguments than declared here, so pass [`LIBXSMM_GEMM_PREFETCH_NONE`]. `alpha`
//! must be 1, and `beta` 0 or 1.

use core::ffi::{c_int, c_ulonglong};

use crate::libxsmm_blasint;

pub const LIBXSMM_GEMM_FLAG_NONE: c_int = 0;
/// No code is generated for this flag: dispatching returns null.
pub const LIBXSMM_GEMM_FLAG_TRANS_A: c_int = 1;
pub const LIBXSMM_GEMM_FLAG_TRANS_B: c_int = 2;
/// The library sets this flag itself if `beta` is 0.
pub const LIBXSMM_GEMM_FLAG_BETA_0: c_int = 16;

pub const LIBXSMM_GEMM_PREFETCH_NONE: c_int = 0;

macro_rules! real {
    ($real:ty, $function:ident, $strided:ident, $dispatch:ident, $dispatch_strided:ident) => {
        /// Computes `c = a b + beta c`. In C, variadic arguments for prefetching follow.
        pub type $function = unsafe extern "C" fn(a: *const $real, b: *const $real, c: *mut $real);

        /// Computes `c = sum of a_i b_i + beta c`, for i from 0 to `count - 1`.
        pub type $strided =
            unsafe extern "C" fn(a: *const $real, b: *const $real, c: *mut $real, count: *const c_ulonglong);

        unsafe extern "C" {
            /// The function, or null if none can be generated.
            pub fn $dispatch(
                m: libxsmm_blasint,
                n: libxsmm_blasint,
                k: libxsmm_blasint,
                lda: *const libxsmm_blasint,
                ldb: *const libxsmm_blasint,
                ldc: *const libxsmm_blasint,
                alpha: *const $real,
                beta: *const $real,
                flags: *const c_int,
                prefetch: *const c_int,
            ) -> Option<$function>;

            /// The function, or null if none can be generated. The strides are the bytes from one `a_i` or `b_i` to the
            /// next.
            pub fn $dispatch_strided(
                m: libxsmm_blasint,
                n: libxsmm_blasint,
                k: libxsmm_blasint,
                stride_a: libxsmm_blasint,
                stride_b: libxsmm_blasint,
                lda: *const libxsmm_blasint,
                ldb: *const libxsmm_blasint,
                ldc: *const libxsmm_blasint,
                alpha: *const $real,
                beta: *const $real,
                flags: *const c_int,
                prefetch: *const c_int,
            ) -> Option<$strided>;
        }
    };
}

real!(
    f32,
    libxsmm_smmfunction,
    libxsmm_smmfunction_reducebatch_strd,
    libxsmm_smmdispatch,
    libxsmm_smmdispatch_reducebatch_strd
);
real!(
    f64,
    libxsmm_dmmfunction,
    libxsmm_dmmfunction_reducebatch_strd,
    libxsmm_dmmdispatch,
    libxsmm_dmmdispatch_reducebatch_strd
);

unsafe extern "C" {
    /// Initialises the library; optional, because the first dispatch also does.
    pub fn libxsmm_init();

    /// The instruction set for which code is generated.
    pub fn libxsmm_get_target_arch() -> *const core::ffi::c_char;
}
