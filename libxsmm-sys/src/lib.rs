//! Raw declarations for small matrix products by [LIBXSMM](https://github.com/libxsmm/libxsmm). The library generates
//! code at run time for one shape, and owns this code.
//!
//! LIBXSMM has two interfaces, of which the one that was found is compiled: `v1` for releases 1.16 and 1.17, x86-64
//! only, or `v2` for 2.x, which also generates NEON and SVE. The build scripts of dependent crates read the interface
//! from `DEP_XSMM_API`. Matrices are column-major in both interfaces. Dispatching is thread-safe. Generated code lives
//! as long as the program, and any number of threads may call it.
//!
//! Generated code leaves the upper halves of x86 vector registers dirty, so the caller must execute `vzeroupper`.
//!
//! # Linking
//! `LIBXSMM_DIR` is the folder of an installation; if it is not set, pkg-config finds one. A static library is
//! preferred, and LIBXSMM's own license then applies to the program, see the file NOTICE. LIBXSMM 1.x refers to
//! `sgemm_`, `dgemm_`, `sgemv_` and `dgemv_`, for products that it does not generate. These symbols are taken from
//! `xsmmnoblas`, whose versions only print an error. A program that also uses a BLAS sets `LIBXSMM_BLAS` to the name of
//! that library, so that these symbols refer to the BLAS.
//!
//! Deliberately absent: safe wrappers, and the many other things that LIBXSMM generates.

#![allow(non_camel_case_types)]

/// The library's integer.
#[cfg(not(xsmm_ilp64))]
pub type libxsmm_blasint = core::ffi::c_int;
/// The library's integer.
#[cfg(xsmm_ilp64)]
pub type libxsmm_blasint = core::ffi::c_longlong;

#[cfg(xsmm_api = "1")]
pub mod v1;
#[cfg(xsmm_api = "2")]
pub mod v2;
