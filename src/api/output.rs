//! Output files that ranks write together, from the moment when they agree on the temporary name.
//!
//! Invariant: every rank knows the name of the temporary file before the file exists, so that the first rank to end can
//! remove it. Launchers kill all ranks when one has ended, and the rank that created the file may have no time to
//! remove it.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Error, Result, World};
use crate::io::output::{Announced, FileError, Temporary, examine, remove_leftovers};

/// The number of outputs that this process has begun.
static OUTPUTS: AtomicU64 = AtomicU64::new(0);

/// An output that can be written. If a rank ends early while this value lives, that rank removes the temporary file.
pub(super) struct Begun {
    tag: String,
    _announced: Option<Announced>,
}

/// Which ranks write an output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// Every rank writes its own blocks.
    All,
    /// Only rank 0 writes; other hosts need not have the directory.
    Root,
}

impl Begun {
    /// Agrees on an output before rank 0 creates it, and removes the leftovers of killed runs. Collective.
    ///
    /// # Errors
    /// Some rank cannot write the output.
    pub(super) fn new(world: &World, path: &Path, writers: Writers) -> Result<Begun> {
        let writes = writers == Writers::All || world.is_root();
        world.agree(if writes { examine(path).map(drop).map_err(Error::from) } else { Ok(()) })?;
        if world.is_root() {
            remove_leftovers(path);
        }
        let tag = String::from_utf8_lossy(&world.all_gather(tag().as_bytes())?[0]).into_owned();
        let announced = Temporary::announce(path, &tag);
        // Also waits until all ranks have announced the file, because rank 0 creates it next.
        let announced = world.agree(match announced {
            Err(error) if writes => Err(Error::from(error)),
            announced => Ok(announced.ok()),
        })?;
        Ok(Begun { _announced: announced, tag })
    }

    /// The tag that rank 0 chose, the same on all ranks.
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }
}

/// Returns a tag that differs from those of all other outputs that any process of any host writes at the same time.
pub(super) fn tag() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let output = OUTPUTS.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}", std::process::id(), now.wrapping_add(output))
}

/// Writes a whole file and replaces an existing file of that name.
pub(super) fn write_whole(path: &Path, tag: &str, bytes: &[u8]) -> std::result::Result<(), FileError> {
    // Errors show the user's name for the file, not the temporary one.
    let named = |error| match error {
        FileError::Io { action, cause, .. } => FileError::Io { path: path.to_path_buf(), action, cause },
        other => other,
    };
    let temporary = Temporary::create(path, tag)?;
    let write = |cause| FileError::Io { path: path.to_path_buf(), action: "write", cause };
    temporary.file().write_all(bytes).map_err(write)?;
    temporary.commit().map_err(named)
}

impl World {
    /// Writes the text of rank 0 to a file, which appears whole or not at all. Collective.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("einsum-dist-text-{}.txt", std::process::id()));
    /// let world = einsum_dist::World::single();
    /// world.write_text(&path, "whole")?;
    /// assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole");
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be written; no partial file stays behind.
    pub fn write_text(&self, path: impl AsRef<Path>, text: &str) -> Result<()> {
        let path = path.as_ref();
        let begun = Begun::new(self, path, Writers::Root)?;
        let written = if self.is_root() { write_whole(path, begun.tag(), text.as_bytes()) } else { Ok(()) };
        self.agree(written.map_err(Error::from))
    }
}
