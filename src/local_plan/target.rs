//! Describes the target of a local plan: instruction set, micro-kernels, caches and threads.

use serde::{Deserialize, Serialize};

use super::Isa;
use crate::dtype::Dtype;

/// The origin of the micro-kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelFamily {
    /// The micro-kernels of this crate.
    Own,
    /// The micro-kernels of LIBXSMM, which are generated for each size.
    Xsmm,
    /// LIBXSMM's micro-kernels for batches of small products, this crate's for everything else.
    Mixed,
}

/// Assumed bytes of a cache line, correct for x86-64 and most AArch64 processors.
pub const CACHE_LINE: usize = 64;

/// Minimum multiply-adds for a second thread in matrix products, below which waking it costs more than it saves.
pub(crate) const MIN_PARALLEL_MULTIPLY_ADDS: f64 = 400_000.0;

/// Minimum elements for several threads; for fewer, distributing the work costs more than it saves.
pub(crate) const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

/// Returns how many of `threads` threads to use for `elements` elements.
pub(crate) fn useful_threads(threads: usize, elements: usize) -> usize {
    if elements < MIN_PARALLEL_ELEMENTS { 1 } else { threads.max(1) }
}

/// Minimum bytes of `out` for stores that bypass the caches; it would be evicted before it is read again.
pub(super) const MIN_STREAMED_OUT_BYTES: usize = 16 << 20;

/// The data caches available to one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caches {
    /// Size of the first-level data cache in bytes.
    pub l1: usize,
    /// Size of the second-level cache in bytes.
    pub l2: usize,
}

impl Default for Caches {
    /// Returns sizes that most current cores have or exceed.
    fn default() -> Caches {
        Caches { l1: 32 << 10, l2: 512 << 10 }
    }
}

/// The resources of a machine that one contraction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The widest instruction set that may be used.
    pub isa: Isa,
    /// The origin of the micro-kernels to use.
    pub family: KernelFamily,
    /// The caches of a core.
    pub caches: Caches,
    /// The number of compute threads.
    pub threads: usize,
}

impl Target {
    /// Returns the number of elements in a vector register; at least 1.
    pub const fn lanes(&self, dtype: Dtype) -> usize {
        let lanes = self.isa.vector_bytes() / dtype.size();
        if lanes == 0 { 1 } else { lanes }
    }
}
