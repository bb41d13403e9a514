//! The temporary files of this process, so that any early end can remove them.
//!
//! Invariants: a temporary file is in the registry from before it exists until it is renamed or removed; it is created,
//! renamed and removed under one lock. A thread that has removed all of them keeps that lock: no other thread creates
//! or renames one until the process is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How often, and at which interval, to try a lock that another thread holds during a system call.
const MAX_ATTEMPTS: usize = 100;
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// The lock under which temporary files come and go.
pub(super) fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is consistent after every change.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes one entry of a path from the list.
pub(super) fn forget(files: &mut Vec<PathBuf>, path: &Path) {
    if let Some(at) = files.iter().position(|known| known == path) {
        files.swap_remove(at);
    }
}

/// A temporary file that another process may create: while this value lives, it is removed along with those of this
/// process.
///
/// Launchers kill all ranks when one has ended, so the rank that a signal reaches first removes the files of all of
/// them.
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

/// Proof that the temporary files of this process are gone. Threads that would create or rename one block while this
/// value lives.
#[must_use = "other threads may create temporary files again once this is dropped"]
pub struct Removed(MutexGuard<'static, Vec<PathBuf>>);

impl Removed {
    /// Removes the files again: another process may have created one that was announced here.
    pub fn again(&self) {
        remove_all(&self.0);
    }
}

/// Removes the temporary files of this process, and those announced to it: for programs that are about to end, by a
/// signal or an error. Cost: one system call per file.
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

/// As [`remove_temporaries`], for when memory has run out: this thread may hold the lock itself, or another thread may
/// hold it and never continue. Then the files stay. Allocates for long paths only, and never releases the lock to
/// waiting threads.
pub fn try_remove_temporaries() {
    std::mem::forget(tried(&FILES).map(Removed));
}

/// Takes the lock and removes the files of the list; `None` if the lock is not released in time.
fn tried(files: &Mutex<Vec<PathBuf>>) -> Option<MutexGuard<'_, Vec<PathBuf>>> {
    for _ in 0..MAX_ATTEMPTS {
        match files.try_lock() {
            Ok(files) => {
                remove_all(&files);
                return Some(files);
            }
            Err(TryLockError::Poisoned(files)) => {
                remove_all(files.get_ref());
                return Some(files.into_inner());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(RETRY_INTERVAL),
        }
    }
    None
}

/// Removes the files of the list that exist.
fn remove_all(files: &[PathBuf]) {
    for path in files {
        // It may not exist yet, or another rank was faster.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_nobody_gives_back_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("einsum-dist-registry-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        let files = Mutex::new(vec![path.clone()]);
        let held = files.lock().unwrap();
        assert!(tried(&files).is_none() && path.exists());
        drop(held);
        assert!(tried(&files).is_some() && !path.exists());
    }
}
