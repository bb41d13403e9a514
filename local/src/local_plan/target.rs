//! The target of a local plan: instruction set, micro-kernels, caches and threads.

#![warn(missing_docs)]

use serde::{Deserialize, Serialize};

use super::Isa;
use crate::dtype::Dtype;

/// Where micro-kernels come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelFamily {
    /// This crate's micro-kernels.
    Own,
    /// LIBXSMM's micro-kernels, generated for each size.
    Xsmm,
    /// LIBXSMM's for batches of small products, this crate's for everything else.
    Mixed,
}

/// Assumed bytes of a cache line, correct for x86-64 and most AArch64 processors.
pub const CACHE_LINE: usize = 64;

/// With fewer multiply-adds in matrix products, waking a second thread costs more than it saves.
pub const MIN_PARALLEL_MULTIPLY_ADDS: f64 = 400_000.0;

/// With fewer elements, distributing the work costs more than it saves.
pub const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

/// 1 if more do not pay.
pub fn useful_threads(threads: usize, elements: usize) -> usize {
    if elements < MIN_PARALLEL_ELEMENTS { 1 } else { threads.max(1) }
}

/// Minimum bytes of `out` for stores that bypass the caches.
pub(super) const MIN_STREAMED_OUT_BYTES: usize = 16 << 20;

/// One core's data caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caches {
    /// Bytes of the first-level data cache.
    pub l1: usize,
    /// Bytes of the second-level cache.
    pub l2: usize,
}

impl Default for Caches {
    /// Most current cores have these sizes or more.
    fn default() -> Caches {
        Caches { l1: 32 << 10, l2: 512 << 10 }
    }
}

/// What one contraction may use of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The widest instruction set to use.
    pub isa: Isa,
    /// The micro-kernels to use.
    pub family: KernelFamily,
    /// A core's caches.
    pub caches: Caches,
    /// Compute threads.
    pub threads: usize,
}

impl Target {
    /// Elements in a vector register; at least 1.
    pub const fn lanes(&self, dtype: Dtype) -> usize {
        let lanes = self.isa.vector_bytes() / dtype.size();
        if lanes == 0 { 1 } else { lanes }
    }
}
