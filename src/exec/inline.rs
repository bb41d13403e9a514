//! Runs a rank without peers on the calling thread and the current rayon pool: tasks in order, but the branches of a
//! section (independent subtrees) in parallel.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::job::Job;
use super::metrics::{Metrics, TaskMetric};
use super::{Factors, RankProgram, RunError, RunOptions};
use crate::memory::Store;
use crate::schedule::{Action, TaskId, Work};

pub fn run(
    program: &RankProgram,
    store: &Arc<Store>,
    factors: Factors,
    options: &RunOptions,
) -> Result<Metrics, RunError> {
    let run = Run { program, store, factors, options, started: Instant::now() };
    let schedule = program.schedule();
    let mut tasks = vec![TaskMetric::default(); schedule.tasks.len()];
    let mut next = 0;
    for section in &schedule.sections {
        let Range { start, end } = section.tasks();
        run.one_by_one(next..start, &mut tasks[next..start])?;
        run.side_by_side(&section.branches, &mut tasks[start..end])?;
        next = end;
    }
    run.one_by_one(next..schedule.tasks.len(), &mut tasks[next..])?;
    Ok(Metrics { started: run.started, tasks, seconds: run.now(), owned_bytes: program.owned_bytes() })
}

struct Run<'a> {
    program: &'a RankProgram,
    store: &'a Arc<Store>,
    factors: Factors,
    options: &'a RunOptions,
    started: Instant,
}

impl Run<'_> {
    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn side_by_side(&self, branches: &[Range<TaskId>], metrics: &mut [TaskMetric]) -> Result<(), RunError> {
        match branches {
            [] => Ok(()),
            [branch] => self.one_by_one(branch.clone(), metrics),
            branches => {
                let (head, tail) = branches.split_at(branches.len() / 2);
                let (before, after) = metrics.split_at_mut(tail[0].start - head[0].start);
                let (one, other) = rayon::join(|| self.side_by_side(head, before), || self.side_by_side(tail, after));
                one.and(other)
            }
        }
    }

    fn one_by_one(&self, tasks: Range<TaskId>, metrics: &mut [TaskMetric]) -> Result<(), RunError> {
        // Reading the clock is slow, so a task's end is the next one's start.
        let mut now = self.now();
        for (task, metric) in tasks.zip(metrics) {
            if !self.program.is_held(task) {
                self.task(task)?;
                let start = std::mem::replace(&mut now, self.now());
                *metric = TaskMetric { start, end: now, bytes: 0 };
            }
        }
        Ok(())
    }

    fn task(&self, task: TaskId) -> Result<(), RunError> {
        let Run { program, store, .. } = self;
        let rank = program.schedule().rank;
        // Waiting for memory costs more than computing small products.
        if let Some(Action::Work(next)) = program.schedule().tasks.get(task + 1).map(|next| &next.action)
            && let Work::Contract { left, right, .. } = next.as_ref()
        {
            [left, right].into_iter().for_each(|view| store.prefetch(view.buffer));
        }
        let job = Job::new(program, store, task, self.factors).map_err(|error| RunError::lease(rank, task, error))?;
        if let Some(delays) = self.options.delays {
            delays.pause(rank, task);
        }
        job.run(self.options).map_err(|message| RunError::new(rank, Some(task), message))
    }
}
