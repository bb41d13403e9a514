//! The command line: parses flags, validates and carries out the run, and prints the result.
//!
//! ```text
//! args --start--> World --config--> RunConfig --run--> Outcome --print--> text or JSON
//!                            failure: one message from rank 0, the same exit code on every rank
//! ```
//!
//! This crate uses only the library's public API. All ranks agree on the outcome of every step that can fail on one, so
//! they exit with the same code, and none waits for a failed one. Only results are written to standard output.

pub mod args;
mod check;
mod compensated;
pub mod config;
mod explain;
pub mod failure;
mod inputs;
mod norm;
mod panics;
mod path_speed;
mod paths;
mod print;
mod probe;
mod progress;
mod range;
mod result_sink;
mod run;
mod scaling;
mod signals;
pub mod sizes;
pub mod start;
mod trace_files;
pub mod units;
pub mod validate;
pub mod values;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::CommandFactory;
use einsum_dist::api::host;
use einsum_dist::comm::CommError;
use einsum_dist::{Error, World};

use args::Args;
use config::RunConfig;
use failure::{Failure, say};

type Result<T> = std::result::Result<T, Failure>;

/// Other ranks wait this long before they exit with an error.
const SPEAKER_TIMEOUT: Duration = Duration::from_millis(300);

pub fn main() -> ExitCode {
    if signals::run_if_guard() {
        return ExitCode::SUCCESS;
    }
    panics::install();
    let json = args::wants_json();
    // Must precede all threads, which reserve address space.
    panics::report_missing_memory(json);
    signals::install();
    let arguments = Args::parse_process();
    if let Some(text) = information(&arguments) {
        let printed = if start::prints_errors() { write_out(&text) } else { Ok(()) };
        let Err(error) = printed else { return ExitCode::SUCCESS };
        let failure = Failure::Print(error);
        failure.print(json);
        return ExitCode::from(failure.code());
    }
    match start::world(arguments) {
        Ok((world, arguments)) => {
            let outcome = panics::contained(&world, || carry_out(&world, arguments));
            finish(world, outcome, json)
        }
        Err(failure) => {
            if start::prints_errors() {
                failure.print(json);
            } else {
                // A launcher kills all ranks on the first error exit.
                std::thread::sleep(SPEAKER_TIMEOUT);
            }
            ExitCode::from(failure.code())
        }
    }
}

fn information(arguments: &std::result::Result<Args, clap::Error>) -> Option<String> {
    match arguments {
        Err(error) if !error.use_stderr() => Some(error.to_string()),
        Ok(Args { completions: Some(shell), .. }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "einsum-dist", &mut script);
            Some(String::from_utf8_lossy(&script).into_owned())
        }
        Ok(Args { man_page: true, .. }) => {
            let mut page = Vec::new();
            // Writing to memory cannot fail.
            let _ = clap_mangen::Man::new(Args::command()).render(&mut page);
            Some(String::from_utf8_lossy(&page).into_owned())
        }
        _ => None,
    }
}

/// Carries out the arguments' run, and prints the result. Collective.
fn carry_out(world: &World, arguments: std::result::Result<Args, clap::Error>) -> Result<()> {
    let args = start::agree(world, arguments.map_err(Failure::Arguments))?;
    if args.command.is_some() {
        return probe::probe(world, &args)?.map_or(Ok(()), |text| write_out(&text)).map_err(Failure::Print);
    }
    let (text, trace_error) = if args.scaling.is_some() {
        scaling::scaling(world, args)?
    } else {
        let config = RunConfig::new(world, args)?;
        if config.args.explains() {
            explain::explain(world, &config)?
        } else {
            let outcome = run::run(world, &config)?;
            (print::result(world, &config, &outcome)?, outcome.trace_error)
        }
    };
    text.map_or(Ok(()), |text| write_out(&text)).map_err(Failure::Print)?;
    trace_error.map_or(Ok(()), |error| Err(Failure::TraceFile(error)))
}

fn finish(world: World, outcome: Result<()>, json: bool) -> ExitCode {
    let code = outcome.as_ref().err().map_or(0, Failure::code);
    if let Err(failure) = &outcome {
        if world.is_root() {
            failure.print(json);
        }
        if let Failure::Library(Error::Comm(CommError::Mpi { .. })) = failure {
            // Other ranks may not learn of an MPI failure.
            let message = if world.is_root() { format!("ends the run with code {code}") } else { failure.message() };
            world.abort(&message);
        }
    }
    let (rank, single_process) = (world.local_ranks().start, world.ranks() == world.local_ranks().len());
    let finished = world.all_gather(&[code]).and_then(|codes| {
        world.finish()?;
        Ok(codes.iter().flatten().copied().max().unwrap_or(code))
    });
    if let Err(Failure::Library(Error::Stopped { .. })) = outcome {
        signals::end_by_received();
    }
    match finished {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let who = if single_process { String::new() } else { format!("rank {rank} on {}: ", host::name()) };
            say!("error: {who}{error}");
            ExitCode::from(1)
        }
    }
}

fn write_out(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
