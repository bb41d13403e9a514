//! Tests the command line by a random walk over expressions, files and flags. Results are compared with products that
//! are added in sequence.
//!
//! Command: `cargo test --test walk -- --commands 1000 --seed 7` (`make test-long`). Without arguments, the walk is
//! short and has a fixed seed. Command K of a seed is the same in every walk. A failure prints the command and keeps
//! its folder; `--seed S --only K` repeats the command.
//!
//! | argument | meaning |
//! |---|---|
//! | `--commands N`, `--seconds N` | number of commands, or duration; the walk ends at the first limit that is reached |
//! | `--seed S`, `--only K` | seed, and the number of the only command to run |
//! | `--jobs N` | number of concurrent commands (default: all cores) |
//! | `--limit SECONDS` | time limit per command (default: 10); 6 times as long with `--check`, which may sum 10^9 products |
//! | `--program PATH` | a program other than the one that was built with the walk |
//! | `--launcher MPIRUN=PROGRAM` | one in 50 commands runs under this launcher; may be repeated (default: `EINSUM_DIST_MPIRUN` with the built program) |
//!
//! The last line is `N passed, M failed`. Every process may map 8 GiB of memory.

#[path = "../common/rng.rs"]
mod rng;

mod command;
mod einsum;
mod expression;
mod flags;
mod json;
mod judge;
mod operands;

use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};

use command::{Command, Setting};
use judge::{Ended, files, judge};
use rng::Rng;

/// Address space limit of each process, in bytes.
const MEMORY: u64 = 8 << 30;

/// Number of failures after which the walk ends.
const MAX_FAILURES: usize = 20;

/// Number of commands in a walk without arguments.
const DEFAULT_COMMANDS: u64 = 150;

struct Walk {
    commands: u64,
    seconds: Option<u64>,
    seed: u64,
    only: Option<u64>,
    jobs: usize,
    limit: Duration,
    program: String,
    setting: Setting,
}

