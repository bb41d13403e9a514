//! Caches tasks' local plans until their tensors' layouts change.
//!
//! Equal layouts share a plan, and plans share equal tables. Plans for additions, copies and scaling cost no more than
//! a lookup, and are not cached.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::ResolvedKernel;
use crate::dtype::Dtype;
use crate::kernel::{Workspace, target};
use crate::local_plan::{
    Body, Caches, Isa, KernelFamily, Layout, LocalContract, MIN_PARALLEL_ELEMENTS, Target, UnaryPlan, key,
    plan_contract, plan_unary,
};
use crate::schedule::{Schedule, TaskId, View, Work};

#[derive(Debug)]
pub struct Planned {
    kernel: ResolvedKernel,
    dtype: Dtype,
    contracts: CachedPlans<LocalContract>,
    unary: CachedPlans<UnaryPlan>,
    pub workspace: Workspace,
}

/// Plans by task; empty until the first.
#[derive(Debug)]
struct CachedPlans<P> {
    tasks: usize,
    plans: Vec<Option<Arc<Entry<P>>>>,
    known: HashMap<Vec<isize>, Weak<Entry<P>>>,
}

#[derive(Debug)]
struct Entry<P> {
    threads: usize,
    plan: P,
}

const MAX_SHARING_CANDIDATES: usize = 256;

trait Fits {
    fn fits(&self, tensor: usize, layout: &Layout) -> bool;

    fn share(&mut self, _kept: &Self) {}
}

impl Fits for LocalContract {
    fn fits(&self, tensor: usize, layout: &Layout) -> bool {
        LocalContract::fits(self, tensor, layout.extents, layout.strides)
    }

    fn share(&mut self, kept: &LocalContract) {
        LocalContract::share(self, kept);
    }
}

impl Fits for UnaryPlan {
    fn fits(&self, tensor: usize, layout: &Layout) -> bool {
        UnaryPlan::fits(self, tensor, layout.extents, layout.strides)
    }
}

impl<P: Fits> CachedPlans<P> {
    fn new(tasks: usize) -> Self {
        CachedPlans { tasks, plans: Vec::new(), known: HashMap::new() }
    }

    /// The task's previous plan, another task's, or a new one. A task has the same labels in every run.
    fn of(&mut self, task: TaskId, layouts: &[Layout], threads: usize, make: impl FnOnce() -> P) -> &P {
        let fits = |entry: &Entry<P>| {
            let mut layouts = layouts.iter().enumerate();
            entry.threads == threads && layouts.all(|(tensor, layout)| entry.plan.fits(tensor, layout))
        };
        if self.plans.is_empty() {
            self.plans.reserve_exact(self.tasks);
            self.plans.resize_with(self.tasks, || None);
        }
        if !self.plans[task].as_deref().is_some_and(fits) {
            self.plans[task] = Some(self.like(task, layouts, threads, make));
        }
        match &self.plans[task] {
            Some(entry) => &entry.plan,
            None => unreachable!("the task has a plan since the lines above"),
        }
    }

    fn like(&mut self, task: TaskId, layouts: &[Layout], threads: usize, make: impl FnOnce() -> P) -> Arc<Entry<P>> {
        let mut key = key(layouts);
        key.push(threads as isize);
        if let Some(entry) = self.known.get(&key).and_then(Weak::upgrade) {
            return entry;
        }
        let mut plan = make();
        self.plans[..task].iter().rev().flatten().take(MAX_SHARING_CANDIDATES).for_each(|kept| plan.share(&kept.plan));
        let entry = Arc::new(Entry { threads, plan });
        // User tensors' layouts may change in every run, so unused entries are removed.
        if self.known.len() > 2 * self.tasks {
            self.known.retain(|_, entry| entry.strong_count() > 0);
        }
        self.known.insert(key, Arc::downgrade(&entry));
        entry
    }
}

