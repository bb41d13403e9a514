//! Finds LIBXSMM, determines the version of its interface, and links it.
//!
//! `LIBXSMM_DIR` is the prefix of an installation, or a source tree in which LIBXSMM was built; if unset, pkg-config
//! finds the library. The version in the headers, with which the library was built, determines the interface. Build
//! scripts of dependent crates receive `DEP_XSMM_API` ("1" or "2") and `DEP_XSMM_VERSION`.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

const HOW_TO_GO_ON: &str = "\
To go on, do one of these:
  Debian or Ubuntu on x86-64   apt-get install libxsmm-dev pkg-config
  elsewhere                    build LIBXSMM 2.0 or later (make STATIC=1 BLAS=0 FORTRAN=0 PREFIX=/some/place install)
                               and set LIBXSMM_DIR=/some/place
  without LIBXSMM              leave out the cargo feature `libxsmm`";

struct Installation {
    headers: PathBuf,
    libraries: PathBuf,
}

struct Interface {
    api: u32,
    version: String,
    /// Whether the library's integers have 64 bits.
    wide: bool,
}

fn main() {
    for name in ["LIBXSMM_DIR", "LIBXSMM_BLAS", "DOCS_RS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rustc-check-cfg=cfg(xsmm_api, values(\"1\", \"2\"))");
    println!("cargo::rustc-check-cfg=cfg(xsmm_ilp64)");
    if env::var_os("DOCS_RS").is_some() {
        // docs.rs has no LIBXSMM. The documentation covers both interfaces.
        println!("cargo::rustc-cfg=xsmm_api=\"1\"");
        println!("cargo::rustc-cfg=xsmm_api=\"2\"");
        return;
    }
    if let Err(tried) = find().and_then(|installation| link(&installation)) {
        eprintln!("LIBXSMM was not found. Tried:\n{tried}\n{HOW_TO_GO_ON}");
        process::exit(1);
    }
}

fn find() -> Result<Installation, String> {
    if let Some(prefix) = env::var_os("LIBXSMM_DIR").filter(|prefix| !prefix.is_empty()) {
        return below(Path::new(&prefix));
    }
    let package = "libxsmm";
    // pkg-config's flags omit system directories, so the package's variables are read instead.
    let probed = pkg_config::Config::new().cargo_metadata(false).env_metadata(true).probe(package);
    let variable = |name| pkg_config::get_variable(package, name).map(PathBuf::from);
    let found = probed.and_then(|_| Ok((variable("includedir")?, variable("libdir")?)));
    let (headers, libraries) = found.map_err(|why| {
        let why = why.to_string();
        let line = why.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
        format!("  LIBXSMM_DIR: not set\n  pkg-config {package}: {line}")
    })?;
    let tried = || format!("  LIBXSMM_DIR: not set\n  pkg-config {package}: names {}\n", headers.display());
    let headers = with_headers(&headers).map_err(|why| tried() + &why)?;
    Ok(Installation { headers, libraries })
}

fn below(prefix: &Path) -> Result<Installation, String> {
    let set = format!("  LIBXSMM_DIR: set to {}, so pkg-config is not asked\n", prefix.display());
    let headers = with_headers(&prefix.join("include")).map_err(|why| set.clone() + &why)?;
    let folders = [prefix.join("lib"), prefix.join("lib64")];
    let libraries = folders.iter().find(|folder| library(folder).is_some()).ok_or_else(|| {
        let lines = folders.each_ref().map(|folder| format!("  {}: no libxsmm.a, .so or .dylib", folder.display()));
        set + &lines.join("\n")
    })?;
    Ok(Installation { headers, libraries: libraries.clone() })
}

fn with_headers(include: &Path) -> Result<PathBuf, String> {
    let folders = [include.to_owned(), include.join("libxsmm")];
    let found = folders.iter().find(|folder| folder.join("libxsmm_version.h").is_file());
    found
        .cloned()
        .ok_or_else(|| folders.map(|folder| format!("  {}: no libxsmm_version.h", folder.display())).join("\n"))
}

fn library(folder: &Path) -> Option<&'static str> {
    let has = |name: &str| folder.join(name).exists();
    if has("libxsmm.a") {
        Some("static")
    } else if has("libxsmm.so") || has("libxsmm.dylib") {
        Some("dylib")
    } else {
        None
    }
}

fn interface(headers: &Path) -> Result<Interface, String> {
    let read = |name: &str| {
        let path = headers.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        fs::read_to_string(&path).map_err(|why| format!("  {}: {why}", path.display()))
    };
    let (version, config) = (read("libxsmm_version.h")?, read("libxsmm_config.h")?);
    let functions = read("libxsmm.h")?;
    let name = defined(&version, "LIBXSMM_CONFIG_VERSION").unwrap_or_default().trim_matches('"').to_owned();
    let wide = defined(&config, "LIBXSMM_CONFIG_ILP64").is_some_and(|value| value != "0");
    let major: Option<u32> = defined(&version, "LIBXSMM_CONFIG_VERSION_MAJOR").and_then(|value| value.parse().ok());
    // Unsupported snapshots between 1.17 and 2.0 have version 1 and the functions of 2.x, but other values of flags.
    let between = functions.contains("libxsmm_dispatch_gemm");
    let api = match major {
        Some(1) if !between && functions.contains("libxsmm_smmdispatch_reducebatch_strd(") => 1,
        Some(2) if functions.contains("libxsmm_dispatch_brgemm(") => 2,
        _ => {
            let place = headers.display();
            return Err(format!("  {place}: version {name:?}, which is neither 1.16 or 1.17 nor a release 2.x"));
        }
    };
    Ok(Interface { api, version: name, wide })
}

/// The value of `#define NAME value`.
fn defined<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = header.lines().map(|line| line.split_whitespace());
    lines.find_map(|mut words| {
        let matches = words.next() == Some("#define") && words.next() == Some(name);
        matches.then(|| words.next()).flatten()
    })
}

fn link(Installation { headers, libraries }: &Installation) -> Result<(), String> {
    let Interface { api, version, wide } = interface(headers)?;
    let kind = library(libraries).ok_or_else(|| format!("  {}: no libxsmm.a, .so or .dylib", libraries.display()))?;
    println!("cargo::rustc-cfg=xsmm_api=\"{api}\"");
    if wide {
        println!("cargo::rustc-cfg=xsmm_ilp64");
    }
    println!("cargo::metadata=api={api}");
    println!("cargo::metadata=version={version}");
    println!("cargo::rustc-link-search=native={}", libraries.display());
    println!("cargo::rustc-link-lib={kind}=xsmm");
    match env::var("LIBXSMM_BLAS") {
        Ok(blas) if !blas.is_empty() => println!("cargo::rustc-link-lib={blas}"),
        _ if api == 1 && libraries.join("libxsmmnoblas.a").exists() => {
            println!("cargo::rustc-link-lib=static=xsmmnoblas");
        }
        _ if api == 1 => println!("cargo::rustc-link-lib=xsmmnoblas"),
        _ => {}
    }
    for system in ["dl", "m", "pthread"] {
        println!("cargo::rustc-link-lib={system}");
    }
    Ok(())
}
