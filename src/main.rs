//! The einsum-dist command line; [`cli`] implements it.

mod cli;

einsum_dist::remember_ignored_signals!();

/// Reports a failed allocation and ends the program.
#[global_allocator]
static ALLOCATOR: einsum_dist::memory::ReportingAllocator = einsum_dist::memory::ReportingAllocator;

fn main() -> std::process::ExitCode {
    cli::main()
}
