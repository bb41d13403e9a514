//! [`RunConfig`], which describes a run after validation of all flags.
//!
//! Invariant: every rank has the same [`RunConfig`], or none has one.

use einsum_dist::exec::{ResolvedKernel, kernel_name};
use einsum_dist::report::PathSearchReport;
use einsum_dist::schedule::Schedule;
use einsum_dist::timeline::Timeline;
use einsum_dist::tree::Tree;
use einsum_dist::{Checkpoint, PathMethod, Plan};

use super::args::Args;
use super::units::bytes;

#[derive(Debug)]
pub struct RunConfig {
    pub tree: Tree,
    pub plan: Plan,
    /// A single rank's plan, to which `--explain` compares `plan`, if the machine has a topology.
    pub one_rank_plan: Option<Plan>,
    /// The memory limit due to too little free memory, or to an interrupted run.
    pub chosen_limit: Option<u64>,
    pub path_search: PathSearchReport,
    pub plan_seconds: f64,
    pub resolved_kernel: ResolvedKernel,
    pub checkpoint: Option<Checkpoint>,
    /// Whether neither `--size` nor a file gives some extent.
    pub default_sizes: bool,
    /// The check's bytes per process.
    pub check_bytes: u64,
    pub args: Args,
}

impl RunConfig {
    pub fn kernel(&self, sampled: &[Schedule]) -> &'static str {
        kernel_name(self.resolved_kernel, self.plan.dtype, sampled)
    }

    pub fn chosen_limit(&self) -> Option<String> {
        let why = match self.path_search.method {
            PathMethod::Checkpoint => "as in the interrupted run",
            _ => "as there is too little memory for a plan without a limit",
        };
        Some(format!("{} per rank, {why}", bytes(self.chosen_limit? as f64)))
    }

    /// The plan simulated with the run's overlap; `None` for too many ranks.
    pub fn simulated_timeline(&self) -> Option<Timeline> {
        self.plan.simulate_with_noise(!self.args.no_overlap, self.args.noise.unwrap_or_default())
    }
}
