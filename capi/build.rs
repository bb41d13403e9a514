//! Names the shared library for the loader: programs find `libeinsum_dist.so.0`, whatever its file is called.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libeinsum_dist.so.0");
    }
}
