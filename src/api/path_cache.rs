//! Keeps contraction orders in a folder, one file for each expression with its extents and options.
//!
//! Invariants: a file is written whole or not at all. A damaged file, or one of another expression, counts as missing.
//! The number of runs and the time of the search are not part of the key: [`found_tree`] compares them.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Result, Shaped};
use crate::dims::Label;
use crate::io::output::{display_path, new_tag, remove_leftovers, without_code, write_whole};
use crate::machine::Machine;
use crate::plan::{FoundOrder, PathChoice, PlanOptions, SearchedTree, found_tree};

/// Version of the format and of the searches.
const FORMAT: u32 = 1;

/// The file for one expression.
pub struct PathCache {
    file: PathBuf,
    key: String,
    /// For each label, its number in the order of first appearance, which does not depend on names.
    numbers: Vec<Label>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: String,
    found: FoundOrder,
}

impl PathCache {
    /// Returns the file in this folder; `None` if the options search for no order.
    pub fn new(folder: &Path, shaped: &Shaped, machine: &Machine, options: &PlanOptions) -> Option<PathCache> {
        if let PathChoice::LeftToRight | PathChoice::Explicit(_) | PathChoice::Numbered(_) = options.path {
            return None;
        }
        let einsums = shaped.einsums();
        let mut numbers = vec![Label(u32::MAX); einsums.names.len()];
        let limit = options.memory_limit.map(|limit| (limit, machine.ranks, options.in_parts));
        let mut text = format!("{FORMAT} {:?} {:?} {limit:?}", options.path, options.dtype);
        let mut next = 0;
        for node in &einsums.nodes {
            // Writing into memory cannot fail.
            let _ = write!(text, "\n{:?}", node.source);
            for label in &node.labels {
                let at = label.0 as usize;
                if numbers[at].0 == u32::MAX {
                    (numbers[at], next) = (Label(next), next + 1);
                }
                let _ = write!(text, " {}={}", numbers[at].0, einsums.extents[at]);
            }
        }
        let key = format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()));
        Some(PathCache { file: folder.join(format!("{key}.json")), key, numbers })
    }

    /// Reads the order; `None` if there is no file.
    ///
    /// # Errors
    /// If the file cannot be used, as a warning.
    pub fn load(&self, shaped: &Shaped) -> std::result::Result<Option<FoundOrder>, String> {
        let unusable = |why: String| format!("{}: {why}; searching again", display_path(&self.file));
        let text = match std::fs::read(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| unusable(without_code(&error)))?,
        };
        let damaged = |why: &dyn std::fmt::Display| unusable(format!("is no path that was kept ({why})"));
        let Entry { key, mut found } = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
        if key != self.key {
            return Err(unusable("is the path of another expression".to_owned()));
        }
        for label in &mut found.sliced {
            let at = self.numbers.iter().position(|number| number == label).unwrap_or(self.numbers.len());
            *label = Label(at as u32);
        }
        found.tree(shaped.einsums()).map_err(|error| damaged(&error))?;
        Ok(Some(found))
    }

    /// Writes the order, and creates the folder if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be written, as a warning.
    pub fn store(&self, found: &FoundOrder) -> std::result::Result<(), String> {
        let mut entry = Entry { key: self.key.clone(), found: found.clone() };
        entry.found.sliced.iter_mut().for_each(|label| *label = self.numbers[label.0 as usize]);
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: cannot keep paths: {}", display_path(folder), without_code(&error)))?;
        remove_leftovers(&self.file);
        // An order consists of numbers and strings, so this cannot fail.
        let text = serde_json::to_vec(&entry).unwrap_or_default();
        write_whole(&self.file, &new_tag(), &[&text]).map_err(|error| error.to_string())
    }
}

impl Shaped {
    /// Like [`Shaped::searched_tree`], but takes the order from a file in `folder` if an earlier search for this
    /// expression, with any names of dimensions, was at least as long. Otherwise searches, and writes the better order.
    /// Also returns warnings about files that cannot be used or written. If several processes share a plan, one of
    /// them must search for all.
    ///
    /// ```
    /// use einsum_dist::{Machine, PlanOptions, Problem};
    /// # let folder = std::env::temp_dir().join(format!("einsum-dist-paths-{}", std::process::id()));
    /// let (machine, options) = (Machine::default(), PlanOptions::default());
    /// for (text, known) in [("ij,jk,kl,lm->im", false), ("ab,bc,cd,de->ae", true)] {
    ///     let shaped = Problem::parse(text)?.shapes(&[vec![2, 3], vec![3, 4], vec![4, 5], vec![5, 6]])?;
    ///     let (searched, warnings) = shaped.cached_tree(&folder, &machine, &options)?;
    ///     assert!(searched.cached == known && warnings.is_empty());
    ///     let plan = shaped.plan_tree(&searched.tree, &machine, &options)?;
    /// }
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), einsum_dist::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Shaped::tree`].
    pub fn cached_tree(
        &self,
        folder: &Path,
        machine: &Machine,
        options: &PlanOptions,
    ) -> Result<(SearchedTree, Vec<String>)> {
        let mut warnings = Vec::new();
        let cache = PathCache::new(folder, self, machine, options);
        let known = cache.as_ref().map_or(Ok(None), |cache| cache.load(self));
        let known = known.unwrap_or_else(|warning| {
            warnings.push(warning);
            None
        });
        let searched = found_tree(self.einsums(), machine, options, known.as_ref(), &|_| ())?;
        let found = FoundOrder::of(&searched, options);
        if known.as_ref() != Some(&found) {
            warnings.extend(cache.and_then(|cache| cache.store(&found).err()));
        }
        Ok((searched, warnings))
    }
}

#[cfg(test)]
mod tests;
