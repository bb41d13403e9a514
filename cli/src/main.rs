//! The program `einsum-dist`. The library of this package implements it.

einsum_dist::remember_ignored_signals!();

/// An allocator that reports a failed allocation and ends the program.
#[global_allocator]
static ALLOCATOR: einsum_dist::memory::ReportingAllocator = einsum_dist::memory::ReportingAllocator;

fn main() -> std::process::ExitCode {
    einsum_dist_cli::main()
}
