//! Unit tests of `access`.

use super::*;
use rustix::fs::{XattrFlags, setxattr};

/// Encodes an access control list in version 2 of its format, with the tag, permissions and id of each entry.
fn posix(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, allows, who) in entries {
        bytes.extend([tag.to_le_bytes(), allows.to_le_bytes()].concat());
        bytes.extend(who.to_le_bytes());
    }
    bytes
}

/// A list in which the owner may read and write, user 1234 may read, and the group has no rights.
fn one_reader(mask: u16) -> Vec<u8> {
    let nobody = u32::MAX;
    posix(&[(1, 6, nobody), (2, 4, 1234), (4, 0, nobody), (0x10, mask, nobody), (0x20, 0, nobody)])
}

#[test]
fn lists_go_with_the_file_and_give_the_group_nothing() {
    let folder = std::env::temp_dir().join(format!("einsum-dist-access-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (old, new) = (folder.join("old"), folder.join("new"));
    let plain = folder.join("plain");
    for path in [&old, &new, &plain] {
        fs::write(path, "").unwrap();
    }
    fs::set_permissions(&plain, Permissions::from_mode(0o640)).unwrap();
    if setxattr(&old, NAME, &one_reader(4), XattrFlags::empty()).is_ok() {
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!(mode(&old), 0o640);
        Access::of(&old).unwrap().give(&File::open(&new).unwrap()).unwrap();
        assert_eq!(mode(&new), 0o640);
        assert!(matches!(list(&new), Some(List::Known(list)) if list == one_reader(4)));
        // The new file has a list, as if it had inherited the list from its directory.
        Access::of(&plain).unwrap().give(&File::open(&new).unwrap()).unwrap();
        assert_eq!(mode(&new), 0o640);
        assert!(list(&new).is_none());
        // Imitates a list that could not be read.
        let unread = Access { list: Some(List::Unknown), ..Access::of(&old).unwrap() };
        unread.give(&File::open(&new).unwrap()).unwrap();
        assert_eq!(mode(&new), 0o600);
    }
    fs::remove_dir_all(folder).unwrap();
}
