//! Does what the build script of `einsum-local` does, whose binding of LIBXSMM the benchmarks include.

#[path = "../local/build.rs"]
mod local;

fn main() {
    local::main();
}
