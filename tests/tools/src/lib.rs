//! Libraries that only tests and benchmarks use. They are dependencies of this package instead of the library's, so that
//! the lock file in the library's package does not list them: packages leave out dependencies on packages that are not
//! published.

pub use {npyz, proptest, pulp, shuttle};
