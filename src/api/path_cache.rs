//! Keeps contraction orders in a folder, one file per expression, extents and options.
//!
//! Invariants: only rank 0 accesses files, and all ranks use the same order. Files are written whole or not at all.
//! Damaged files, or another expression's, count as missing.

use std::fmt::{Display, Write};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Result, Shaped, World};
use crate::dims::Label;
use crate::io::output::{FileError, display_path, new_tag, remove_leftovers, without_code, write_whole};
use crate::machine::Machine;
use crate::plan::{FoundOrder, PathChoice, PlanOptions, SearchProgress, SearchedTree, found_tree};

/// Version of the format and of the searches.
const FORMAT: u32 = 1;

struct PathCache {
    file: PathBuf,
    key: String,
    /// By label, in order of first appearance, whatever the names.
    numbers: Vec<Label>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: String,
    found: FoundOrder,
}

impl PathCache {
    fn new(folder: &Path, shaped: &Shaped, machine: &Machine, options: &PlanOptions) -> PathCache {
        let einsums = shaped.einsums();
        let PlanOptions { dtype, path, in_parts, runs, .. } = options;
        let memory = options.memory_limit.map(|limit| (u128::from(limit) * machine.ranks as u128, in_parts));
        // These determine how long `auto` searches.
        let effort = options.path_seconds.is_none().then_some((runs, machine.ranks, machine.workers));
        let request = (FORMAT, dtype, path, memory, effort);
        let mut text = format!("{request:?}");
        let mut numbers = vec![Label(u32::MAX); einsums.names.len()];
        let mut next = 0;
        for node in &einsums.nodes {
            // Writing into memory cannot fail.
            let _ = write!(text, "\n{:?}", node.source);
            for label in &node.labels {
                let number = &mut numbers[label.0 as usize];
                if number.0 == u32::MAX {
                    (*number, next) = (Label(next), next + 1);
                }
                let _ = write!(text, " {}={}", number.0, einsums.extents[label.0 as usize]);
            }
        }
        let key = format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()));
        PathCache { file: folder.join(format!("{key}.json")), key, numbers }
    }

    fn load(&self, shaped: &Shaped) -> std::result::Result<Option<FoundOrder>, String> {
        let unusable = |why: &dyn Display| format!("{}: {why}; searching again", display_path(&self.file));
        let text = match std::fs::read(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| unusable(&without_code(&error)))?,
        };
        let Entry { key, mut found } = serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
        if key != self.key {
            return Err(unusable(&"is the path of another expression"));
        }
        for label in &mut found.sliced {
            let at = self.numbers.iter().position(|number| number == label);
            *label = Label(at.unwrap_or(self.numbers.len()) as u32);
        }
        found.tree(shaped.einsums()).map_err(|error| unusable(&error))?;
        Ok(Some(found))
    }

    fn store(&self, mut found: FoundOrder) -> std::result::Result<(), FileError> {
        found.sliced.iter_mut().for_each(|label| *label = self.numbers[label.0 as usize]);
        if let Some(folder) = self.file.parent() {
            // If this fails, so does writing.
            let _ = std::fs::create_dir_all(folder);
        }
        remove_leftovers(&self.file);
        // Serialising into memory cannot fail.
        let text = serde_json::to_vec(&Entry { key: self.key.clone(), found }).unwrap_or_default();
        write_whole(&self.file, &new_tag(), &[&text])
    }
}

impl Shaped {
    /// Like [`Shaped::searched_tree`], but takes the order from a file in `folder` if an earlier search for this
    /// expression (with any names) and options was as long; otherwise keeps the better order. Also returns warnings.
    /// Calls `watch` now and then. Collective.
    ///
    /// # Errors
    /// Those of [`Shaped::tree`], and if the ranks cannot communicate.
    pub fn cached_tree(
        &self,
        world: &World,
        folder: Option<&Path>,
        machine: &Machine,
        options: &PlanOptions,
        watch: &dyn Fn(SearchProgress),
    ) -> Result<(SearchedTree, Vec<String>)> {
        let is_searched =
            !matches!(options.path, PathChoice::LeftToRight | PathChoice::Explicit(_) | PathChoice::Numbered(_));
        let Some(folder) = folder.filter(|_| is_searched) else {
            return Ok((found_tree(self.einsums(), machine, options, None, watch)?, Vec::new()));
        };
        let cache = PathCache::new(folder, self, machine, options);
        let loaded = if world.is_root() { cache.load(self) } else { Ok(None) };
        let mut warnings: Vec<String> = loaded.as_ref().err().cloned().into_iter().collect();
        let known = world.gather(&loaded.ok().flatten())?.swap_remove(0);
        let searched = found_tree(self.einsums(), machine, options, known.as_ref(), watch)?;
        let found = FoundOrder::of(&searched, options.path_seconds);
        if world.is_root() && known.as_ref() != Some(&found) {
            warnings.extend(cache.store(found).err().map(|error| error.to_string()));
        }
        Ok((searched, warnings))
    }
}

#[cfg(test)]
mod tests;