pub fn kernel_name(kernel: ResolvedKernel, dtype: Dtype, schedules: &[Schedule]) -> &'static str {
    // Only the mixed family's name depends on the schedules.
    if !matches!(kernel, ResolvedKernel::Planned { family: KernelFamily::Mixed, .. }) {
        return kernel.name();
    }
    let (mut xsmm, mut own) = (false, false);
    for schedule in schedules {
        let mut planned = Planned::new(kernel, dtype, schedule.tasks.len());
        for branch in 0..schedule.max_branches() {
            planned.plan_branch(schedule, branch, 1);
        }
        let families = planned.families();
        (xsmm, own) = (xsmm || families[0], own || families[1]);
    }
    kernel.name_of(xsmm, own)
}

impl Planned {
    pub fn new(kernel: ResolvedKernel, dtype: Dtype, tasks: usize) -> Planned {
        let (contracts, unary) = (CachedPlans::new(tasks), CachedPlans::new(tasks));
        Planned { kernel, dtype, contracts, unary, workspace: Workspace::new() }
    }

    /// Plans the tasks in one branch for dense operands and output. Returns the workspace elements.
    pub fn plan_branch(&mut self, schedule: &Schedule, branch: usize, threads: usize) -> usize {
        let mut elements = 0;
        for (id, task) in schedule.tasks.iter().enumerate().filter(|(id, _)| schedule.branch(*id) == branch) {
            let Some(work) = task.action.work() else { continue };
            if let Some(tensors) = schedule.contraction(work) {
                let layouts = [0, 1, 2].map(|tensor: usize| tensors[tensor].layout());
                let planned = self.contract(id, &layouts, threads);
                elements = elements.max(planned.map_or(0, |(plan, _)| plan.workspace_elements()));
            } else if let Work::Unary { input, out } = work {
                let tensors = [input, out].map(|view| schedule.view_layout(view));
                let (plan, ..) = self.unary(id, &[tensors[0].layout(), tensors[1].layout()], threads);
                elements = elements.max(plan.workspace_elements());
            }
        }
        elements
    }

    pub fn uses_threads(&self, schedule: &Schedule) -> bool {
        let mut contracts = self.contracts.plans.iter().flatten();
        let large = |view: &View| view.elements() >= MIN_PARALLEL_ELEMENTS;
        let mut views = schedule.tasks.iter().flat_map(|task| task.action.views());
        contracts.any(|entry| entry.plan.shares() > 1) || views.any(large)
    }

    /// `None` for the reference kernel.
    pub fn contract(
        &mut self,
        task: TaskId,
        layouts: &[Layout; 3],
        threads: usize,
    ) -> Option<(&LocalContract, &mut Workspace)> {
        let ResolvedKernel::Planned { isa, family } = self.kernel else { return None };
        let dtype = self.dtype;
        let [left, right, out] = layouts;
        let make = || plan_contract(left, right, out, dtype, &target(isa, family, threads));
        Some((self.contracts.of(task, layouts, threads, make), &mut self.workspace))
    }

    /// Whether LIBXSMM and this crate's kernels run any planned contraction.
    pub fn families(&self) -> [bool; 2] {
        let plans = self.contracts.plans.iter().flatten().map(|entry| &entry.plan);
        let multiply = plans.filter(|plan| !matches!(plan.body(), Body::Nothing | Body::Scale));
        let families: Vec<KernelFamily> = multiply.map(|plan| plan.kernel().1.family).collect();
        [families.contains(&KernelFamily::Xsmm), families.contains(&KernelFamily::Own)]
    }

    pub fn unary(&mut self, task: TaskId, layouts: &[Layout; 2], threads: usize) -> (&UnaryPlan, Isa, &mut Workspace) {
        let [input, out] = layouts;
        let (dtype, isa) = (self.dtype, self.kernel.isa());
        let mut target = target(isa, KernelFamily::Own, threads);
        if matches!(self.kernel, ResolvedKernel::Reference) {
            // The reference implementation has no workspace, and portable vectors have no windows.
            target = Target { isa: Isa::Generic, caches: Caches { l1: 0, l2: 0 }, ..target };
        }
        let make = || plan_unary(input, out, dtype, &target);
        (self.unary.of(task, layouts, threads, make), isa, &mut self.workspace)
    }
}

#[cfg(test)]
mod tests;
