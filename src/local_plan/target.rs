//! What a local contraction is planned for: instructions, caches, threads.

use serde::{Deserialize, Serialize};

use super::Isa;
use crate::dtype::Dtype;

/// Whose micro-kernels multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Those of this crate.
    Own,
    /// Those that LIBXSMM generates for each size.
    Xsmm,
    /// LIBXSMM's for batches of small products, and those of this crate for all else.
    Mixed,
}

/// Bytes of a cache line on every machine that matters.
pub const CACHE_LINE: usize = 64;

/// Below this many multiply-adds, waking a second thread for products costs more than it gains.
pub(crate) const WORTH_THREADS: f64 = 400_000.0;

/// Bytes of out from which on it may go past the caches: none keeps so much until it is read.
pub(super) const FAR_BYTES: usize = 16 << 20;

/// Bytes of data cache that one core can count on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caches {
    pub l1: usize,
    pub l2: usize,
}

impl Default for Caches {
    /// What most present cores have at least.
    fn default() -> Caches {
        Caches { l1: 32 << 10, l2: 512 << 10 }
    }
}

/// A machine's part that one contraction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    pub isa: Isa,
    pub family: Family,
    pub caches: Caches,
    pub threads: usize,
}

impl Target {
    /// Elements of a vector register.
    pub const fn lanes(&self, dtype: Dtype) -> usize {
        let lanes = self.isa.vector_bytes() / dtype.size();
        if lanes == 0 { 1 } else { lanes }
    }
}
