//! Output files to which several ranks may write.
//!
//! Invariant: every rank knows the temporary name before the file exists, because any must be able to remove it.

use std::path::Path;

use super::{Error, Result, World};
use crate::io::output::{Announced, Temporary, examine, new_tag, remove_leftovers, write_whole};

pub(super) struct PreparedOutput {
    tag: String,
    _announced: Option<Announced>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    All,
    /// The directory need not exist on other hosts.
    Root,
}

impl PreparedOutput {
    /// Checks on all writing ranks that the output can be written, and removes killed runs' temporary files. Rank 0 may
    /// then create the file. Collective.
    ///
    /// # Errors
    /// If any writing rank cannot write.
    pub(super) fn new(world: &World, path: &Path, writers: Writers) -> Result<PreparedOutput> {
        let writes = writers == Writers::All || world.is_root();
        world.agree(if writes { examine(path).map(drop).map_err(Error::from) } else { Ok(()) })?;
        if world.is_root() {
            remove_leftovers(path);
        }
        let tag = String::from_utf8_lossy(&world.all_gather(new_tag().as_bytes())?[0]).into_owned();
        let announced = Temporary::announce(path, &tag);
        let announced = world.agree(match announced {
            Err(error) if writes => Err(Error::from(error)),
            announced => Ok(announced.ok()),
        })?;
        Ok(PreparedOutput { _announced: announced, tag })
    }

    /// The tag in the temporary name, chosen by rank 0.
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }
}

impl World {
    /// Writes rank 0's text to a file, completely or not at all. Collective.
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
    /// If the file cannot be written.
    pub fn write_text(&self, path: impl AsRef<Path>, text: &str) -> Result<()> {
        let path = path.as_ref();
        let prepared = PreparedOutput::new(self, path, Writers::Root)?;
        let written = if self.is_root() { write_whole(path, prepared.tag(), &[text.as_bytes()]) } else { Ok(()) };
        self.agree(written.map_err(Error::from))
    }
}
