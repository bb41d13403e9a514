//! A compiled schedule: kernels chosen, tasks planned, buffers allocated, ready to run many times.

use std::sync::{Arc, Mutex, MutexGuard};

use num_complex::Complex;

use super::kernels::Kernels;
use super::plan_cache::Planned;
use super::{Fault, Injection, ResolvedKernel, RunError};
use crate::dtype::Dtype;
use crate::memory::{Aligned, Footprint, OutOfMemory, Slot, Store};
use crate::schedule::verify::{Facts, Verified};
use crate::schedule::{BufferId, Home, ReuseScope, Schedule, TaskId};

/// The numbers that a run is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    pub alpha: Complex<f64>,
    pub beta: Complex<f64>,
}

/// One rank's part of a plan, compiled.
#[derive(Debug)]
pub struct RankProgram {
    verified: Arc<Verified>,
    kernels: Kernels,
    footprint: Arc<Footprint>,
    /// The buffers that are not the user's, between runs.
    slots: Vec<Option<Slot>>,
    /// By lane of those that run side by side.
    planned: Vec<Mutex<Planned>>,
    /// By value of the plan: its contractions apply alpha.
    is_result: Vec<bool>,
    /// What lasts at least as long has been computed before, and the next run leaves it out.
    holds: Option<ReuseScope>,
    /// The longest that anything lasts.
    longest: ReuseScope,
    left_behind: Option<Arc<Store>>,
    /// Runs that have begun.
    runs: usize,
}

impl RankProgram {
    /// Allocates the buffers of a schedule that are not the user's, and plans its tasks for a number of threads.
    ///
    /// # Errors
    /// [`OutOfMemory`] where the system refuses.
    pub fn compile(
        verified: Verified,
        facts: &Facts,
        dtype: Dtype,
        contractor: ResolvedKernel,
        threads: usize,
    ) -> Result<RankProgram, OutOfMemory> {
        let footprint = Arc::new(Footprint::default());
        let arena = Arc::new(Aligned::zeroed(verified.schedule().arena_bytes, &footprint)?);
        let kernels = Kernels::of(dtype);
        let planned = (0..verified.schedule().most_lanes()).map(|lane| {
            let mut planned = Planned::new(contractor, dtype, verified.schedule().tasks.len());
            let elements = planned.expect(verified.schedule(), lane, threads);
            (kernels.reserve)(&mut planned.workspace, elements).map_err(|error| OutOfMemory { bytes: error.bytes })?;
            Ok(Mutex::new(planned))
        });
        let planned = planned.collect::<Result<_, _>>()?;
        let Schedule { buffers, offsets, .. } = verified.schedule();
        let slots = buffers.iter().zip(offsets).map(|(buffer, &offset)| match buffer.home {
            Home::Arena | Home::Exchange => Some(Slot::owned(arena.clone(), offset, dtype, &buffer.extents)),
            Home::Operand(_) | Home::Output => None,
        });
        Ok(RankProgram {
            longest: verified.schedule().lasting.iter().copied().max().unwrap_or_default(),
            kernels,
            slots: slots.collect(),
            footprint,
            planned,
            is_result: (0..facts.values.len()).map(|value| facts.is_result(value)).collect(),
            verified: Arc::new(verified),
            holds: None,
            left_behind: None,
            runs: 0,
        })
    }

    pub fn schedule(&self) -> &Schedule {
        self.verified.schedule()
    }

    /// The schedule, to keep beside a run that borrows the program.
    pub fn verified(&self) -> Arc<Verified> {
        self.verified.clone()
    }

    /// Says that the last run of this program went well, and that what lasts so long or longer holds still; with `None` the next
    /// run computes everything.
    pub fn hold(&mut self, lasts: Option<ReuseScope>) {
        self.holds = lasts.filter(|&lasts| lasts <= self.longest);
    }

    /// Whether a task is left out, as what it computes is there already.
    pub(super) fn is_held(&self, task: TaskId) -> bool {
        let schedule = self.schedule();
        self.holds.is_some_and(|holds| schedule.lasts(schedule.tasks[task].node) >= holds)
    }

    /// Bytes that the program owns: arena, exchange and the kernels' packing space.
    pub fn owned_bytes(&self) -> u64 {
        let workspaces: usize = self.lanes().map(|planned| planned.workspace.bytes()).sum();
        (self.footprint.peak() + workspaces) as u64
    }

    /// The store of a run: `bound` has the user's memory for operand and output buffers.
    pub(super) fn open(&mut self, bound: Vec<(BufferId, Slot)>) -> Result<Arc<Store>, RunError> {
        self.runs += 1;
        let mut slots = std::mem::take(&mut self.slots);
        let buffers = &self.schedule().buffers;
        let mut wrong = None;
        for (id, slot) in bound {
            if buffers.get(id).is_some_and(|buffer| slot.extents() == buffer.extents) && slots[id].is_none() {
                slots[id] = Some(slot);
            } else {
                wrong = Some(id);
            }
        }
        let wrong = wrong.or_else(|| slots.iter().position(Option::is_none));
        let store = Store::open(slots);
        if let Some(id) = wrong {
            self.close(store);
            let message = format!("buffer {id} is bound to the wrong memory");
            return Err(RunError::new(self.schedule().rank, None, message));
        }
        Ok(store)
    }

    /// Ends the store of a run that is over.
    pub(super) fn close(&mut self, store: Arc<Store>) {
        self.slots = store.close();
    }

    /// Keeps the store of a failed run: transfers may still hold leases of it.
    pub(super) fn leave(&mut self, store: Arc<Store>) {
        self.left_behind = Some(store);
    }

    /// Ends what a failed run left behind, once no transfer is under way any more.
    pub fn recover(&mut self) {
        if let Some(store) = self.left_behind.take() {
            self.close(store);
        }
    }

    pub(super) fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// Whether LIBXSMM multiplies anything that is planned, and whether anything else does.
    pub fn families(&self) -> [bool; 2] {
        let either = |[a, b]: [bool; 2], [c, d]: [bool; 2]| [a || c, b || d];
        self.lanes().map(|planned| planned.families()).fold([false; 2], either)
    }

    /// The plans of a task's lane. Tasks of one lane run one after another, so nobody waits here.
    pub(super) fn planned(&self, task: TaskId) -> MutexGuard<'_, Planned> {
        lock(&self.planned[self.schedule().lane(task)])
    }

    fn lanes(&self) -> impl Iterator<Item = MutexGuard<'_, Planned>> {
        self.planned.iter().map(lock)
    }

    /// Whether a value of the plan is scaled by alpha.
    pub(super) fn is_result(&self, value: usize) -> bool {
        self.is_result[value]
    }

    /// What is to go wrong here in this run, for tests.
    pub(super) fn injected(&self, injection: Option<Injection>) -> Option<Fault> {
        let here = |injection: &Injection| injection.rank == self.schedule().rank && injection.run < self.runs;
        injection.filter(here).map(|injection| injection.fault)
    }
}

fn lock(planned: &Mutex<Planned>) -> MutexGuard<'_, Planned> {
    // What a panic leaves behind is whole: plans are put in place by one assignment each.
    planned.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
