//! [`RunConfig`], the description of a run after all flags have been validated.
//!
//! Invariant: every rank has the same [`RunConfig`], or none has one.

use einsum_dist::exec::{ResolvedKernel, kernel_name};
use einsum_dist::report::PathSearchReport;
use einsum_dist::timeline::Timeline;
use einsum_dist::tree::Tree;
use einsum_dist::{Checkpoint, PathMethod, Plan};

use super::args::Args;
use super::units::bytes;

#[derive(Debug)]
pub struct RunConfig {
    pub tree: Tree,
    pub plan: Plan,
    /// The plan for a single rank, to which `--explain` compares `plan`, if the machine has a topology.
    pub one_rank_plan: Option<Plan>,
    /// The memory limit because of too little free memory, or of an interrupted run.
    pub chosen_limit: Option<u64>,
    pub path_search: PathSearchReport,
    pub plan_seconds: f64,
    pub resolved_kernel: ResolvedKernel,
    pub checkpoint: Option<Checkpoint>,
    /// Whether neither `--size` nor a file gives some extent.
    pub default_sizes: bool,
    /// Bytes for the check per process.
    pub check_bytes: u64,
    pub args: Args,
}

impl RunConfig {
    /// The name of the kernel in the schedules, or in a few of them above 256 ranks.
    pub fn kernel(&self) -> &'static str {
        let ranks = self.plan.sampled_ranks();
        kernel_name(self.resolved_kernel, self.plan.dtype, ranks.iter().map(|&rank| self.plan.schedule(rank)))
    }

    /// Says which memory limit was chosen, and why.
    pub fn chosen_limit(&self) -> Option<String> {
        let why = match self.path_search.method {
            PathMethod::Checkpoint => "as in the interrupted run",
            _ => "as there is too little memory for a plan without a limit",
        };
        Some(format!("{} per rank, {why}", bytes(self.chosen_limit? as f64)))
    }

    /// Simulates the plan, with overlap as in the run; `None` for too many ranks.
    pub fn simulated_timeline(&self) -> Option<Timeline> {
        if self.args.no_overlap { self.plan.simulate_in_turns() } else { self.plan.simulate() }
    }
}
