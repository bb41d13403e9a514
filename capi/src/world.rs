//! The ranks that run programs.

use std::ffi::{c_char, c_int};

use einsum_dist::World;

use super::argument::{free, handle, write_handle};
use super::status::{Failure, Result, Status, guarded, guarded_or};

/// Ranks in this process, or the processes of an MPI communicator. Belongs to the thread that created it.
pub struct einsum_dist_world(pub World);

/// A world of one rank, which computes with the threads of the library.
///
/// # Safety
/// `world` points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_single(world: *mut *mut einsum_dist_world) -> Status {
    // SAFETY: guaranteed by the caller.
    guarded(|| unsafe { write_handle(world, einsum_dist_world(World::single()), "world") })
}

/// A world of `ranks` ranks in this process, each with a communication thread and workers.
///
/// # Safety
/// `world` points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_in_process(ranks: usize, world: *mut *mut einsum_dist_world) -> Status {
    guarded(|| {
        if ranks == 0 {
            return Err(Failure::usage("a world has at least one rank"));
        }
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(world, einsum_dist_world(World::in_process(ranks)), "world") }
    })
}

/// A world of the processes of a communicator. `comm` points to an `MPI_Comm`, which is duplicated. Collective over it.
/// Fails if the library was built without MPI.
///
/// # Safety
/// `comm` points to a live communicator of the MPI library that this library was built with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_mpi(
    comm: *const std::ffi::c_void,
    world: *mut *mut einsum_dist_world,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(world, einsum_dist_world(of_c(comm)?), "world") }
    })
}

/// Like `einsum_dist_world_mpi`, for a communicator of Fortran: an integer, or `comm%MPI_VAL`.
///
/// # Safety
/// `comm` is a live communicator of the MPI library that this library was built with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_mpi_f(comm: c_int, world: *mut *mut einsum_dist_world) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        unsafe { write_handle(world, einsum_dist_world(of_fortran(comm)?), "world") }
    })
}

/// # Safety
/// `comm` is `NULL` or points to a live communicator.
#[cfg(feature = "mpi")]
unsafe fn of_c(comm: *const std::ffi::c_void) -> Result<World> {
    // SAFETY: guaranteed by the caller.
    let comm = unsafe { super::communicator::Foreign::at(comm.cast())? };
    Ok(World::from_communicator(&comm)?)
}

/// # Safety
/// `comm` is a live communicator.
#[cfg(feature = "mpi")]
unsafe fn of_fortran(comm: c_int) -> Result<World> {
    // SAFETY: guaranteed by the caller.
    let comm = unsafe { super::communicator::Foreign::of_fortran(comm) };
    Ok(World::from_communicator(&comm)?)
}

/// # Safety
/// None is needed.
#[cfg(not(feature = "mpi"))]
unsafe fn of_c(_comm: *const std::ffi::c_void) -> Result<World> {
    Err(without_mpi())
}

/// # Safety
/// None is needed.
#[cfg(not(feature = "mpi"))]
unsafe fn of_fortran(_comm: c_int) -> Result<World> {
    Err(without_mpi())
}

#[cfg(not(feature = "mpi"))]
fn without_mpi() -> Failure {
    Failure::usage("this build of einsum-dist has no MPI: build it with the feature mpi and the MPI of the program")
}

/// The number of ranks; 0 for NULL.
///
/// # Safety
/// `world` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_ranks(world: *const einsum_dist_world) -> usize {
    // SAFETY: guaranteed by the caller.
    guarded_or(0, || unsafe { world.as_ref() }.map_or(0, |world| world.0.ranks()))
}

/// The first rank in this process, under MPI the only one; 0 for NULL.
///
/// # Safety
/// `world` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_rank(world: *const einsum_dist_world) -> usize {
    // SAFETY: guaranteed by the caller.
    guarded_or(0, || unsafe { world.as_ref() }.map_or(0, |world| world.0.local_ranks().start))
}

/// Pins the workers of each rank to cores of their own. Call it before tensors and programs exist. Collective.
///
/// # Safety
/// `world` is a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_place(world: *const einsum_dist_world, workers: usize) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        unsafe { handle(world, "world") }?.0.place(workers)?;
        Ok(())
    })
}

/// Releases what the ranks share, and frees the world, also if it fails. Programs and tensors must be freed first.
/// Collective.
///
/// # Safety
/// `world` is null or a live handle, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_finish(world: *mut einsum_dist_world) -> Status {
    guarded(|| {
        if world.is_null() {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller; handles are made from boxes.
        let einsum_dist_world(world) = *unsafe { Box::from_raw(world) };
        Ok(world.finish()?)
    })
}

/// Frees a world without waiting for other processes, as after an error. NULL is ignored.
///
/// # Safety
/// `world` is null or a live handle, which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_free(world: *mut einsum_dist_world) {
    // SAFETY: guaranteed by the caller.
    unsafe { free(world) }
}

/// The name of the transport: `none`, `shared`, `message`, and others. `einsum_dist_text_free` frees it.
///
/// # Safety
/// `world` is a live handle, and `transport` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn einsum_dist_world_transport(
    world: *const einsum_dist_world,
    transport: *mut *mut c_char,
) -> Status {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        unsafe { super::argument::write_text(transport, handle(world, "world")?.0.transport(), "transport") }
    })
}
