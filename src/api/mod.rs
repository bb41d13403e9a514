//! Implements the public interface of the library.
//!
//! ```text
//! Problem::parse(expr)?.shapes(&[..])?.plan(&machine, &options)?  -> Plan
//! World::single() | in_process(ranks) | mpi() | from_communicator(&c)
//! world.compile::<T>(&plan)? -> Program;   program.run(&[&a, &b])? -> ArrayD<T>
//! ```

#![warn(missing_docs)]

mod cache;
mod calibration;
mod checkpoint;
mod clock;
mod cores;
mod crew;
mod dist_tensor;
mod error;
mod exponent;
mod gathered;
mod launch;
mod measured;
mod memory_limits;
mod npy;
mod operand;
mod operand_parts;
mod output;
mod own_cores;
mod path_cache;
mod placement;
mod problem;
mod program;
mod program_cache;
mod record;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod slice_groups;
mod topology;
#[cfg(feature = "mpi")]
mod transport_choice;
mod validate;
mod whole_tensors;
mod world;

/// The name, the cores and the topology of this process's host.
pub mod host {
    pub use crate::api::cores::{cpus, name, processors};
    pub use crate::api::topology::{allowed, topology};
}

pub use checkpoint::Checkpoint;
pub use crew::start_threads;
pub use dist_tensor::DistTensor;
pub use error::{Error, Rank, Result};
pub use npy::NpyOutput;
pub use operand::{Operand, Output};
pub use operand_parts::OperandParts;
pub use own_cores::Workers;
pub use problem::{Problem, Shaped};
pub use program::Program;
pub use program_cache::{ProgramCache, einsum};
pub use world::World;
