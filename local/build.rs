//! Sets `cfg(xsmm_api)` to the version of the LIBXSMM interface that `libxsmm-sys` found, for `src/kernel/xsmm.rs`.

pub fn main() {
    println!("cargo::rerun-if-env-changed=DEP_XSMM_API");
    println!("cargo::rustc-check-cfg=cfg(xsmm_api, values(\"1\", \"2\"))");
    // `libxsmm-sys` sets this variable, so it exists only if that crate is a dependency.
    if let Ok(api) = std::env::var("DEP_XSMM_API") {
        println!("cargo::rustc-cfg=xsmm_api=\"{api}\"");
    }
}
