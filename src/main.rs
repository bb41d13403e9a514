//! The command line of einsum-dist; everything is in [`cli`].

mod cli;

einsum_dist::remember_ignored_signals!();

fn main() -> std::process::ExitCode {
    cli::main()
}
