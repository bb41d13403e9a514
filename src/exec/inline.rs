//! A rank without peers: its tasks in program order, on the caller, in the caller's rayon pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::fault::panic_message;
use super::job::Job;
use super::metrics::{Metrics, TaskMetric};
use super::{Factors, RankProgram, RunError, RunOptions};
use crate::memory::Store;
use crate::schedule::{Action, Work};

pub fn run(
    program: &RankProgram,
    store: &Arc<Store>,
    factors: Factors,
    options: &RunOptions,
) -> Result<Metrics, RunError> {
    let (rank, started) = (program.schedule().rank, Instant::now());
    let mut tasks = Vec::with_capacity(program.schedule().tasks.len());
    // A task begins when the one before it ends: reading the clock takes as long as a small product.
    let mut now = 0.0;
    for task in 0..program.schedule().tasks.len() {
        if program.is_held(task) {
            tasks.push(TaskMetric { start: now, end: now, bytes: 0 });
            continue;
        }
        // Where products are small, waiting for their operands takes longer than they do.
        if let Some(Action::Work(next)) = program.schedule().tasks.get(task + 1).map(|next| &next.action)
            && let Work::Contract { left, right, .. } = next.as_ref()
        {
            [left, right].into_iter().for_each(|view| store.expect(view.buffer));
        }
        let job = Job::new(program, store, task, factors).map_err(|error| RunError::lease(rank, task, error))?;
        let injected = program.injected(options.injection, true);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            assert!(!injected, "injected for a test");
            job.run()
        }));
        let outcome = outcome.unwrap_or_else(|payload| Err(panic_message(payload.as_ref())));
        outcome.map_err(|message| RunError::new(rank, Some(task), message))?;
        let start = std::mem::replace(&mut now, started.elapsed().as_secs_f64());
        tasks.push(TaskMetric { start, end: now, bytes: 0 });
    }
    Ok(Metrics { tasks, seconds: started.elapsed().as_secs_f64(), owned_bytes: program.owned_bytes() })
}
