//! Parses the command-line arguments with clap.
//!
//! Checks that depend on several flags, on the expression or on files are in `validate`.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use einsum_dist::plan::{AlgorithmName, Noise};

use super::values::{self, RankCounts};

/// Contracts an einsum expression, or a tree of such expressions, on one core, on all cores of a machine, or on many
/// machines.
#[derive(Debug, Parser)]
#[command(
    name = "einsum-dist",
    version,
    max_term_width = 100,
    after_help = algorithms_in_a_table(),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    override_usage = "einsum-dist [OPTIONS] EXPRESSION [OPERAND.npy]...\n       mpirun -n 4 einsum-dist [OPTIONS] EXPRESSION [OPERAND.npy]...\n       einsum-dist machine probe [-o FILE.toml]"
)]
pub struct Args {
    /// The expression to contract: an einsum `mk,kn->mn`, a tree `[ij,jk->ik],kl->il`, an einsum_ir tree
    /// `[m0,k0],[k0,n0]->[m0,n0]`, `@FILE` to read it from a file, or `-` to read it from standard input
    #[arg(required_unless_present_any = ["completions", "man_page"])]
    pub expression: Option<String>,

    /// One .npy file per operand; without files, the operands are random
    #[arg(value_name = "OPERAND.npy")]
    pub operands: Vec<PathBuf>,

    /// Write the result to this file
    #[arg(short, long, value_name = "FILE.npy", allow_hyphen_values = true, value_parser = values::file())]
    pub output: Option<PathBuf>,

    /// Extents for random operands: `m=4096,k=512` by name, one number for all dimensions, `8,k=512` for one number
    /// with exceptions, or, for an einsum_ir tree, a list in ascending order of its names [default: the largest power
    /// of two up to 2048 for which no tensor has more than four million elements]
    #[arg(short, long, value_name = "EXTENTS", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Operands")]
    pub size: Vec<String>,

    /// Element type for random operands: float32, float64, complex64, complex128, or f32, f64, c64, c128 [default:
    /// float32]
    #[arg(long, value_name = "TYPE", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Operands")]
    pub dtype: Option<String>,

