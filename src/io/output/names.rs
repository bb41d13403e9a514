//! Follows an output path's links to its target, and creates and recognises temporary names, made of the target's and a
//! tag.
//!
//! Guarantees: these names are hidden, in the target's directory, short enough for the file system, and equal on all
//! processes with the same tag. Files are not changed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_64;

use super::FileError;

/// Without the terminating 0.
const MAX_PATH_BYTES: usize = 4095;

static OUTPUTS: AtomicU64 = AtomicU64::new(0);

/// Differs from the tags of all processes' other outputs.
pub fn new_tag() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let output = OUTPUTS.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}", std::process::id(), now.wrapping_add(output))
}

pub(super) fn beside(target: &Path, tag: &str) -> Result<PathBuf, FileError> {
    let Some(name) = target.file_name() else {
        return Err(FileError::IsDirectory { path: target.to_path_buf() });
    };
    let [long, short] = stems(name).map(|stem| target.with_file_name(temporary_name(&stem, tag)));
    Ok(if fits(&long) { long } else { short })
}

pub(super) fn fits(path: &Path) -> bool {
    let longest = rustix::fs::statvfs(directory(path)).map_or(255, |found| found.f_namemax);
    let name = path.file_name().map_or(0, OsStr::len);
    name as u64 <= longest && path.as_os_str().len() <= MAX_PATH_BYTES
}

pub(super) fn stems(name: &OsStr) -> [OsString; 2] {
    [name.to_owned(), format!("{:016x}", xxh3_64(name.as_bytes())).into()]
}

fn temporary_name(stem: &OsStr, tag: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(stem);
    name.push(format!(".{}.partial", tag.replace(['/', '\0', '.'], "_")));
    name
}

/// Whether a name is this stem and a tag of [`new_tag`] (two hexadecimal numbers without a dot).
pub(super) fn is_temporary(name: &OsStr, stem: &OsStr) -> bool {
    let rest = name.as_bytes().strip_prefix(b".").and_then(|rest| rest.strip_prefix(stem.as_bytes()));
    let tag = rest.and_then(|rest| rest.strip_prefix(b".")).and_then(|rest| rest.strip_suffix(b".partial"));
    let Some(tag) = tag else { return false };
    let mut numbers = tag.split(|&byte| byte == b'-');
    let hexadecimal = |number: &[u8]| !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit);
    numbers.clone().count() == 2 && numbers.all(hexadecimal)
}

/// As in Linux.
const MAX_LINKS: usize = 40;

/// Follows links, so that a rename replaces the file, not the link.
pub(super) fn followed(path: &Path) -> Result<PathBuf, FileError> {
    let mut target = path.to_path_buf();
    for _ in 0..=MAX_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => {
                let next = fs::read_link(&target).map_err(FileError::io(path, "follow its link"))?;
                target = target.parent().map_or(next.clone(), |parent| parent.join(&next));
            }
            Err(cause) if ![ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&cause.kind()) => {
                return Err(FileError::io(path, "write")(cause));
            }
            _ => return Ok(target),
        }
    }
    Err(FileError::LinkLoop { path: path.to_path_buf() })
}

pub(in crate::io) fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
