//! The command line of einsum-dist; everything is in [`cli`].

mod cli;

einsum_dist::remember_ignored_signals!();

/// Where memory runs out, the program says so and ends.
#[global_allocator]
static ALLOCATOR: einsum_dist::memory::ReportingAllocator = einsum_dist::memory::ReportingAllocator;

fn main() -> std::process::ExitCode {
    cli::main()
}
