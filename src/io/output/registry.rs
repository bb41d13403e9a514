//! The temporary files of this process, so that whatever ends it early can remove them.
//!
//! Invariants: a temporary file is in the registry from before it exists until it is renamed or removed; it appears, is
//! renamed and is removed under one lock. Who has removed all of them holds that lock: nothing is created or renamed by
//! another thread until the process is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The lock under which temporary files come and go.
pub(super) fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole after every change.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes one entry of a path out.
pub(super) fn forget(files: &mut Vec<PathBuf>, path: &Path) {
    if let Some(at) = files.iter().position(|known| known == path) {
        files.swap_remove(at);
    }
}

/// A temporary file that another process may make: it is removed with those of this process while this value lives.
///
/// Launchers kill all ranks when one has ended, so the rank that a signal reaches first removes what all of them write.
#[derive(Debug)]
pub struct Announced(PathBuf);

impl Announced {
    pub(super) fn new(path: PathBuf) -> Announced {
        lock().push(path.clone());
        Announced(path)
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        forget(&mut lock(), &self.0);
    }
}

/// The temporary files of this process are gone. Threads that would make or rename one wait while this value lives.
#[must_use = "other threads may create temporary files again once this is dropped"]
pub struct Removed(MutexGuard<'static, Vec<PathBuf>>);

impl Removed {
    /// Removes once more: another process may have made a file that was announced here.
    pub fn again(&self) {
        for path in self.0.iter() {
            // It may not exist yet, or another rank was quicker.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the temporary files of this process, and those announced to it: for programs that are about to end, by a signal
/// or an error. Cost: a call of the system per file.
///
/// ```no_run
/// let removed = einsum_dist::io::output::remove_temporaries();
/// // Still holding `removed`, so that no other thread writes on:
/// std::process::exit(1);
/// ```
pub fn remove_temporaries() -> Removed {
    let removed = Removed(lock());
    removed.again();
    removed
}
