//! Small files in which a host's measurements are remembered: in the directory of `EINSUM_DIST_CACHE`, else in `einsum-dist` of the
//! user's cache.
//!
//! Invariant: who reads while another process writes finds all of a file or nothing. A host that nothing can be written on measures every time.

use std::path::{Path, PathBuf};

/// The file of this name, if there is a place for such files.
pub(super) fn file(name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let user =
        || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache"))).map(|user| user.join("einsum-dist"));
    set("EINSUM_DIST_CACHE").or_else(user).map(|folder| folder.join(name))
}

/// Whether nothing is to be measured or remembered: plans are then the same on every host.
pub(super) fn is_off() -> bool {
    std::env::var("EINSUM_DIST_RATES").is_ok_and(|rates| rates == "default")
}

/// Writes a file anew.
pub(super) fn write(file: &Path, text: &str) {
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let beside = file.with_extension(format!("{}.part", std::process::id()));
    let written = folder.and_then(|()| std::fs::write(&beside, text));
    let _ = written.and_then(|()| std::fs::rename(&beside, file));
}
