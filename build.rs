//! Passes on which interface of LIBXSMM was found, for `src/kernel/xsmm.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(xsmm_api, values(\"1\", \"2\"))");
    // Set by libxsmm-sys, so only with the feature.
    if let Ok(api) = std::env::var("DEP_XSMM_API") {
        println!("cargo::rustc-cfg=xsmm_api=\"{api}\"");
    }
}
