//! Unit tests of `session`.

use super::*;

#[test]
fn the_wrong_mpirun_is_named_with_the_way_out() {
    let launcher = Launcher { kind: LauncherKind::OpenMpi, rank: 0, size: Some(4) };
    let message = foreign(&launcher, "MPICH");
    assert!(message.contains("started by Open MPI's mpirun but built with MPICH: 4 separate runs"), "{message}");
    assert!(message.contains("MPICC=mpicc.openmpi"), "{message}");
}

#[test]
fn without_a_launcher_nothing_is_initialised() {
    if launchers().is_empty() {
        assert!(matches!(Mpi::init(), Err(CommError::Start(_))));
        assert!(!is_initialized());
    }
}
