//! The native part of the Python package `package`.
//!
//! This crate only converts: arrays to views, arguments to options, results and errors to Python objects. It uses the
//! public interface of the library without the feature `internals`. Whatever needs no speed is in Python, in the folder
//! `package`.
//!
//! | file | contents |
//! |---|---|
//! | `array` | NumPy arrays as views |
//! | `bound` | values that belong to one thread |
//! | `communicator` | communicators of mpi4py |
//! | `contract` | calls without a plan, through a cache of compiled programs |
//! | `error` | errors as Python exceptions |
//! | `order` | the order in memory of a result's axes |
//! | `range` | warnings of results that left the range of their type |
//! | `plan`, `program` | plans, and plans compiled for arrays |
//! | `world`, `dist_tensor` | ranks, and tensors that are distributed over them |
//! | `threads` | the pool in which contractions compute; its state after a fork |
//!
//! Invariants: The GIL is released while a contraction is planned and computed; it is held while a world is created, and
//! while a tensor is read, written or gathered. `unsafe` makes views of arrays (`array`, and where its functions are
//! called), and passes values of one thread through the interfaces of pyo3 (`bound`).

mod array;
mod bound;
#[cfg(feature = "mpi")]
mod communicator;
mod contract;
mod dist_tensor;
mod error;
mod order;
mod plan;
mod program;
mod range;
mod threads;
mod world;

#[pyo3::pymodule]
mod _einsum_dist {
    use einsum_dist::{Machine, PlanOptions, Problem};
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::contract::{contract, contract_with_exponent, einsum};
    #[pymodule_export]
    use super::dist_tensor::{DistTensor, Distribution};
    #[pymodule_export]
    use super::plan::{Plan, plan, terms};
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::threads::{after_fork_in_child, get_num_threads, set_num_threads};
    #[pymodule_export]
    use super::world::{World, WorldProgram};

    /// Plans once, which detects the processor. A fork while another thread detects it would leave the child waiting.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        let plan = Problem::parse("mk,kn->mn").and_then(|problem| {
            problem.shapes(&[vec![2, 2], vec![2, 2]])?.plan(&Machine::new(1, 1), &PlanOptions::default())
        });
        plan.map(drop).map_err(super::error::exception)
    }

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name of a module's version")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
