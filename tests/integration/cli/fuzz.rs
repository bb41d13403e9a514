//! Regression tests for bugs that random command lines and fuzzing found.

use super::run;
use crate::command::Folder;

#[test]
fn plans_for_many_workers_start_none_of_them() {
    let folder = Folder::new("workers");
    for flag in ["--explain", "--simulate"] {
        let ran = run(&folder, &["mk,kn->mn", "-s8", "-n2", "--workers", "60000", flag]).succeeded();
        assert!(ran.took.as_secs() < 10, "{:?}", ran.took);
    }
    run(&folder, &["mk,kn->mn", "-s8", "-n2", "--workers", "99999"]).refused("--workers 99999");
}

#[test]
fn headers_that_nest_deeply_are_refused_at_once() {
    let folder = Folder::new("nested");
    let text = [&[b'{'; 61][..], &[b' '; 56], b"\n"].concat();
    folder.write("deep.npy", &[b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], &text].concat());
    run(&folder, &["i->i", "deep.npy"]).refused("it nests too deeply");
}
