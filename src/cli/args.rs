//! The flags as typed.
//!
//! Invariant: apart from the conflicts that clap detects, each flag is handled by itself. Deliberately absent: options
//! of algorithms, kernels and transports that this build lacks; every listed option works.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Parser;
use clap_complete::Shell;

use einsum_dist::plan::AlgorithmName;

use super::values;

/// Contracts an einsum expression, or a tree of them, on one core, all sockets of a machine, or many machines.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = algorithms_in_a_table(),
    override_usage = "einsum-dist [OPTIONS] EXPRESSION [OPERAND.npy]...\n       mpirun -n 4 einsum-dist [OPTIONS] EXPRESSION [OPERAND.npy]..."
)]
pub struct Args {
    /// What to contract: `mk,kn->mn`, a tree `[ij,jk->ik],kl->il`, an einsum_ir tree `[m0,k0],[k0,n0]->[m0,n0]`,
    /// `@FILE`, or `-` for standard input
    #[arg(required_unless_present = "completions")]
    pub expression: Option<String>,

    /// One .npy file per operand; without files, operands are random
    #[arg(value_name = "OPERAND.npy")]
    pub operands: Vec<PathBuf>,

    /// Write the result
    #[arg(short, long, value_name = "FILE.npy", allow_hyphen_values = true, value_parser = values::file())]
    pub output: Option<PathBuf>,

    /// Extents of random operands: `m=4096,k=512`; one number for all; `8,k=512`; a list in ascending order of the
    /// names of an einsum_ir tree [default: the largest power of two, at most 2048, with which no tensor exceeds four
    /// million elements]
    #[arg(short, long, value_name = "EXTENTS", allow_hyphen_values = true, value_parser = values::text())]
    pub size: Vec<String>,

    /// Element type of random operands: float32, float64, complex64, complex128, or f32, f64, c64, c128
    /// [default: float32]
    #[arg(long, value_name = "TYPE", allow_hyphen_values = true, value_parser = values::text())]
    pub dtype: Option<String>,

    /// Of random operands, which do not depend on the number of ranks
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = values::seed())]
    pub seed: u64,

    /// Ranks inside this process; under mpirun, mpirun says how many [default: one for each NUMA domain
    /// whose cores this process may use, fewer where that would leave many of the cores idle]
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    pub ranks: Option<NonZeroUsize>,

    /// Fail where ranks have no task and hold no block; by default they are idle, with a warning
    #[arg(long)]
    pub strict_ranks: bool,

    /// Compute threads of each rank [default: its share of the cores, less one for communication where ranks are
    /// several and that leaves one]
    #[arg(short = 't', long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    pub workers: Option<NonZeroUsize>,

    #[arg(long, help = algorithms_in_a_line(), value_name = "ALGORITHM", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    pub algorithm: String,

    /// Where operands and the result lie, one entry each between `;`: `m:2 k:3; k:cyclic(64,2) n:3; x6`. Axes of a grid of
    /// ranks are even tiles (`m:2`), blocks dealt out (`m:cyclic(64,2)`), cuts (`m:at(10,30)`), replicas (`x2`); `one` is one
    /// rank, `@4` or `@(2,0)` at the end says which ranks, `*` leaves the choice
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, value_parser = values::text())]
    pub distribution: Option<String>,

    /// The dimension that algorithms cut, or two: `m,n`
    #[arg(long, value_name = "LABEL", allow_hyphen_values = true, value_parser = values::text())]
    pub cut: Option<String>,

    /// The order of contractions outside brackets: auto, greedy, optimal, anneal, left-to-right, or positions in the list of
    /// operands as opt_einsum writes them: "(0,1),(0,1)"
    #[arg(long, value_name = "PATH", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    pub path: String,

    /// Budget of the search for that order, on a core of some 3 GHz: counted in steps, so that all ranks find the same [default:
    /// 10 for optimal, a tenth of the predicted run time and at most 2 for auto]
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = values::seconds())]
    pub path_time: Option<f64>,

    /// auto, xsmm, portable (our own, on the widest instructions here), avx2, avx512, neon, or reference (one product after
    /// the other, to compare with: slow); one that is not available is an error. auto is portable, with xsmm for batches of
    /// small products where the build has it
    #[arg(long, value_name = "KERNEL", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    pub kernel: String,

    /// Keep the dimensions of intermediates in the order of the expression
    #[arg(long)]
    pub no_layout: bool,

    /// Let transfers and computation take turns, in runs and in what --simulate plays; predicted times overlap all the same
    #[arg(long)]
    pub no_overlap: bool,

    /// Let cannon run on any number of ranks: those beyond the largest square have nothing to do
    #[arg(long)]
    pub idle: bool,

    /// In which order ranks go through what slicing gives them: direct, greedy, by-cost or exhaustive
    #[arg(long, value_name = "ORDER", default_value = "direct", allow_hyphen_values = true, value_parser = values::text())]
    pub reorder: String,

    /// Fail where an intermediate would have to be redistributed
    #[arg(long)]
    pub forbid_redistribution: bool,

    /// Bytes that each rank may take: `4GiB`, `500MB`
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = values::text())]
    pub memory_limit: Option<String>,

    /// auto (what a short measurement finds to be the quickest), shared (memory of one process, or of the processes of a node
    /// under mpirun; messages between nodes), message or rma (under mpirun), or throttled:BYTES_PER_SECOND (ranks of one process)
    #[arg(long, value_name = "TRANSPORT", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    pub transport: String,

    /// Add the result onto this array
    #[arg(long, value_name = "FILE.npy", allow_hyphen_values = true, value_parser = values::file())]
    pub accumulate: Option<PathBuf>,

    /// Timed runs
    #[arg(long, value_name = "N", default_value = "1", allow_hyphen_values = true, value_parser = values::repeat())]
    pub repeat: NonZeroU32,

    /// Runs before the timed ones
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = values::warmup())]
    pub warmup: u32,

    /// Recompute output elements in double precision and compare: all of them where that is quick, else a sample
    #[arg(long)]
    pub check: bool,

    /// Plan and verify, print the plan, touch no data
    #[arg(long)]
    pub explain: bool,

    /// Explain, and play the schedules of all ranks without data: when who computes, sends and receives
    #[arg(long)]
    pub simulate: bool,

    /// Write what every rank's workers did when, task by task, and what it sent and received, for chrome://tracing and
    /// Perfetto: of the last run, or of what --simulate plays
    #[arg(long, value_name = "FILE.json", allow_hyphen_values = true, value_parser = values::file())]
    pub trace: Option<PathBuf>,

    /// Draw the same, of 64 ranks at most
    #[arg(long, value_name = "FILE.svg", allow_hyphen_values = true, value_parser = values::file())]
    pub timeline: Option<PathBuf>,

    /// Plan for the machine that this file describes: its topology, ranks, workers and rates; with --explain or
    /// --simulate
    #[arg(long, value_name = "FILE.toml", allow_hyphen_values = true, value_parser = values::file())]
    pub machine: Option<PathBuf>,

    /// Give up when a peer has not answered for so long while nothing is computed here: longer than whatever any other
    /// rank does without communicating, such as reading, checking, writing, consecutive tasks. Between ranks of one
    /// process it takes effect when the silent one returns
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = values::seconds())]
    pub timeout: Option<f64>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Show the plan before it runs, the topology and every rank's cores, on standard error
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// Print neither a summary nor warnings
    #[arg(short, long)]
    pub quiet: bool,

    /// Print a completion script
    #[arg(long, value_name = "SHELL", exclusive = true, allow_hyphen_values = true, value_parser = values::shell())]
    pub completions: Option<Shell>,
}

