//! Declares the functions of [LIBXSMM](https://github.com/libxsmm/libxsmm) for small matrix products. At run time,
//! LIBXSMM generates code for one shape at a time, and owns this code.
//!
//! LIBXSMM has two interfaces. `v1` is for releases 1.16 and 1.17, which support only x86-64. `v2` is for 2.x, which
//! also generates NEON and SVE code. This crate compiles only the interface of the installed library. The build scripts
//! of dependent crates read the number of the interface from `DEP_XSMM_API`. Matrices are column-major in both
//! interfaces. Dispatching is thread-safe. Generated code remains valid as long as the program runs, and any number of
//! threads may call it.
//!
//! Generated code leaves the upper halves of x86 vector registers dirty, which slows down later SSE code, so the caller
//! must execute `vzeroupper`.
//!
//! # Linking
//! The environment variable `LIBXSMM_DIR` gives the directory of an installation. If it is not set, pkg-config finds an
//! installation. A static library is preferred. If it is used, LIBXSMM is part of the program, so LIBXSMM's license
//! also applies to the program (see the file NOTICE). LIBXSMM 1.x calls `sgemm_`, `dgemm_`, `sgemv_` and `dgemv_` for
//! products for which it generates no code. By default, these symbols come from `xsmmnoblas`, whose functions only
//! print an error. If a program also uses a BLAS library, set `LIBXSMM_BLAS` to the name of that library, so that these
//! symbols refer to the BLAS library.
//!
//! This crate declares only the functions that `einsum-dist` needs. The safe wrappers are in `einsum-dist`.

#![allow(non_camel_case_types)]

/// The integer type of the library's interface.
#[cfg(not(xsmm_ilp64))]
pub type libxsmm_blasint = core::ffi::c_int;
/// The integer type of the library's interface.
#[cfg(xsmm_ilp64)]
pub type libxsmm_blasint = core::ffi::c_longlong;

#[cfg(xsmm_api = "1")]
pub mod v1;
#[cfg(xsmm_api = "2")]
pub mod v2;
