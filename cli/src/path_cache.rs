//! Shares the order that rank 0 finds in its cache (`--path-cache`).
//!
//! Invariant: only rank 0 reads and writes files, and all ranks know the same order.

use einsum_dist::World;
use einsum_dist::api::PathCache;
use einsum_dist::plan::FoundOrder;

use super::Result;
use super::args::Args;
use super::say::say;
use super::validate::Request;

/// The order from the cache.
#[derive(Default)]
pub struct Cached {
    pub known: Option<FoundOrder>,
    /// The file, on rank 0.
    file: Option<PathCache>,
}

impl Cached {
    /// Reads the order on rank 0, where a file that cannot be used is a warning. Collective.
    ///
    /// # Errors
    /// If the ranks cannot communicate.
    pub fn read(world: &World, args: &Args, request: &Request) -> Result<Cached> {
        let Some(folder) = &args.path_cache else { return Ok(Cached::default()) };
        let Request { shaped, machine, options, .. } = request;
        let file = world.is_root().then(|| PathCache::new(folder, shaped, machine, options)).flatten();
        let mine = file.as_ref().map_or(Ok(None), |file| file.load(shaped)).unwrap_or_else(|warning| {
            warn(args, &warning);
            None
        });
        let all = world.all_gather(&serde_json::to_vec(&mine).unwrap_or_default())?;
        let known = all.first().and_then(|bytes| serde_json::from_slice(bytes).ok()).flatten();
        Ok(Cached { known, file })
    }

    /// Writes the order on rank 0 if it is new.
    pub fn write(&self, args: &Args, found: &FoundOrder) {
        if let (Some(file), true) = (&self.file, self.known.as_ref() != Some(found)) {
            file.store(found).unwrap_or_else(|warning| warn(args, &warning));
        }
    }
}

fn warn(args: &Args, warning: &str) {
    if !args.quiet {
        say!("warning: --path-cache: {warning}");
    }
}