    /// Seed for random operands; with the same seed, operands are equal on any number of ranks
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = values::seed())]
    #[arg(help_heading = "Operands")]
    pub seed: u64,

    /// Number of ranks in this process; under mpirun, the launcher sets it [default: one per NUMA domain whose cores
    /// this process may use, or fewer if that would leave many cores idle]
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    #[arg(help_heading = "Ranks", global = true)]
    pub ranks: Option<NonZeroUsize>,

    /// Fail if any rank has no task and stores no block; by default, a warning is printed and such ranks stay idle
    #[arg(long)]
    #[arg(help_heading = "Ranks")]
    pub strict_ranks: bool,

    /// Compute threads per rank [default: the rank's share of the cores, minus one for communication if there are
    /// several ranks and at least one core remains]
    #[arg(short = 't', long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    #[arg(help_heading = "Ranks", global = true)]
    pub workers: Option<NonZeroUsize>,

    #[arg(long, help = algorithms_in_a_line(), value_name = "ALGORITHM", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub algorithm: String,

    /// Distributions of the operands and the result, separated by `;`: `m:2 k:3; k:cyclic(64,2) n:3; x6`. Each is a
    /// grid of ranks whose axes are even cuts (`m:2`), block-cyclic cuts (`m:cyclic(64,2)`), cuts at given
    /// indices (`m:at(10,30)`) or replicas (`x2`). `one` is a single rank, `@4` or `@(2,0)` at the end selects the
    /// ranks, and `*` leaves the choice to the planner
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub distribution: Option<String>,

    /// The dimension that the chosen algorithm divides among ranks, or two dimensions separated by a comma: `m,n`
    #[arg(long, value_name = "LABEL", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub cut: Option<String>,

    /// Order of the contractions, as far as brackets do not prescribe it: auto, greedy, optimal, anneal, left-to-right,
    /// pairs of positions in the list of operands, written as in opt_einsum: "(0,1),(0,1)", or `@FILE`: a JSON object with
    /// `path` (opt_einsum) or `ssa_path` (cotengra), and `sliced_inds`, as --path-out writes it
    #[arg(long, value_name = "PATH", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub path: String,

    /// Time budget for the contraction-order search, in seconds. It is converted to a number of search steps at the speed
    /// of rank 0, so that all ranks find the same order [default: 10 for optimal; at most 1 for anneal; for auto as
    /// long as it is expected to save time over all runs, at most 60]
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = values::seconds())]
    #[arg(help_heading = "Plan")]
    pub path_time: Option<f64>,

    /// Keep the orders that searches find in this directory, and use them for the same expression and extents if the
    /// earlier search was at least as long
    #[arg(long, value_name = "DIR", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Plan")]
    pub path_cache: Option<PathBuf>,

    /// Write the order and the slices of the plan to this file, as JSON, for --path, opt_einsum and cotengra
    #[arg(long, value_name = "FILE.json", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Reports")]
    pub path_out: Option<PathBuf>,

    /// How often the plan will run. With more runs, --path auto searches longer [default: the number of --repeat]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::repeat())]
    #[arg(help_heading = "Plan")]
    pub runs: Option<NonZeroU32>,

    /// Kernel for local contractions: auto, xsmm (LIBXSMM), portable (our own, with this processor's widest vector
    /// instructions), avx2, avx512, neon, or reference (a slow kernel for comparison, which adds one product after
    /// another). A kernel that is not available is an error. auto chooses portable, or xsmm for batches of small
    /// products if this build includes it
    #[arg(long, value_name = "KERNEL", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub kernel: String,

    /// What the planner minimises: time (predicted seconds), or bytes (those that the busiest rank receives)
    #[arg(long, value_name = "OBJECTIVE", default_value = "time", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub objective: String,

    /// Store the dimensions of each intermediate in the order of the expression, instead of the order that is predicted
    /// to be fastest
    #[arg(long)]
    #[arg(help_heading = "Plan")]
    pub no_layout: bool,

    /// Do not overlap transfers with computation, in runs and with --simulate; predicted times still assume overlap
    #[arg(long)]
    #[arg(help_heading = "Plan")]
    pub no_overlap: bool,

    /// Accept any number of ranks for the algorithm cannon; ranks beyond the largest square number stay idle
    #[arg(long)]
    #[arg(help_heading = "Plan")]
    pub idle: bool,

    /// Order in which a rank contracts its pieces in the algorithm slicing: direct (ascending), greedy (pieces that need
    /// no transfer first), by-cost (next the longest transfer that can be hidden) or exhaustive (the fastest order)
    #[arg(long, value_name = "ORDER", default_value = "direct", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub reorder: String,

    /// Fail if an intermediate would have to be redistributed between two steps
    #[arg(long)]
    #[arg(help_heading = "Plan")]
    pub forbid_redistribution: bool,

    /// Maximum number of bytes that each rank may use: `4GiB`, `500MB`. If a plan exceeds this limit, contractions are
    /// repeated for slices of some dimensions, or the result is computed in parts, or operands are read in parts
    /// [default: none, or most of the free memory if a plan needs more]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Plan")]
    pub memory_limit: Option<String>,

    /// Number of groups of ranks that contract different slices at the same time, if one group needs slices. With 1, all
    /// ranks work on every slice [default: the planner chooses]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::count())]
    #[arg(help_heading = "Plan")]
    pub slice_groups: Option<NonZeroUsize>,

    /// Transport of blocks between ranks: auto (the fastest in a short measurement), shared (memory shared within one
    /// process or, under mpirun, within a node, with messages between nodes), message or rma (MPI messages or one-sided
    /// calls, under mpirun), or throttled:BYTES_PER_SECOND (ranks of one process, with limited bandwidth)
    #[arg(long, value_name = "TRANSPORT", default_value = "auto", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Ranks", global = true)]
    pub transport: String,

    /// Add the array in this file to the result
    #[arg(long, value_name = "FILE.npy", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Operands")]
    pub accumulate: Option<PathBuf>,

    /// Save the state of a sliced run to this file and FILE.rank*, and continue from there if the file exists. The files
    /// are removed when the result is complete. The result is then never computed in parts
    #[arg(long, value_name = "FILE", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Run")]
    pub checkpoint: Option<PathBuf>,

    /// Time between two checkpoints, which are written between slices
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "checkpoint", allow_hyphen_values = true, value_parser = values::seconds())]
    #[arg(help_heading = "Run")]
    pub checkpoint_every: f64,

    /// Number of timed runs
    #[arg(long, value_name = "N", default_value = "1", allow_hyphen_values = true, value_parser = values::repeat())]
    #[arg(help_heading = "Run")]
    pub repeat: NonZeroU32,

    /// Number of untimed runs before the timed runs
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = values::warmup())]
    #[arg(help_heading = "Run")]
    pub warmup: u32,

    /// Keep a power of two apart, so that neither the result nor intermediates leave the range of the element type: the
    /// result is 2 to the printed exponent times the elements, the largest of which is in [0.5, 1). Repeats runs whose
    /// intermediates left the range
    #[arg(long)]
    #[arg(help_heading = "Run")]
    pub exponent: bool,

    /// Recompute elements of the result in double precision and compare them with the result: all elements if that is
    /// quick, otherwise a sample
    #[arg(long)]
    #[arg(help_heading = "Run")]
    pub check: bool,

    /// Print the plan and verify it, without reading data
    #[arg(long)]
    #[arg(help_heading = "Reports")]
    pub explain: bool,

    /// Like --explain, and also simulate when each rank computes, sends and receives
    #[arg(long)]
    #[arg(help_heading = "Reports")]
    pub simulate: bool,

    /// Like --simulate, but on each of these numbers of ranks: a range `1..16384` with the powers of two in it, or a list
    /// `1,3,8..64`. Prints a table with, among others, simulated times, and the bytes that the busiest rank receives
    /// beside their lower bound. A number for which there is no plan has a row that says why. --timeline draws the
    /// curves. Without --machine, machines have default rates
    #[arg(long, value_name = "RANKS", allow_hyphen_values = true, value_parser = values::rank_counts())]
    #[arg(conflicts_with_all = ["ranks", "strict_ranks", "distribution", "explain", "simulate", "check", "checkpoint", "trace", "path_out", "output", "warmup"])]
    #[arg(help_heading = "Reports")]
    pub scaling: Option<RankCounts>,

    /// With --scaling, let the extents of these labels grow with the number of ranks (weak scaling): one label in
    /// proportion, or several labels, separated by commas, so that their product is in proportion. The given extents
    /// are those on the fewest ranks [default: extents are the same on all numbers of ranks]
    #[arg(long, value_name = "LABELS", requires = "scaling", allow_hyphen_values = true, value_parser = values::text())]
    #[arg(help_heading = "Reports")]
    pub weak: Option<String>,

    /// With --scaling, also write the table to this file, as comma-separated values in bytes and seconds
    #[arg(long, value_name = "FILE.csv", requires = "scaling", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Reports")]
    pub csv: Option<PathBuf>,

    /// With --simulate or --scaling, delay every task at random. The delays have an exponential distribution, with this
    /// mean relative to the time of the task: `0.05`, or `0.05,7` with a seed
    #[arg(long, value_name = "MEAN[,SEED]", allow_hyphen_values = true, value_parser = values::noise())]
    #[arg(help_heading = "Reports")]
    pub noise: Option<Noise>,

    /// Write a trace for chrome://tracing and Perfetto, with the tasks of every worker and the transfers of every rank,
    /// from the last run or the simulation
    #[arg(long, value_name = "FILE.json", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Reports")]
    pub trace: Option<PathBuf>,

    /// Draw the tasks of up to 64 ranks over time, or the curves of --scaling, as an SVG picture
    #[arg(long, value_name = "FILE.svg", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Reports")]
    pub timeline: Option<PathBuf>,

    /// Plan for the machine that this file describes, with its topology, ranks, workers and rates, instead of this
    /// machine; only with --explain, --simulate or --scaling
    #[arg(long, value_name = "FILE.toml", allow_hyphen_values = true, value_parser = values::file())]
    #[arg(help_heading = "Plan")]
    pub machine: Option<PathBuf>,

    /// Fail if another rank does not respond for this long while this rank has nothing to compute. The timeout must
    /// exceed the longest period in which any rank does not communicate because it reads, checks, writes or runs
    /// consecutive tasks
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = values::seconds())]
    #[arg(help_heading = "Ranks", global = true)]
    pub timeout: Option<f64>,

    /// Print one JSON object instead of the summary
    #[arg(long)]
    #[arg(help_heading = "Reports", global = true)]
    pub json: bool,

    /// Print the plan, the topology and the cores of every rank to standard error before the run
    #[arg(short, long, conflicts_with = "quiet")]
    #[arg(help_heading = "Reports")]
    pub verbose: bool,

    /// Print neither a summary nor warnings
    #[arg(short, long)]
    #[arg(help_heading = "Reports", global = true)]
    pub quiet: bool,

    /// Print a completion script for this shell
    #[arg(long, value_name = "SHELL", exclusive = true, allow_hyphen_values = true, value_parser = values::shell())]
    pub completions: Option<Shell>,

    /// Print the manual page, in roff
    #[arg(long, exclusive = true, hide = true)]
    pub man_page: bool,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure this machine, or under mpirun these machines, with all ranks at the same time: `machine probe`. An
    /// expression of this name is written `machine->aceihmn`
    Machine {
        #[arg(value_parser = ["probe"])]
        action: String,

        /// Write the file that --machine reads, instead of printing it
        #[arg(short, long, value_name = "FILE.toml", allow_hyphen_values = true, value_parser = values::file())]
        output: Option<PathBuf>,
    },
}

