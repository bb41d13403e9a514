//! Caches a host's measurements in `EINSUM_DIST_CACHE`, or else in `einsum-dist` in the user's cache directory.
//!
//! A reader sees a complete file or none. If the directory is not writable, every run measures again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::io::output::{new_tag, remove_leftovers, write_whole};

pub(super) fn file(name: &str) -> Option<PathBuf> {
    folder(|variable| std::env::var_os(variable)).map(|folder| folder.join(name))
}

/// Only `EINSUM_DIST_CACHE` may be relative.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
    let user = || absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    set("EINSUM_DIST_CACHE").or_else(|| Some(user()?.join("einsum-dist")))
}

/// Whether `EINSUM_DIST_RATES=default` disables measuring and caching, so plans are equal on all hosts.
pub(super) fn is_off() -> bool {
    std::env::var("EINSUM_DIST_RATES").is_ok_and(|rates| rates == "default")
}

pub(super) fn write(file: &Path, text: &str) {
    let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    if made.is_ok() {
        remove_leftovers(file);
        let _ = write_whole(file, &new_tag(), &[text.as_bytes()]);
    }
}

#[cfg(test)]
mod tests;
