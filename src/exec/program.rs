//! A compiled schedule: kernels chosen, buffers allocated, ready to run many times.

use std::sync::{Arc, Mutex};

use num_complex::Complex;

use super::kernels::Kernels;
use super::{Injection, RunError};
use crate::dtype::Dtype;
use crate::kernel::Workspace;
use crate::memory::{Aligned, Footprint, LeaseError, OutOfMemory, ReadLease, Slot, Store, WriteLease};
use crate::schedule::verify::{Facts, Verified};
use crate::schedule::{Accumulate, Action, Factor, Home, Schedule, TaskId, View, Work};

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
    dtype: Dtype,
    kernels: Kernels,
    /// By buffer: owned memory, or `None` where the user's is bound.
    arena: Vec<Option<Arc<Aligned>>>,
    footprint: Arc<Footprint>,
    workspace: Arc<Mutex<Workspace>>,
    /// By value of the plan: its contractions apply alpha.
    is_result: Vec<bool>,
    left_behind: Option<Arc<Store>>,
}

impl RankProgram {
    /// Allocates the buffers of a schedule that are not the user's.
    ///
    /// # Errors
    /// [`OutOfMemory`] where the system refuses.
    pub fn compile(verified: Verified, facts: &Facts, dtype: Dtype) -> Result<RankProgram, OutOfMemory> {
        let footprint = Arc::new(Footprint::default());
        let allocate = |buffer: &crate::schedule::Buffer| match buffer.home {
            Home::Operand(_) | Home::Output => Ok(None),
            Home::Arena | Home::Exchange => {
                let bytes = buffer.extents.iter().try_fold(dtype.size(), |bytes, &extent| bytes.checked_mul(extent));
                Aligned::zeroed(bytes.unwrap_or(usize::MAX), &footprint).map(|memory| Some(Arc::new(memory)))
            }
        };
        let arena = verified.schedule().buffers.iter().map(allocate).collect::<Result<Vec<_>, _>>()?;
        Ok(RankProgram {
            kernels: Kernels::of(dtype),
            dtype,
            arena,
            footprint,
            workspace: Arc::default(),
            is_result: (0..facts.values.len()).map(|value| facts.is_result(value)).collect(),
            verified: Arc::new(verified),
            left_behind: None,
        })
    }

    pub fn schedule(&self) -> &Schedule {
        self.verified.schedule()
    }

    /// The schedule, to keep beside a run that borrows the program.
    pub fn verified(&self) -> Arc<Verified> {
        self.verified.clone()
    }

    /// Bytes that the program owns: arena, exchange and the kernels' packing space.
    pub fn owned_bytes(&self) -> u64 {
        let workspace = self.workspace.lock().map_or(0, |workspace| workspace.bytes());
        (self.footprint.peak() + workspace) as u64
    }

    /// The store of a run: `slots` holds the user's memory for operand and output buffers.
    pub(super) fn open(&self, slots: Vec<Option<Slot>>) -> Result<Arc<Store>, RunError> {
        let buffers = &self.schedule().buffers;
        let slots =
            buffers.iter().zip(&self.arena).zip(slots).enumerate().map(|(id, ((buffer, memory), slot))| {
                match (memory, slot) {
                    (Some(memory), None) => Ok(Slot::owned(memory.clone(), self.dtype, &buffer.extents)),
                    (None, Some(slot)) if slot.extents() == buffer.extents => Ok(slot),
                    _ => Err(RunError::new(
                        self.schedule().rank,
                        None,
                        format!("buffer {id} is bound to the wrong memory"),
                    )),
                }
            });
        Ok(Store::open(slots.collect::<Result<Vec<_>, _>>()?))
    }

    /// Keeps the store of a failed run: transfers may still hold leases of it.
    pub(super) fn leave(&mut self, store: Arc<Store>) {
        self.left_behind = Some(store);
    }

    /// Ends what a failed run left behind, once no transfer is under way any more.
    pub fn recover(&mut self) {
        if let Some(store) = self.left_behind.take() {
            store.close();
        }
    }

    /// Leases what a work task needs and returns it as something to call on a worker.
    pub(super) fn prepare(&self, store: &Arc<Store>, task: TaskId, factors: Factors) -> Result<Job, LeaseError> {
        let Action::Work(work) = &self.schedule().tasks[task].action else {
            unreachable!("only tasks of the work lane are prepared");
        };
        let buffer = |view: &View| &self.schedule().buffers[view.buffer];
        let read = |view: &View| store.read(view.buffer, &view.bounds);
        let write = |view: &View| store.write(view.buffer, &view.bounds);
        let labels = |view: &View| buffer(view).labels.clone();
        let (kernels, workspace) = (self.kernels, self.workspace.clone());
        Ok(match work {
            Work::Contract { left, right, out, accumulate } => {
                let one = Complex::new(1.0, 0.0);
                let alpha = if self.is_result[buffer(out).node] { factors.alpha } else { one };
                let beta = match accumulate {
                    Accumulate::Overwrite => Complex::new(0.0, 0.0),
                    Accumulate::Add => one,
                    Accumulate::Beta => factors.beta,
                };
                let names = [labels(left), labels(right), labels(out)];
                let (left, right, mut out) = (read(left)?, read(right)?, write(out)?);
                Box::new(move || {
                    let mut workspace = workspace.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    let [l, r, o] = &names;
                    (kernels.contract)(alpha, (l, &left), (r, &right), beta, (o, &mut out), &mut workspace)
                        .map_err(|error| error.to_string())
                })
            }
            Work::Unary { input, out } => {
                let names = [labels(input), labels(out)];
                let (input, mut out): (ReadLease, WriteLease) = (read(input)?, write(out)?);
                Box::new(move || {
                    (kernels.unary)((&names[0], &input), (&names[1], &mut out));
                    Ok(())
                })
            }
            Work::Add { input, out } => {
                let (input, mut out) = (read(input)?, write(out)?);
                Box::new(move || {
                    (kernels.add)(&input, &mut out);
                    Ok(())
                })
            }
            Work::Fill { out } => {
                let mut out = write(out)?;
                Box::new(move || {
                    (kernels.fill)(&mut out);
                    Ok(())
                })
            }
            Work::Update { input, out } => {
                let (input, mut out) = (read(input)?, write(out)?);
                Box::new(move || {
                    (kernels.scale)(factors.beta, &mut out);
                    (kernels.add)(&input, &mut out);
                    Ok(())
                })
            }
            Work::Scale { out, factor } => {
                let factor = match factor {
                    Factor::Alpha => factors.alpha,
                    Factor::Beta => factors.beta,
                };
                let mut out = write(out)?;
                Box::new(move || {
                    (kernels.scale)(factor, &mut out);
                    Ok(())
                })
            }
        })
    }

    /// Whether a panic is to be raised here, for tests.
    pub(super) fn injected(&self, injection: Option<Injection>, worker: bool) -> bool {
        injection == Some(Injection { rank: self.schedule().rank, worker })
    }
}

/// A work task with its leases; dropped, it gives them back.
pub type Job = Box<dyn FnOnce() -> Result<(), String> + Send>;