fn main() -> ExitCode {
    let walk = match Walk::from_arguments() {
        Ok(walk) => walk,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let _ = setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: None });
    let unknown = flags::unknown(&walk.setting.listed);
    if !unknown.is_empty() {
        println!("--help lists {unknown:?}, which tests/walk/flags.rs makes no values for\n0 passed, 1 failed");
        return ExitCode::FAILURE;
    }
    let (next, passed, failed) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let started = Instant::now();
    let range = walk.only.map_or(0..walk.commands, |only| only..only + 1);
    let over = || walk.seconds.is_some_and(|seconds| started.elapsed().as_secs() >= seconds);
    std::thread::scope(|scope| {
        for _ in 0..walk.jobs {
            scope.spawn(|| {
                while let Some(number) =
                    Some(range.start + next.fetch_add(1, Ordering::Relaxed)).filter(|n| range.contains(n))
                {
                    if over() || failed.load(Ordering::Relaxed) >= MAX_FAILURES {
                        break;
                    }
                    match walk.step(number) {
                        Ok(()) => passed.fetch_add(1, Ordering::Relaxed),
                        Err(report) => {
                            println!("{report}");
                            failed.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
    });
    let (passed, failed) = (passed.into_inner(), failed.into_inner());
    println!("seed {}, {:.0} s\n{passed} passed, {failed} failed", walk.seed, started.elapsed().as_secs_f64());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Walk {
    fn from_arguments() -> Result<Walk, String> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut walk = Walk {
            commands: DEFAULT_COMMANDS,
            seconds: None,
            seed: 1,
            only: None,
            jobs,
            limit: Duration::from_secs(10),
            program: env!("CARGO_BIN_EXE_einsum-dist").to_owned(),
            setting: Setting { listed: Vec::new(), launchers: Vec::new() },
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let mut value =
                || arguments.next().filter(|value| !value.is_empty()).ok_or(format!("{name} needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
            match name.as_str() {
                "--commands" => walk.commands = number(value()?)?,
                "--seconds" => (walk.seconds, walk.commands) = (Some(number(value()?)?), u64::MAX),
                "--seed" => walk.seed = number(value()?)?,
                "--only" => walk.only = Some(number(value()?)?),
                "--jobs" => walk.jobs = number(value()?)? as usize,
                "--limit" => walk.limit = Duration::from_secs(number(value()?)?),
                "--program" => walk.program = value()?,
                "--launcher" => {
                    let text = value()?;
                    let pair = text.split_once('=').ok_or("--launcher is MPIRUN=PROGRAM")?;
                    walk.setting.launchers.push((pair.0.to_owned(), pair.1.to_owned()));
                }
                // Ignores arguments that cargo passes to all tests.
                _ => {}
            }
        }
        if let (true, true, Ok(launcher)) =
            (walk.setting.launchers.is_empty(), cfg!(feature = "mpi"), std::env::var("EINSUM_DIST_MPIRUN"))
        {
            walk.setting.launchers.push((launcher, walk.program.clone()));
        }
        let help = Process::new(&walk.program).arg("--help").output().map_err(|error| error.to_string())?;
        walk.setting.listed = flags::listed(&String::from_utf8_lossy(&help.stdout));
        if walk.setting.listed.len() < 20 { Err("--help lists no flags".to_owned()) } else { Ok(walk) }
    }

    /// Runs a command. The error describes the violation and how to repeat the command.
    fn step(&self, number: u64) -> Result<(), String> {
        let folder =
            std::env::temp_dir().join(format!("einsum-dist-walk-{}-{}-{number}", std::process::id(), self.seed));
        let inside = folder.join("in");
        std::fs::create_dir_all(&inside).map_err(|error| format!("{}: {error}", folder.display()))?;
        // Similar seeds and command numbers must yield unrelated random numbers.
        let mut rng = Rng::new(Rng::new(self.seed).next() ^ Rng::new(!number).next());
        let command = Command::random(&mut rng, &self.setting, &inside);
        let before = files(&inside);
        let ended = self.run(&command, &folder).map_err(|error| format!("cannot start the program: {error}"))?;
        match judge(&command, &ended, &inside, &before) {
            Ok(()) => {
                let _ = std::fs::remove_dir_all(&folder);
                Ok(())
            }
            Err(wrong) => {
                let Ended { out, err, .. } = &ended;
                let cut = |text: &str| text.chars().take(3000).collect::<String>();
                Err(format!(
                    "--seed {} --only {number}: {wrong}\n  cd {} && {}\n  out: {}\n  err: {}\n",
                    self.seed,
                    inside.display(),
                    self.written(&command),
                    cut(out),
                    cut(err)
                ))
            }
        }
    }

    /// The words of a command line, which are launcher, program and arguments.
    fn words(&self, command: &Command) -> Vec<String> {
        let program: Vec<String> = match command.launched {
            Some((at, ranks)) => {
                let (launcher, program) = &self.setting.launchers[at];
                let own = ["-n".to_owned(), ranks.to_string(), program.clone()];
                launcher.split_whitespace().map(str::to_owned).chain(own).collect()
            }
            None => vec![self.program.clone()],
        };
        program.into_iter().chain(command.arguments.iter().cloned()).collect()
    }

    /// The command line in shell syntax.
    fn written(&self, command: &Command) -> String {
        let quoted = |word: String| {
            let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:,@".contains(c)) && !word.is_empty();
            if plain { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
        };
        let words: Vec<String> = self.words(command).into_iter().map(quoted).collect();
        format!("EINSUM_DIST_RATES=default {}", words.join(" "))
    }

    fn run(&self, command: &Command, folder: &Path) -> std::io::Result<Ended> {
        let words = self.words(command);
        let file = |name: &str| -> std::io::Result<(PathBuf, std::fs::File)> {
            let path = folder.join(name);
            Ok((path.clone(), std::fs::File::create(path)?))
        };
        let ((out, out_file), (err, err_file)) = (file("out")?, file("err")?);
        let mut process = Process::new(&words[0]);
        process.args(&words[1..]).current_dir(folder.join("in"));
        process.env("EINSUM_DIST_RATES", "default").env("OMPI_MCA_orte_tmpdir_base", folder).env("NO_COLOR", "1");
        process.env("EINSUM_DIST_CACHE", folder.join("rates"));
        let mut child = process.stdin(Stdio::null()).stdout(out_file).stderr(err_file).spawn()?;
        let (started, limit) = (Instant::now(), self.limit * if command.checks { 6 } else { 1 });
        let status = loop {
            match child.try_wait()? {
                Some(status) => break Some(status),
                None if started.elapsed() > limit => {
                    child.kill()?;
                    child.wait()?;
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let text = |path: &Path| Ok::<_, std::io::Error>(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
        let code = status.and_then(|status| status.code());
        Ok(Ended { code, out: text(&out)?, err: text(&err)?, in_time: status.is_some() })
    }
}
