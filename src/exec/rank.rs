//! A rank's communication thread: starts transfers and work, polls the transport, and sleeps if nothing has progressed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fault::panic_message;
use super::job::Job;
use super::lanes::Lanes;
use super::metrics::{Metrics, TaskMetric};
use super::{Factors, RankProgram, RunError, RunOptions};
use crate::comm::{Completion, Endpoint};
use crate::memory::Store;
use crate::schedule::{Action, Lane, TaskId};
use crate::sync::{Mutex, Scope, ThreadPool, lock};

const MAX_SLEEP: Duration = Duration::from_millis(20);

/// Workers' finished tasks: outcome, start and end in seconds since the start of the run.
type Finished = Mutex<Vec<(TaskId, Result<(), String>, f64, f64)>>;

pub fn run(
    program: &RankProgram,
    store: &Arc<Store>,
    factors: Factors,
    options: &RunOptions,
    pool: &ThreadPool,
    endpoint: &mut Endpoint,
    on_failure: &mut dyn FnMut(&RunError),
) -> Result<Metrics, RunError> {
    let finished = Finished::default();
    let schedule = program.schedule();
    let mut thread = Thread {
        program,
        store,
        factors,
        options,
        endpoint,
        lanes: Lanes::new(schedule, options.overlap, |task| program.is_held(task)),
        metrics: vec![TaskMetric::default(); schedule.tasks.len()],
        started: Instant::now(),
        last: Instant::now(),
        completions: Vec::new(),
    };
    pool.in_place_scope(|scope| {
        let outcome = catch_unwind(AssertUnwindSafe(|| thread.run(&finished, scope)));
        let outcome = outcome
            .unwrap_or_else(|panic| Err(RunError::new(schedule.rank, thread.waiting(), panic_message(panic.as_ref()))));
        // The scope waits for the worker's current task; the other ranks must not.
        outcome.inspect_err(|error| on_failure(error))
    })?;
    let (started, tasks) = (thread.started, thread.metrics);
    let seconds = started.elapsed().as_secs_f64();
    let owned_bytes = program.owned_bytes() + endpoint.packing_bytes() as u64;
    Ok(Metrics { started, tasks, seconds, owned_bytes })
}

struct Thread<'a> {
    program: &'a RankProgram,
    store: &'a Arc<Store>,
    factors: Factors,
    options: &'a RunOptions,
    endpoint: &'a mut Endpoint,
    lanes: Lanes<'a>,
    metrics: Vec<TaskMetric>,
    started: Instant,
    last: Instant,
    completions: Vec<Completion>,
}

impl<'a> Thread<'a> {
    fn run<'s>(&mut self, finished: &'s Finished, scope: &Scope<'s>) -> Result<(), RunError>
    where
        'a: 's,
    {
        let rank = self.program.schedule().rank;
        while !self.lanes.done() {
            let mut progress = self.collect(finished)?;
            progress |= self.start_transfers()?;
            progress |= self.start_work(finished, scope)?;
            if let Some(fault) = self.program.injected(self.options.injection) {
                fault.trigger();
            }
            let moved = self.endpoint.poll(&mut self.completions);
            let moved = moved.map_err(|error| RunError::comm(rank, self.waiting(), error))?;
            progress |= !self.completions.is_empty();
            if moved || progress {
                self.last = Instant::now();
            }
            for Completion { ticket, bytes } in std::mem::take(&mut self.completions) {
                self.metrics[ticket].end = self.now();
                self.metrics[ticket].bytes = bytes;
                self.lanes.finish(ticket);
            }
            if !progress && !self.lanes.done() {
                let in_flight = self.lanes.in_flight(Lane::Send) + self.lanes.in_flight(Lane::Recv) > 0;
                let computing = self.lanes.in_flight(Lane::Work) > 0;
                if in_flight && !computing {
                    self.check_time()?;
                }
                self.endpoint.idle(in_flight, computing, MAX_SLEEP);
            }
        }
        Ok(())
    }

    fn check_time(&self) -> Result<(), RunError> {
        let Some(timeout) = self.options.timeout.filter(|timeout| self.last.elapsed() > *timeout) else {
            return Ok(());
        };
        let schedule = self.program.schedule();
        let waiting = self.waiting();
        let peer = waiting.and_then(|task| schedule.tasks[task].action.peer());
        let peer = peer.map_or_else(|| "others".to_owned(), |peer| format!("rank {peer}"));
        let message = format!("no answer from {peer} for {} s", timeout.as_secs_f64());
        Err(RunError::new(schedule.rank, waiting, message))
    }

    fn waiting(&self) -> Option<TaskId> {
        [Lane::Recv, Lane::Send].into_iter().find_map(|lane| self.lanes.oldest(lane))
    }

    fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn collect(&mut self, finished: &Finished) -> Result<bool, RunError> {
        let over = std::mem::take(&mut *lock(finished));
        let any = !over.is_empty();
        for (task, outcome, start, end) in over {
            outcome.map_err(|message| RunError::new(self.program.schedule().rank, Some(task), message))?;
            self.metrics[task] = TaskMetric { start, end, bytes: 0 };
            self.lanes.finish(task);
        }
        Ok(any)
    }

    fn start_transfers(&mut self) -> Result<bool, RunError> {
        let rank = self.program.schedule().rank;
        let mut any = false;
        for lane in [Lane::Recv, Lane::Send] {
            while let Some(task) = self.lanes.start(lane, self.options.window) {
                any = true;
                if self.options.skips(lane) {
                    self.lanes.finish(task);
                    continue;
                }
                if let Some(delays) = self.options.delays {
                    delays.pause(rank, task);
                }
                self.metrics[task].start = self.now();
                let lease = |error| RunError::lease(rank, task, error);
                let posted = match &self.program.schedule().tasks[task].action {
                    Action::Send { peer, from } => {
                        let from = from.iter().map(|view| self.store.read(view.buffer, &view.bounds));
                        self.endpoint.send(task, *peer, from.collect::<Result<_, _>>().map_err(lease)?)
                    }
                    Action::Recv { peer, into } => {
                        let into = into.iter().map(|view| self.store.write(view.buffer, &view.bounds));
                        self.endpoint.recv(task, *peer, into.collect::<Result<_, _>>().map_err(lease)?)
                    }
                    Action::Work(_) => unreachable!("work is not on a transfer lane"),
                };
                posted.map_err(|error| RunError::comm(rank, Some(task), error))?;
            }
        }
        Ok(any)
    }

    fn start_work<'s>(&mut self, finished: &'s Finished, scope: &Scope<'s>) -> Result<bool, RunError>
    where
        'a: 's,
    {
        let Some(task) = self.lanes.start(Lane::Work, 1) else { return Ok(false) };
        if self.options.skips(Lane::Work) {
            self.lanes.finish(task);
            return Ok(true);
        }
        let rank = self.program.schedule().rank;
        let prepared = Job::new(self.program, self.store, task, self.factors);
        let job = prepared.map_err(|error| RunError::lease(rank, task, error))?;
        let (waker, started) = (self.endpoint.waker(), self.started);
        let options = self.options;
        scope.spawn(move |_| {
            if let Some(delays) = options.delays {
                delays.pause(rank, task);
            }
            let start = started.elapsed().as_secs_f64();
            let outcome = job.run(options);
            let end = started.elapsed().as_secs_f64();
            lock(finished).push((task, outcome, start, end));
            waker.wake();
        });
        Ok(true)
    }
}
