//! Compiles a schedule for many runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::kernels::Kernels;
use super::plan_cache::Planned;
use super::{Fault, Injection, ResolvedKernel, RunError};
use crate::dtype::Dtype;
use crate::memory::{Aligned, Footprint, OutOfMemory, Slot, Store};
use crate::schedule::verify::{Spec, Verified};
use crate::schedule::{BufferId, Home, ReuseScope, Schedule, TaskId};

#[derive(Debug)]
pub struct RankProgram {
    verified: Arc<Verified>,
    kernels: Kernels,
    footprint: Arc<Footprint>,
    /// In the store during a run.
    slots: Vec<Option<Slot>>,
    planned: Vec<Mutex<Planned>>,
    /// By value: whether its contractions apply `alpha`.
    is_result: Vec<bool>,
    /// Values with at least this reuse scope are skipped.
    holds: Option<ReuseScope>,
    rests: bool,
    longest: ReuseScope,
    /// By value: what it is a redistribution of, or itself.
    tensors: Vec<usize>,
    scales: Option<Scales>,
    left_behind: Option<Arc<Store>>,
    runs: usize,
    threads: usize,
    parallel: bool,
}

impl RankProgram {
    pub fn compile(
        verified: Verified,
        spec: &Spec,
        dtype: Dtype,
        kernel: ResolvedKernel,
        threads: usize,
    ) -> Result<RankProgram, OutOfMemory> {
        let footprint = Arc::new(Footprint::default());
        let arena = Arc::new(Aligned::zeroed(verified.schedule().arena_bytes, &footprint)?);
        let kernels = Kernels::of(dtype);
        let planned = (0..verified.schedule().max_branches()).map(|branch| {
            let mut planned = Planned::new(kernel, dtype, verified.schedule().tasks.len());
            let elements = planned.plan_branch(verified.schedule(), branch, threads);
            (kernels.reserve)(&mut planned.workspace, elements).map_err(|error| OutOfMemory { bytes: error.bytes })?;
            Ok(Mutex::new(planned))
        });
        let planned = planned.collect::<Result<Vec<Mutex<Planned>>, _>>()?;
        let schedule = verified.schedule();
        let parallel =
            !schedule.sections.is_empty() || planned.iter().any(|planned| lock(planned).uses_threads(schedule));
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
            is_result: (0..spec.values.len()).map(|value| spec.is_result(value)).collect(),
            verified: Arc::new(verified),
            holds: None,
            rests: false,
            tensors: (0..spec.values.len()).map(|value| spec.tensor(value)).collect(),
            scales: None,
            left_behind: None,
            runs: 0,
            threads,
            parallel,
        })
    }

    pub fn schedule(&self) -> &Schedule {
        self.verified.schedule()
    }

    pub fn verified(&self) -> Arc<Verified> {
        self.verified.clone()
    }

    /// After success: values with at least the reuse scope `lasts` are valid; `None` makes the next run compute all.
    pub fn hold(&mut self, lasts: Option<ReuseScope>) {
        self.holds = lasts.filter(|&lasts| lasts <= self.longest);
    }

    pub fn rest(&mut self, rests: bool) {
        self.rests = rests;
    }

    /// Makes runs multiply each contraction's result by 2 to its value's power, and measure all values, until `None`.
    pub fn scale(&mut self, exponents: Option<&[i32]>) {
        self.scales = exponents.map(|exponents| Scales::new(self.tensors.clone(), exponents));
    }

    /// The largest absolute number written for each value since the last [`RankProgram::scale`], 0 if none, or NaN.
    pub fn largest(&self) -> impl Iterator<Item = f64> {
        self.scales.iter().flat_map(Scales::largest)
    }

    pub(super) fn scales(&self) -> Option<&Scales> {
        self.scales.as_ref()
    }

    /// Whether a task's value is still valid, or the rank rests.
    pub(super) fn is_held(&self, task: TaskId) -> bool {
        let schedule = self.schedule();
        self.rests || self.holds.is_some_and(|holds| schedule.lasts(schedule.tasks[task].node) >= holds)
    }

    pub fn is_parallel(&self) -> bool {
        self.parallel
    }

    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Arena, exchange buffers and packing workspace.
    pub fn owned_bytes(&self) -> u64 {
        let workspaces: usize = self.branches().map(|planned| planned.workspace.bytes()).sum();
        (self.footprint.peak() + workspaces) as u64
    }

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

    pub(super) fn close(&mut self, store: Arc<Store>) {
        self.slots = store.close();
    }

    pub(super) fn keep_open(&mut self, store: Arc<Store>) {
        self.left_behind = Some(store);
    }

    /// Closes the store of a failed run; no transfer may be in flight.
    pub fn recover(&mut self) {
        if let Some(store) = self.left_behind.take() {
            self.close(store);
        }
    }

    pub(super) fn kernels(&self) -> Kernels {
        self.kernels
    }

    pub fn families(&self) -> [bool; 2] {
        let either = |[a, b]: [bool; 2], [c, d]: [bool; 2]| [a || c, b || d];
        self.branches().map(|planned| planned.families()).fold([false; 2], either)
    }

    /// A branch's tasks run one after the other, so the lock never blocks.
    pub(super) fn planned(&self, task: TaskId) -> MutexGuard<'_, Planned> {
        lock(&self.planned[self.schedule().branch(task)])
    }

    fn branches(&self) -> impl Iterator<Item = MutexGuard<'_, Planned>> {
        self.planned.iter().map(lock)
    }

    pub(super) fn is_result(&self, value: usize) -> bool {
        self.is_result[value]
    }

    pub fn has_transfers(&self) -> bool {
        self.schedule().tasks.iter().any(|task| task.action.work().is_none())
    }

    pub(super) fn injected(&self, injection: Option<Injection>) -> Option<Fault> {
        let here = |injection: &Injection| injection.rank == self.schedule().rank && injection.run < self.runs;
        injection.filter(here).map(|injection| injection.fault)
    }
}

fn lock(planned: &Mutex<Planned>) -> MutexGuard<'_, Planned> {
    // Each plan is one assignment, so a panic cannot leave it incomplete.
    planned.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Scales values by powers of two, and measures them, so that none leaves its type's range.
#[derive(Debug)]
pub struct Scales {
    /// For each value, the contraction or operand that it is a redistribution of.
    tensors: Vec<usize>,
    /// Contractions multiply their results by 2 to these powers.
    exponents: Vec<i32>,
    /// Bits of nonnegative numbers or NaN, which are ordered like these, with NaN above infinity.
    largest: Vec<AtomicU64>,
}

impl Scales {
    pub fn new(tensors: Vec<usize>, exponents: &[i32]) -> Scales {
        let largest = exponents.iter().map(|_| AtomicU64::new(0)).collect();
        Scales { tensors, exponents: exponents.to_vec(), largest }
    }

    pub fn of(&self, value: usize) -> f64 {
        2f64.powi(self.exponents[self.tensors[value]])
    }

    pub fn measure(&self, value: usize, largest: f64) {
        self.largest[self.tensors[value]].fetch_max(largest.abs().to_bits(), Ordering::Relaxed);
    }

    pub fn largest(&self) -> impl Iterator<Item = f64> {
        self.largest.iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed)))
    }
}
