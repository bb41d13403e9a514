//! The kernels, which compute on strided tensors in the current rayon pool (`docs/kernels.md`).
//!
//! Labels, extents and strides are checked before any pointer arithmetic. If `beta` is 0, `out` is never read, so a NaN
//! in new memory cannot propagate. The same call on the same number of threads gives the same bits. Kernels never
//! communicate.

// `portable_kernels` omits vector instructions, to save build time when other code is tested.
#![cfg_attr(portable_kernels, allow(dead_code, unused_imports, unused_macros))]

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
mod staged;
mod sum;
mod tensor;
mod unary;
mod workspace;
#[cfg(all(feature = "libxsmm", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod xsmm;
mod zeroed;

pub use contract::contract_strided;
pub use element::Element;
pub use elementwise::{add, conjugate, fill, largest, scale};
pub use error_bound::error_bound;
pub use host::{default_family, has_xsmm, host, target};
pub use huge_pages::request_huge_pages;
pub use reference::{Reference, ReferenceValue, reference_contract};
pub use reporting_allocator::{ReportingAllocator, end_at_once, fallible, report_with, share_few_addresses};
pub use simd::prefetch;
pub use simd::{available, widest};
pub use tensor::{Tensor, TensorMut};
pub use unary::unary_strided;
pub use workspace::{OutOfMemory, Workspace};
pub use zeroed::Zeroed;
