//! The target of a local plan: instruction set, family of micro-kernels, caches, threads.

use serde::{Deserialize, Serialize};

use super::Isa;
use crate::dtype::Dtype;

/// The origin of the micro-kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelFamily {
    /// The micro-kernels of this crate.
    Own,
    /// The micro-kernels of LIBXSMM, generated for each size.
    Xsmm,
    /// The micro-kernels of LIBXSMM for batches of small products, and those of this crate for everything else.
    Mixed,
}

/// Assumed bytes of a cache line, true of x86-64 and of most AArch64 processors.
pub const CACHE_LINE: usize = 64;

/// Below this many multiply-adds, waking a second thread for matrix products costs more than it gains.
pub(crate) const MIN_PARALLEL_MULTIPLY_ADDS: f64 = 400_000.0;

/// Minimum bytes of out for which stores may bypass the caches: no cache keeps a tensor of this size until it is read.
pub(super) const MIN_STREAMED_OUT_BYTES: usize = 16 << 20;

/// Bytes of data cache that are available to one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caches {
    /// Bytes of the first-level data cache.
    pub l1: usize,
    /// Bytes of the second-level cache.
    pub l2: usize,
}

impl Default for Caches {
    /// Most current cores have caches of at least these sizes.
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
