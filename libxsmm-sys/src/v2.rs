//! The interface of LIBXSMM 2.x.
//!
//! Generated code has one argument, a pointer to a [`libxsmm_gemm_param`]. A product of real matrices reads the primary
//! pointers of `a`, `b` and `c`. Batch reduction by stride also reads the number of products, to which `op.tertiary`
//! points.

use core::ffi::{c_uchar, c_uint, c_void};

use crate::libxsmm_blasint;

pub type libxsmm_bitfield = c_uint;
pub type libxsmm_datatype = c_uint;
pub type libxsmm_gemm_batch_reduce_type = c_uint;

pub const LIBXSMM_DATATYPE_F64: libxsmm_datatype = 0;
pub const LIBXSMM_DATATYPE_F32: libxsmm_datatype = 1;

pub const LIBXSMM_GEMM_FLAG_NONE: libxsmm_bitfield = 0;
/// Every call copies the transpose of `a` to the generated code's memory.
pub const LIBXSMM_GEMM_FLAG_TRANS_A: libxsmm_bitfield = 1;
pub const LIBXSMM_GEMM_FLAG_TRANS_B: libxsmm_bitfield = 2;
/// Overwrites `c` without reading it; otherwise, the product is added.
pub const LIBXSMM_GEMM_FLAG_BETA_0: libxsmm_bitfield = 4;

pub const LIBXSMM_GEMM_PREFETCH_NONE: libxsmm_bitfield = 0;

pub const LIBXSMM_GEMM_BATCH_REDUCE_NONE: libxsmm_gemm_batch_reduce_type = 0;
pub const LIBXSMM_GEMM_BATCH_REDUCE_STRIDE: libxsmm_gemm_batch_reduce_type = 4;

/// An operation's state and parameters.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct libxsmm_matrix_op_arg {
    pub primary: *mut c_void,
    pub secondary: *mut c_void,
    pub tertiary: *mut c_void,
    pub quaternary: *mut c_void,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct libxsmm_matrix_arg {
    pub primary: *mut c_void,
    pub secondary: *mut c_void,
    pub tertiary: *mut c_void,
    pub quaternary: *mut c_void,
    pub quinary: *mut c_void,
    pub senary: *mut c_void,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct libxsmm_gemm_param {
    pub op: libxsmm_matrix_op_arg,
    pub a: libxsmm_matrix_arg,
    pub b: libxsmm_matrix_arg,
    pub c: libxsmm_matrix_arg,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct libxsmm_gemm_shape {
    pub m: libxsmm_blasint,
    pub n: libxsmm_blasint,
    pub k: libxsmm_blasint,
    pub lda: libxsmm_blasint,
    pub ldb: libxsmm_blasint,
    pub ldc: libxsmm_blasint,
    pub a_in_type: libxsmm_datatype,
    pub b_in_type: libxsmm_datatype,
    pub out_type: libxsmm_datatype,
    pub comp_type: libxsmm_datatype,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct libxsmm_gemm_batch_reduce_config {
    pub br_type: libxsmm_gemm_batch_reduce_type,
    /// Bytes from one `a` to the next.
    pub br_stride_a_hint: libxsmm_blasint,
    /// Bytes from one `b` to the next.
    pub br_stride_b_hint: libxsmm_blasint,
    /// Products, or 0 for no hint.
    pub br_unroll_hint: c_uchar,
}

pub type libxsmm_gemmfunction = unsafe extern "C" fn(parameters: *const libxsmm_gemm_param);

unsafe extern "C" {
    /// Initialises the library; optional, because the first dispatch also does.
    pub fn libxsmm_init();

    /// The instruction set for which code is generated.
    pub fn libxsmm_get_target_arch() -> *const core::ffi::c_char;

    pub fn libxsmm_create_gemm_shape(
        m: libxsmm_blasint,
        n: libxsmm_blasint,
        k: libxsmm_blasint,
        lda: libxsmm_blasint,
        ldb: libxsmm_blasint,
        ldc: libxsmm_blasint,
        a_in_type: libxsmm_datatype,
        b_in_type: libxsmm_datatype,
        out_type: libxsmm_datatype,
        comp_type: libxsmm_datatype,
    ) -> libxsmm_gemm_shape;

    /// The function, or null if none can be generated.
    pub fn libxsmm_dispatch_gemm(
        gemm_shape: libxsmm_gemm_shape,
        gemm_flags: libxsmm_bitfield,
        prefetch_flags: libxsmm_bitfield,
    ) -> Option<libxsmm_gemmfunction>;

    /// The function, or null if none can be generated.
    pub fn libxsmm_dispatch_brgemm(
        gemm_shape: libxsmm_gemm_shape,
        gemm_flags: libxsmm_bitfield,
        prefetch_flags: libxsmm_bitfield,
        brgemm_config: libxsmm_gemm_batch_reduce_config,
    ) -> Option<libxsmm_gemmfunction>;
}
