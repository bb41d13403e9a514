//! Writes output files that appear either complete or not at all, even if the process is killed (`docs/files.md`).
//!
//! Invariant: The target is always either the old file or the complete new file, with the old access rights (`access`).
//! A program that must not leave temporary files after a signal installs a handler that calls [`remove_temporaries`].

mod access;
mod error;
mod identity;
mod leftovers;
mod names;
mod registry;
mod target;
mod temporary;

pub use error::{FileError, display_path, without_code};
pub use identity::Identity;
pub use leftovers::{Leftover, is_leftover, remove_leftovers, would_be_removed};
pub(super) use names::directory;
pub use names::new_tag;
pub use registry::{Announced, Removed, remove_temporaries, try_remove_temporaries};
pub use target::{OutputCheck, examine};
pub use temporary::{Temporary, write_whole};
