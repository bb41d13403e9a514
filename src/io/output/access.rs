//! Copies a file's access rights to its replacement (`docs/files.md`).
//!
//! Guarantee: the new file gets the old mode, access control list and, if allowed, owner, and never allows what the old
//! did not. With a list, the mode's group bits are its mask.

use std::fs::{self, File, Metadata, Permissions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

const GROUP: u32 = 0o070;

#[derive(Debug)]
pub(super) struct Access {
    found: Metadata,
    list: Option<List>,
}

#[derive(Debug)]
enum List {
    Known(Vec<u8>),
    Unknown,
}

impl Access {
    pub fn of(path: &Path) -> Option<Access> {
        Some(Access { found: fs::metadata(path).ok()?, list: list(path) })
    }

    pub fn give(&self, file: &File) -> Result<()> {
        let (user, group) = (self.found.uid(), self.found.gid());
        // `fchown` clears the set-user-ID and set-group-ID bits of the mode.
        let kept = fchown(file, Some(user), Some(group)).is_ok();
        if !kept {
            let _ = fchown(file, None, Some(group));
        }
        let mode = self.found.mode() & if kept { 0o7777 } else { 0o777 };
        // The new file may have inherited a list from its directory.
        drop_list(file);
        match &self.list {
            None => file.set_permissions(Permissions::from_mode(mode)),
            Some(list) => {
                file.set_permissions(Permissions::from_mode(mode & !GROUP))?;
                if let List::Known(list) = list {
                    // This also sets the group bits; on failure, the group has fewer rights.
                    set_list(file, list);
                }
                Ok(())
            }
        }
    }
}

#[cfg(target_os = "linux")]
const NAME: &str = "system.posix_acl_access";

#[cfg(target_os = "linux")]
fn list(path: &Path) -> Option<List> {
    use rustix::fs::{getxattr, getxattr_query};
    use rustix::io::Errno;
    let bytes = match getxattr_query(path, NAME) {
        Ok(bytes) => bytes,
        // No list, or no support for lists.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => return None,
        Err(_) => return Some(List::Unknown),
    };
    let mut list = vec![0; bytes];
    Some(match getxattr(path, NAME, &mut list[..]) {
        Ok(read) if read == bytes => List::Known(list),
        _ => List::Unknown,
    })
}

#[cfg(target_os = "linux")]
fn set_list(file: &File, list: &[u8]) {
    let _ = rustix::fs::fsetxattr(file, NAME, list, rustix::fs::XattrFlags::empty());
}

#[cfg(target_os = "linux")]
fn drop_list(file: &File) {
    // Most files have no list.
    let _ = rustix::fs::fremovexattr(file, NAME);
}

#[cfg(not(target_os = "linux"))]
fn list(_path: &Path) -> Option<List> {
    None
}

#[cfg(not(target_os = "linux"))]
fn set_list(_file: &File, _list: &[u8]) {}

#[cfg(not(target_os = "linux"))]
fn drop_list(_file: &File) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
