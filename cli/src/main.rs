//! The program `einsum-dist`, implemented by this package's library.

einsum_dist::remember_ignored_signals!();

#[global_allocator]
static ALLOCATOR: einsum_dist::memory::ReportingAllocator = einsum_dist::memory::ReportingAllocator;

fn main() -> std::process::ExitCode {
    einsum_dist_cli::main()
}
