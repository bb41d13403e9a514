//! Finds contraction orders and slices for einsum networks.
//!
//! A contraction order is a list of pairs of tensors. A network's n tensors have the numbers 0 to n - 1, and the i-th
//! contraction's result has the number n + i.
//!
//! Guarantees: the same network, settings and request give the same order, whichever thread runs which chain. No clock
//! is read, and no recursion is deeper than the logarithm of the number of tensors.
//!
//! ```
//! use einsum_path::{Network, Prepared, Price, Request, Settings, search};
//!
//! // A ring of 40 matrices: ab,bc,cd,...->
//! let tensors = (0..40).map(|at| vec![at, (at + 1) % 40]).collect();
//! let network = Prepared::new(&Network { tensors, output: vec![], extents: vec![10; 40] });
//! let settings = Settings { price: Price { element: 1.0, step: 0.0 }, limit: f64::INFINITY };
//! let request = Request { threads: 2, budget: &|_| 0.01, known: vec![], excess: &|_| 0.0 };
//! let found = search(&network, settings, request);
//! // 38 contractions of 10^3 multiply-adds, and one of 10^2.
//! assert_eq!(found.solutions[0].products.exp2().round(), 38.0 * 1000.0 + 100.0);
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod anneal;
mod bits;
mod chain;
mod effort;
mod fast_math;
mod greedy;
mod network;
mod optimal;
mod partition;
mod random;
mod reconfigure;
mod search;
mod slicing;
mod tree;
mod window;

pub use chain::{Settings, Solution};
pub use greedy::{GreedyParameters, greedy};
pub use network::{Labelled, Network, Prepared};
pub use optimal::{Proof, log2_sum, optimal};
pub use search::{CHAINS, Found, Progress, Request, search};
pub use tree::Price;
