//! Runs a program's local ranks, and stops all if one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[cfg(feature = "mpi")]
use super::cores;
use super::crew::Crew;
use super::error::Rank;
use super::own_cores::run_in_current_pool;
use super::world::Members;
use super::{Error, Result, World};
use crate::comm::{Endpoint, in_process::Fabric};
use crate::exec::{Factors, Metrics, RankProgram, RunError, RunOptions, Team, panic_message, run};
use crate::memory::Slot;
use crate::plan::Plan;
use crate::schedule::{Action, BufferId, ReuseScope, Schedule};
use crate::sync::thread;

pub(super) type Slots = Vec<(BufferId, Slot)>;

pub(super) struct Round {
    pub(super) slots: Slots,
    /// For [`RankProgram::hold`] and [`RankProgram::rest`]; as before if `None`.
    pub(super) state: Option<(Option<ReuseScope>, bool)>,
}

/// # Errors
/// If a local rank fails. Of several independent failures, that of the lowest rank is returned.
pub(super) fn launch(
    world: &World,
    plan: &Plan,
    ranks: &mut [RankProgram],
    factors: Factors,
    mut bound: Vec<Slots>,
) -> Result<Vec<Metrics>> {
    let options = world.shared().options;
    if world.ranks() == 1 {
        let slots = bound.pop().unwrap_or_default();
        let metrics = alone(world, &mut ranks[0], slots, factors, &options);
        ranks[0].recover();
        return Ok(vec![metrics.map_err(|error| failed(plan, &ranks[0], &error))?]);
    }
    let crews = world.shared().crews(ranks.len(), plan.machine.workers)?;
    match &world.shared().members {
        Members::Single { .. } => unreachable!("a single rank has returned above"),
        Members::InProcess { ranks: count, bytes_per_second } => {
            let fabric = Fabric::new(*count, *bytes_per_second);
            let rounds = bound.into_iter().map(|slots| vec![Round { slots, state: None }]).collect();
            let metrics = in_process(plan, ranks, factors, rounds, &options, &crews, &fabric)?;
            Ok(metrics.into_iter().flatten().collect())
        }
        #[cfg(feature = "mpi")]
        Members::Mpi(members) => {
            let Some(mut endpoint) = members.endpoint.borrow_mut().take() else {
                return Err(Error::Usage("the world is running already".to_owned()));
            };
            endpoint.spin(crews[0].place.spare);
            let slots = bound.pop().unwrap_or_default();
            let verified = ranks[0].verified();
            // The other ranks would wait forever.
            let abort = |error: &RunError| -> () {
                world.abort(&format!("{}: {}", place(plan, verified.schedule(), error), error.message))
            };
            let team =
                Team::Pool { pool: &crews[0].pool, endpoint: &mut endpoint, on_failure: &mut |error| abort(error) };
            crews[0].bind_communication();
            let metrics = guarded(&mut ranks[0], slots, factors, &options, team);
            // Threads started between runs must not inherit its mask of one core.
            cores::bind(&crews[0].place.units);
            let metrics = metrics.map_err(|error| {
                abort(&error);
                failed(plan, &ranks[0], &error)
            })?;
            *members.endpoint.borrow_mut() = Some(endpoint);
            Ok(vec![metrics])
        }
    }
}

/// Runs all ranks of a world in one process several times each, without communication. `rounds` and the metrics are by
/// rank.
///
/// # Errors
/// Those of [`launch`].
pub(super) fn launch_apart(
    world: &World,
    plan: &Plan,
    ranks: &mut [RankProgram],
    factors: Factors,
    rounds: Vec<Vec<Round>>,
) -> Result<Vec<Vec<Metrics>>> {
    let crews = world.shared().crews(ranks.len(), plan.machine.workers)?;
    let fabric = Fabric::new(ranks.len(), None);
    in_process(plan, ranks, factors, rounds, &world.shared().options, &crews, &fabric)
}