impl Args {
    /// The arguments of this process.
    ///
    /// # Errors
    /// Unknown or incomplete flags; also `--help` and `--version`, which clap calls errors.
    pub fn parse_process() -> Result<Args, clap::Error> {
        Args::try_parse_from(readable(std::env::args_os())).map(as_typed)
    }
}

/// Whether `--json` was given; works even if the arguments are wrong.
pub fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Puts a space before expressions such as `->`, which clap would parse as flags. Leaves everything else unchanged: it
/// may be the name of a file.
fn readable(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut only_positional = false;
    arguments.map(move |argument| {
        only_positional |= argument == "--";
        if only_positional || !argument.as_encoded_bytes().starts_with(b"->") {
            return argument;
        }
        let mut spaced = OsString::from(" ");
        spaced.push(argument);
        spaced
    })
}

/// Removes the space of [`readable`] from operands, which are files. Flags refuse such file names.
fn as_typed(mut args: Args) -> Args {
    for operand in &mut args.operands {
        if let Some(typed) =
            operand.to_str().and_then(|name| name.strip_prefix(' ')).filter(|name| name.starts_with("->"))
        {
            *operand = PathBuf::from(typed);
        }
    }
    args
}

/// The help of `--algorithm`.
fn algorithms_in_a_line() -> String {
    let names: Vec<&str> = ["auto"].into_iter().chain(AlgorithmName::ALL.map(AlgorithmName::name)).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}, for every contraction of the expression", others.join(", "))
}

/// What each algorithm cuts, and what travels between ranks.
fn algorithms_in_a_table() -> String {
    let rows = AlgorithmName::ALL.map(|algorithm| [algorithm.name(), algorithm.cuts(), algorithm.moves()]);
    let rows: Vec<[&str; 3]> = [["Algorithm", "cuts", "moves"]].into_iter().chain(rows).collect();
    let [name, cuts] = [0, 1].map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let lines = rows.iter().map(|[a, b, c]| format!("{a:name$}  {b:cuts$}  {c}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_consistent() {
        <Args as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn an_expression_may_begin_with_its_arrow() {
        let given = ["einsum-dist", "--json", "->", "-n2", "-"].map(OsString::from);
        let parsed = Args::try_parse_from(readable(given.into_iter())).unwrap();
        assert_eq!(parsed.expression.as_deref(), Some(" ->"));
        assert!(parsed.json && parsed.ranks.is_some());
    }

    #[test]
    fn names_of_files_stay_as_they_were_typed() {
        let parsed = |given: &[&str]| {
            let given = ["einsum-dist"].iter().chain(given).map(OsString::from);
            Args::try_parse_from(readable(given)).map(as_typed)
        };
        for flag in ["-o", "--trace", "--timeline", "--accumulate", "--machine"] {
            for name in ["-.npy", "-_", "->a.npy", "-\u{e4}"] {
                assert!(parsed(&["->", flag, name]).is_err(), "{flag} {name}");
            }
            assert!(parsed(&["->", flag, "./-.npy"]).is_ok(), "{flag}");
        }
        assert_eq!(parsed(&["->", "->a.npy"]).unwrap().operands, [PathBuf::from("->a.npy")]);
        assert!(parsed(&["->", "-.npy"]).is_err());
        assert_eq!(parsed(&["->", "--", "-.npy"]).unwrap().operands, [PathBuf::from("-.npy")]);
    }
}
