//! The program einsum-dist, which the library of this package implements.

einsum_dist::remember_ignored_signals!();

/// Reports a failed allocation and ends the program.
#[global_allocator]
static ALLOCATOR: einsum_dist::memory::ReportingAllocator = einsum_dist::memory::ReportingAllocator;

fn main() -> std::process::ExitCode {
    einsum_dist_cli::main()
}
