//! The target of a local plan: instruction set, family of micro-kernels, caches, threads.

use serde::{Deserialize, Serialize};

use super::Isa;
use crate::dtype::Dtype;

/// The origin of the micro-kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelFamily {
    /// This crate's.
    Own,
    /// LIBXSMM's, generated for each size.
    Xsmm,
    /// LIBXSMM's for batches of small products, and this crate's for everything else.
    Mixed,
}

/// Bytes of a cache line on every machine that matters.
pub const CACHE_LINE: usize = 64;

/// Below this many multiply-adds, waking a second thread for products costs more than it gains.
pub(crate) const MIN_PARALLEL_MULTIPLY_ADDS: f64 = 400_000.0;

/// From this many bytes on, out may be written past the caches: no cache keeps that much until it is read.
pub(super) const MIN_STREAMED_OUT_BYTES: usize = 16 << 20;

/// Bytes of data cache that one core can count on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caches {
    /// The first level.
    pub l1: usize,
    /// The second level.
    pub l2: usize,
}

impl Default for Caches {
    /// Sizes that most present-day cores have at least.
    fn default() -> Caches {
        Caches { l1: 32 << 10, l2: 512 << 10 }
    }
}

/// The part of a machine that one contraction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The widest instructions to use.
    pub isa: Isa,
    /// The origin of the micro-kernels.
    pub family: KernelFamily,
    /// The caches of a core.
    pub caches: Caches,
    /// The number of compute threads.
    pub threads: usize,
}

impl Target {
    /// Elements per vector register, at least 1.
    pub const fn lanes(&self, dtype: Dtype) -> usize {
        let lanes = self.isa.vector_bytes() / dtype.size();
        if lanes == 0 { 1 } else { lanes }
    }
}
