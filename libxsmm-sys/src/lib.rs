//! Raw declarations of what [LIBXSMM](https://github.com/libxsmm/libxsmm) offers for small matrix products: code that is
//! generated at run time for one shape, and kept by the library.
//!
//! LIBXSMM has two interfaces, and the one that was found is compiled: `v1` for releases 1.16 and 1.17, x86-64 only,
//! or `v2` for 2.x, which also generates NEON and SVE. Crates that depend on this one learn which from `DEP_XSMM_API` in
//! their build scripts. Matrices are column-major in both. Dispatching is thread-safe; generated code lives as
//! long as the program and may be called by any number of threads.
//!
//! Generated code leaves the upper halves of x86 vector registers dirty: `vzeroupper` is the caller's.
//!
//! # Linking
//! `LIBXSMM_DIR` names an installation, otherwise pkg-config finds it. A static library is preferred, and LIBXSMM's own
//! license then applies to the program, see the file NOTICE. LIBXSMM 1.x refers to `sgemm_`, `dgemm_`, `sgemv_` and `dgemv_`, for
//! products that it does not generate. They are taken from `xsmmnoblas`, whose versions only complain. A
//! program that uses a BLAS beside sets `LIBXSMM_BLAS` to that library's name, so that these symbols stay the BLAS's.
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
