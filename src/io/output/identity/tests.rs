//! Unit tests of `identity`.

use super::*;
use std::os::unix::fs::symlink;

#[test]
fn a_file_has_many_names() {
    let folder = std::env::temp_dir().join(format!("einsum-dist-identity-{}", std::process::id()));
    fs::create_dir_all(folder.join("below")).unwrap();
    let same =
        |one: &str, other: &str| Identity::of(&folder.join(one)).unwrap() == Identity::of(&folder.join(other)).unwrap();
    fs::write(folder.join("a"), "").unwrap();
    fs::hard_link(folder.join("a"), folder.join("hard")).unwrap();
    symlink("a", folder.join("soft")).unwrap();
    symlink("../new", folder.join("below/dangling")).unwrap();
    symlink("below", folder.join("linked")).unwrap();
    assert!(same("a", "hard") && same("a", "soft") && same("a", "below/../a"));
    assert!(same("new", "below/dangling") && same("below/b", "linked/b") && same("new", "linked/dangling"));
    assert!(!same("a", "b") && !same("b", "below/b"));
    assert_eq!(Identity::of(&folder.join("none/b")), None);
    fs::remove_dir_all(folder).unwrap();
}
