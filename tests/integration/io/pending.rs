//! Tests that output files appear completely or not at all.

use einsum_dist::dtype::Dtype;
use einsum_dist::io::npy::{PendingFile, read_block, read_header};
use einsum_dist::io::output::examine;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("einsum-dist-pending-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn several_writers_one_file() {
    let scratch = Scratch::new("writers");
    let target = scratch.0.join("out.npy");
    let creator = PendingFile::create(&target, "run-1", Dtype::Float32, &[4, 6]).unwrap();
    assert_eq!(scratch.names(), [".out.npy.run-1.partial"]);
    std::thread::scope(|scope| {
        for rank in 0..4usize {
            let target = &target;
            scope.spawn(move || {
                let mine = PendingFile::open(target, "run-1").unwrap();
                let columns = [0..4, rank..rank + 1];
                mine.write_block(&columns, &[rank as u8 + 1; 16]).unwrap();
                mine.flush().unwrap();
            });
        }
    });
    creator.write_block(&[0..4, 4..6], &[9; 32]).unwrap();
    assert!(!target.exists());
    creator.commit().unwrap();
    assert_eq!(scratch.names(), ["out.npy"]);
    let mut got = [0; 96];
    read_block(&target, &read_header(&target).unwrap(), &[0..4, 0..6], &mut got).unwrap();
    for row in got.chunks(24) {
        let firsts: Vec<u8> = row.iter().step_by(4).copied().collect();
        assert_eq!(firsts, [1, 2, 3, 4, 9, 9]);
    }
}

#[test]
fn whoever_fails_leaves_the_old_file() {
    let scratch = Scratch::new("fails");
    let target = scratch.0.join("out.npy");
    fs::write(&target, "old").unwrap();
    let creator = PendingFile::create(&target, "run", Dtype::Float64, &[2]).unwrap();
    drop(PendingFile::open(&target, "run").unwrap());
    assert!(creator.temporary().exists());
    drop(creator);
    assert_eq!(scratch.names(), ["out.npy"]);
    assert_eq!(fs::read(&target).unwrap(), b"old");

    let unwound = std::panic::catch_unwind(|| {
        let _creator = PendingFile::create(&target, "run", Dtype::Float64, &[2]).unwrap();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(unwound.is_err());
    assert_eq!(scratch.names(), ["out.npy"]);
}

#[test]
fn what_a_killed_run_left_is_not_followed() {
    let scratch = Scratch::new("killed");
    let target = scratch.0.join("out.npy");
    let other = scratch.0.join("other");
    fs::write(&other, "kept").unwrap();
    symlink(&other, scratch.0.join(".out.npy.run.partial")).unwrap();
    PendingFile::create(&target, "run", Dtype::Float64, &[2]).unwrap().commit().unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"kept");
    assert!(!target.is_symlink());
}

#[test]
fn a_link_keeps_pointing_at_the_new_file() {
    let scratch = Scratch::new("link");
    let (real, link) = (scratch.0.join("real.npy"), scratch.0.join("link.npy"));
    fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    let creator = PendingFile::create(&link, "run", Dtype::Float64, &[2]).unwrap();
    PendingFile::open(&link, "run").unwrap();
    creator.commit().unwrap();
    assert!(link.is_symlink());
    assert_eq!(read_header(&real).unwrap().shape, [2]);
}

#[test]
fn outputs_that_cannot_be_made() {
    let scratch = Scratch::new("cannot");
    let missing = scratch.0.join("no/out.npy");
    let message = |path: &Path| examine(path).unwrap_err().to_string();
    let directory = missing.parent().unwrap().display();
    assert_eq!(message(&missing), format!("{}: the directory {directory} does not exist", missing.display()));
    assert_eq!(message(&scratch.0), format!("{}: is a directory", scratch.0.display()));
    assert_eq!(message(Path::new("/")), "/: is a directory");
    assert_eq!(message(Path::new("new/")), "new/: is the name of a directory, not of a file");
    assert_eq!(message(Path::new("/dev/null")), "/dev/null: is not a regular file");
    let error = PendingFile::create(Path::new("/dev/null"), "run", Dtype::Float32, &[1]).unwrap_err().to_string();
    assert_eq!(error, "/dev/null: is not a regular file");
    let file = scratch.0.join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("out.npy");
    assert_eq!(message(&below), format!("{}: cannot write: Not a directory", below.display()));
    let large = PendingFile::create(&scratch.0.join("out.npy"), "run", Dtype::Float64, &[usize::MAX, 2]);
    let large = large.unwrap_err().to_string();
    assert!(large.ends_with("float64 of shape (18446744073709551615, 2) is larger than a file can be"), "{large}");

    examine(&scratch.0.join("out.npy")).unwrap();
    fs::write(scratch.0.join("old.npy"), "old").unwrap();
    examine(&scratch.0.join("old.npy")).unwrap();
    assert_eq!(fs::read(scratch.0.join("old.npy")).unwrap(), b"old");
    assert_eq!(scratch.names(), ["file", "old.npy"]);
    examine(Path::new("einsum-dist-relative.npy")).unwrap();
}

#[test]
fn write_protection_is_respected() {
    let scratch = Scratch::new("protected");
    let target = scratch.0.join("out.npy");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o444)).unwrap();
    // For root, every file is writable, so the check applies only to other users.
    if fs::OpenOptions::new().write(true).open(&target).is_err() {
        let error = examine(&target).unwrap_err().to_string();
        assert_eq!(error, format!("{}: cannot write: Permission denied", target.display()));
    }
}
