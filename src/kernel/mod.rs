//! Computes on strided tensors of a Rust element type, on the current rayon pool.
//!
//! | file | contents |
//! |---|---|
//! | `element` | the four element types |
//! | `compiled`, `instances` | the entry points below as concrete functions, so that no other crate compiles kernels again |
//! | `contract` | out = alpha left right + beta out, as planned by [`crate::local_plan`] |
//! | `loops`, `gemm`, `products` | the kernels of `contract`: loops, matrix products, and batches of small products |
//! | `unary` | permute, diagonal, sum |
//! | `permute`, `sum` | the kernels of `unary`; `permute` is also the kernel of every other copy |
//! | `simd` | SIMD vectors of every instruction set |
//! | `micro` | micro-kernels: products of a few rows and columns, accumulated in registers |
//! | `xsmm` | small products by LIBXSMM, with the feature `libxsmm` on x86-64 and AArch64 |
//! | `elementwise` | fill, scale, copy, add |
//! | `host` | instructions and caches of this machine |
//! | `tensor` | a strided tensor: pointer, extents, strides |
//! | `workspace`, `zeroed` | memory for packing |
//! | `reporting_allocator` | an allocator that ends a program with a message when memory runs out |
//! | `reference`, `error_bound` | a slow and obviously correct einsum, and the error bound of the fast kernels |
//!
//! Invariants: labels, extents and strides are checked before any pointer arithmetic; a destination with factor 0 is
//! never read, so that NaN in fresh memory cannot propagate; the same call on the same number of threads gives bitwise
//! identical results. Complex numbers are never conjugated. Deliberately absent: ranks, and the choice of a kernel,
//! which is part of [`crate::local_plan`].

mod compiled;
mod contract;
mod element;
mod elementwise;
mod error_bound;
mod gemm;
mod host;
mod huge_pages;
mod instances;
mod loops;
mod micro;
mod permute;
mod pointer;
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod products;
mod reference;
mod reporting_allocator;
mod simd;
mod sum;
mod tensor;
mod threads;
mod unary;
mod workspace;
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod xsmm;
mod zeroed;

pub use contract::{contract, contract_planned, contract_strided, plan};
pub use element::Element;
pub use elementwise::{add, copy, fill, scale};
pub use error_bound::error_bound;
pub use host::{default_family, has_xsmm, host, target};
pub use huge_pages::request_huge_pages;
pub use reference::{Reference, ReferenceValue, reference, reference_contract, reference_element};
pub use reporting_allocator::{ReportingAllocator, end_at_once, fallible, report_with, share_few_addresses};
pub(crate) use simd::prefetch;
pub use simd::{available, widest};
pub use tensor::{Tensor, TensorMut};
pub use unary::{plan_unary, unary, unary_planned, unary_strided};
pub use workspace::{OutOfMemory, Workspace};
pub use zeroed::Zeroed;
