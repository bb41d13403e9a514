//! This process's temporary files.
//!
//! Invariants: temporary files are created, renamed and removed only under the list's lock, and listed meanwhile. A
//! thread that ends the process keeps the lock, so no other creates or renames a file afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Another thread may hold the lock during a system call.
const MAX_ATTEMPTS: usize = 100;
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

pub(super) fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    // The list is consistent after every change, even if a thread panics.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn forget(files: &mut Vec<PathBuf>, path: &Path) {
    if let Some(at) = files.iter().position(|known| known == path) {
        files.swap_remove(at);
    }
}

/// Another process's temporary file, which [`remove_temporaries`] also removes while this exists, because launchers
/// kill all ranks when one ends.
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

/// Proof that this process has no temporary files; threads that create or rename one meanwhile block.
#[must_use = "other threads may create temporary files again once this is dropped"]
pub struct Removed(MutexGuard<'static, Vec<PathBuf>>);

impl Removed {
    pub fn remove_again(&self) {
        remove_all(&self.0);
    }
}

/// Removes this process's files and announced ones, before it ends early: until then, the value must live. Cost: one
/// system call per file.
pub fn remove_temporaries() -> Removed {
    let removed = Removed(lock());
    removed.remove_again();
    removed
}

/// [`remove_temporaries`] without free memory: allocates only for long paths, gives up without the lock, and
/// never releases it.
pub fn try_remove_temporaries() {
    std::mem::forget(try_lock_and_remove(&FILES).map(Removed));
}

fn try_lock_and_remove(files: &Mutex<Vec<PathBuf>>) -> Option<MutexGuard<'_, Vec<PathBuf>>> {
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

fn remove_all(files: &[PathBuf]) {
    for path in files {
        // It may not exist yet, or another rank may have removed it.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests;
