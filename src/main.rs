//! The command line of einsum-dist; everything is in [`cli`].

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