impl Args {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// If a flag is unknown or incomplete. Also returns an error for `--help` and `--version`, because clap reports
    /// their texts as errors.
    pub fn parse_process() -> Result<Args, clap::Error> {
        Args::try_parse_from(readable(std::env::args_os())).map(as_typed)
    }

    /// Whether only a plan is made.
    pub fn explains(&self) -> bool {
        self.explain || self.simulate || self.scaling.is_some()
    }
}

/// Returns whether the arguments contain `--json`, even if other arguments are invalid.
pub fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Puts a space before arguments that begin with an arrow, because clap would parse expressions such as `->` as flags.
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

/// Removes the space that [`readable`] put before operands, which are file names. Flags refuse file names that begin
/// with an arrow.
fn as_typed(mut args: Args) -> Args {
    for operand in &mut args.operands {
        if let Some(typed) =
            operand.to_str().and_then(|name| name.strip_prefix(' ')).filter(|name| name.starts_with("->"))
        {
            *operand = PathBuf::from(typed);
        }
    }
    if let Some(Command::Machine { output, .. }) = &mut args.command {
        args.output = output.take();
    }
    args
}

fn algorithms_in_a_line() -> String {
    let names: Vec<&str> = ["auto"].into_iter().chain(AlgorithmName::ALL.map(AlgorithmName::name)).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("Algorithm for every contraction of the expression: {} or {last}", others.join(", "))
}

fn algorithms_in_a_table() -> String {
    let rows = AlgorithmName::ALL.map(|algorithm| [algorithm.name(), algorithm.cuts(), algorithm.moves()]);
    let rows: Vec<[&str; 3]> = [["Algorithm", "cuts", "moves"]].into_iter().chain(rows).collect();
    let [name, cuts] = [0, 1].map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let lines = rows.iter().map(|[a, b, c]| format!("{a:name$}  {b:cuts$}  {c}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
