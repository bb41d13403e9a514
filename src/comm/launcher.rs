//! Detects this process's MPI launcher from environment variables, so that builds without MPI reject several processes.
//! A process may inherit an outer launcher's variables; [`launchers`] returns both.

use std::fmt;

/// The protocol family of a launcher, named after its best-known member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherKind {
    /// Open MPI's mpirun.
    OpenMpi,
    /// MPICH's mpirun and others that use the PMI protocol: Intel MPI, Cray, Slurm, Flux.
    Mpich,
    /// A PMIx server other than Open MPI's, such as Slurm's.
    Pmix,
}

impl fmt::Display for LauncherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LauncherKind::OpenMpi => "Open MPI's mpirun",
            LauncherKind::Mpich => "MPICH's mpirun",
            LauncherKind::Pmix => "a PMIx launcher",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launcher {
    pub kind: LauncherKind,
    /// The assigned rank; if MPI cannot start, rank 0 reports the error for all.
    pub rank: usize,
    /// The number of processes; `None` for PMIx launchers other than Slurm.
    pub size: Option<usize>,
}

/// The first launcher whose variables are set: Open MPI's, then PMI's and PMIx's.
pub fn launcher() -> Option<Launcher> {
    launchers().into_iter().next()
}

pub fn launchers() -> Vec<Launcher> {
    detect(|name| std::env::var(name).ok())
}

fn detect(variable: impl Fn(&str) -> Option<String>) -> Vec<Launcher> {
    let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    let known = [
        (LauncherKind::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        (LauncherKind::Mpich, "PMI_RANK", "PMI_SIZE"),
        (LauncherKind::Pmix, "PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
    ];
    let mut found: Vec<Launcher> = known
        .into_iter()
        .filter_map(|(kind, rank, size)| Some(Launcher { kind, rank: number(rank)?, size: number(size) }))
        .collect();
    // Open MPI's mpirun is itself a PMIx server.
    if found.iter().any(|launcher| launcher.kind == LauncherKind::OpenMpi) {
        found.retain(|launcher| launcher.kind != LauncherKind::Pmix);
    }
    found
}

#[cfg(test)]
mod tests;