/// Runs the only rank of a world. It enters its own pool only for tasks on several threads.
fn alone(
    world: &World,
    program: &mut RankProgram,
    slots: Slots,
    factors: Factors,
    options: &RunOptions,
) -> std::result::Result<Metrics, RunError> {
    match world.workers() {
        Some(workers) if program.is_parallel() => {
            program.use_threads(workers.pool().current_num_threads());
            workers.run(|| run(program, slots, factors, options, Team::Inline))
        }
        workers => {
            program.use_threads(if workers.is_some() { 1 } else { rayon::current_num_threads() });
            let is_parallel = program.is_parallel();
            let run = || run(program, slots, factors, options, Team::Inline);
            if is_parallel && workers.is_none() { run_in_current_pool(run) } else { run() }
        }
    }
}

fn in_process(
    plan: &Plan,
    ranks: &mut [RankProgram],
    factors: Factors,
    rounds: Vec<Vec<Round>>,
    options: &RunOptions,
    crews: &[Crew],
    fabric: &Arc<Fabric>,
) -> Result<Vec<Vec<Metrics>>> {
    let outcomes: Vec<std::result::Result<Vec<Metrics>, RunError>> = thread::scope(|scope| {
        let threads = ranks.iter_mut().zip(rounds).zip(crews).map(|((program, rounds), crew)| {
            let (shared, rank) = (fabric.clone(), program.schedule().rank);
            let body = move || {
                crew.bind_communication();
                let mut endpoint = Endpoint::InProcess(shared.endpoint(rank));
                let fail = |error: &RunError| shared.fail(rank, &error.message);
                let run = |Round { slots, state }| {
                    if let Some((lasts, rests)) = state {
                        program.hold(lasts);
                        program.rest(rests);
                    }
                    let team =
                        Team::Pool { pool: &crew.pool, endpoint: &mut endpoint, on_failure: &mut |error| fail(error) };
                    guarded(program, slots, factors, options, team).inspect_err(fail)
                };
                rounds.into_iter().map(run).collect()
            };
            let started = thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, body);
            started.map_err(|error| {
                let message = format!("cannot start the rank's thread: {error}");
                fabric.fail(rank, &message);
                RunError::new(rank, None, message)
            })
        });
        let threads: Vec<_> = threads.collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            // A panic outside `guarded` is a bug in this file.
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(|started| started.and_then(join)).collect()
    });
    ranks.iter_mut().for_each(RankProgram::recover);
    let first = outcomes.iter().position(|outcome| outcome.as_ref().is_err_and(|error| !error.from_peer));
    if let (Some(rank), Some(Err(error))) = (first, first.map(|rank| &outcomes[rank])) {
        return Err(failed(plan, &ranks[rank], error));
    }
    outcomes.into_iter().zip(ranks).map(|(outcome, program)| outcome.map_err(|e| failed(plan, program, &e))).collect()
}

fn guarded(
    program: &mut RankProgram,
    slots: Slots,
    factors: Factors,
    options: &RunOptions,
    team: Team<'_>,
) -> std::result::Result<Metrics, RunError> {
    let rank = program.schedule().rank;
    let outcome = catch_unwind(AssertUnwindSafe(|| run(program, slots, factors, options, team)));
    outcome.unwrap_or_else(|panic| Err(RunError::new(rank, None, panic_message(panic.as_ref()))))
}

fn failed(plan: &Plan, program: &RankProgram, error: &RunError) -> Error {
    let (rank, task) = (Rank::here(error.rank), place(plan, program.schedule(), error));
    Error::Run { rank, task, message: error.message.clone() }
}

fn place(plan: &Plan, schedule: &Schedule, error: &RunError) -> String {
    let Some(number) = error.task else { return "communication".to_owned() };
    let task = &schedule.tasks[number];
    let step = plan.step_text(&plan.values[task.node]);
    match task.action {
        Action::Work(_) => format!("task {number} ({step})"),
        Action::Send { peer, .. } => format!("communication, task {number} ({step}, to rank {peer})"),
        Action::Recv { peer, .. } => format!("communication, task {number} ({step}, from rank {peer})"),
    }
}
