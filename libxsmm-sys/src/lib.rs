//! Declares the functions of [LIBXSMM](https://github.com/libxsmm/libxsmm) for small matrix products. At run time, it
//! generates code for one shape at a time, which it owns.
//!
//! Interface `v1` is for releases 1.16 and 1.17, on x86-64 only; `v2` is for 2.x, which also generates NEON and SVE
//! code. Only the installed library's interface is compiled; build scripts of dependent crates read its number from
//! `DEP_XSMM_API`. Matrices are column-major. Dispatching is thread-safe. Generated code remains valid as long as the
//! program runs, and any threads may call it.
//!
//! Generated code leaves the upper halves of x86 vector registers dirty, which slows later SSE code, so callers must
//! execute `vzeroupper`.
//!
//! # Linking
//! The environment variable `LIBXSMM_DIR` names an installation; otherwise pkg-config finds one. A static library is
//! preferred; its license then also applies to the program (see the file NOTICE). LIBXSMM 1.x calls `sgemm_`, `dgemm_`,
//! `sgemv_` and `dgemv_` for products for which it generates no code. By default, they come from `xsmmnoblas`, whose
//! functions only print an error. If a program uses a BLAS library, set `LIBXSMM_BLAS` to its name, so that they come
//! from there.
//!
//! Only what `einsum-dist` needs is declared; it has the safe wrappers.

#![allow(non_camel_case_types)]

/// The library's integer type.
#[cfg(not(xsmm_ilp64))]
pub type libxsmm_blasint = core::ffi::c_int;
/// The library's integer type.
#[cfg(xsmm_ilp64)]
pub type libxsmm_blasint = core::ffi::c_longlong;

#[cfg(xsmm_api = "1")]
pub mod v1;
#[cfg(xsmm_api = "2")]
pub mod v2;
