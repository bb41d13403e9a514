//! Tests the files that the program writes. They appear completely or not at all, they replace existing files, and they
//! never overwrite inputs.

mod checkpoints;
mod signals;

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Folder, RunOutput, files, output_of, program};

fn run(folder: &Folder, arguments: &[&str]) -> RunOutput {
    output_of(&mut program(folder, arguments))
}

/// A command that multiplies the matrices in the files that [`files`] writes.
const PRODUCT: [&str; 4] = ["mk,kn->mn", "a.npy", "b.npy", "-t1"];

fn product(folder: &Folder, arguments: &[&str]) -> RunOutput {
    run(folder, &[&PRODUCT[..], arguments].concat())
}

#[test]
fn mode_and_owner_of_what_is_replaced_stay() {
    let folder = Folder::new("mode");
    files(&folder);
    let shown = ["-o", "c.npy", "--trace", "t.json", "--timeline", "t.svg"];
    product(&folder, &shown).succeeded();
    let new = fs::metadata(folder.path().join("c.npy")).unwrap().mode() & 0o777;
    let written = ["c.npy", "t.json", "t.svg"].map(|name| folder.path().join(name));
    for mode in [0o600, 0o664, 0o751] {
        for path in &written {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        // Only root may change the owner.
        let given = written.iter().all(|path| chown(path, Some(1234), Some(2345)).is_ok());
        let err = product(&folder, &shown).succeeded().err;
        assert_eq!(err, "");
        for path in &written {
            let found = fs::metadata(path).unwrap();
            assert_eq!(found.mode() & 0o7777, mode, "{path:?}");
            assert!(!given || (found.uid(), found.gid()) == (1234, 2345), "{path:?}");
        }
    }
    // An output that replaces no existing file has the default permissions of new files.
    product(&folder, &["-o", "d.npy"]).succeeded();
    assert_eq!(fs::metadata(folder.path().join("d.npy")).unwrap().mode() & 0o777, new);
}

#[test]
fn links_are_followed_to_where_they_point() {
    let folder = Folder::new("links");
    files(&folder);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("far/deep")).unwrap();
    symlink("far/real.npy", at("relative.npy")).unwrap();
    symlink(at("far/deep/real.npy"), at("far/absolute.npy")).unwrap();
    symlink("../chain.npy", at("far/chain.npy")).unwrap();
    symlink("far/absolute.npy", at("chain.npy")).unwrap();
    for (link, real) in [("relative.npy", "far/real.npy"), ("far/chain.npy", "far/deep/real.npy")] {
        // In the first run, the target of the link does not exist; in the second run, it exists.
        for _ in 0..2 {
            product(&folder, &["-o", link]).succeeded();
            assert!(at(link).is_symlink() && !at(real).is_symlink());
            assert_eq!(folder.read::<f32>(real).len(), 8);
        }
    }
    product(&folder, &["--trace", "relative.npy"]).succeeded();
    assert!(at("relative.npy").is_symlink() && fs::read(at("far/real.npy")).unwrap().starts_with(b"{"));
    symlink("two.npy", at("one.npy")).unwrap();
    symlink("one.npy", at("two.npy")).unwrap();
    symlink("itself.npy", at("itself.npy")).unwrap();
    symlink("gone/c.npy", at("lost.npy")).unwrap();
    for (link, says) in [("one.npy", "loop"), ("itself.npy", "loop"), ("lost.npy", "the directory gone does not exist")]
    {
        for flag in ["-o", "--trace", "--timeline"] {
            product(&folder, &[flag, link]).refused(says);
        }
        assert!(at(link).is_symlink());
    }
    assert_eq!(fs::read_dir(at("far")).unwrap().count(), 4);
}

#[test]
fn names_are_as_long_as_the_system_allows() {
    let folder = Folder::new("long");
    files(&folder);
    for length in [236, 242, 254, 255] {
        let name = "n".repeat(length);
        let shown = [&name[..length - 1], &"x".repeat(length)];
        product(&folder, &["-o", &name, "--trace", shown[0], "--timeline", shown[1]]).succeeded();
        for name in [&name, shown[0], shown[1]] {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
    }
    let above = "é".repeat(128);
    product(&folder, &["-o", &above]).refused("File name too long");
    // The longest possible path, with directory names of maximum length.
    let mut deep = folder.path().to_path_buf();
    while deep.as_os_str().len() + 1 + 255 + 1 + 255 <= 4095 {
        deep.push("d".repeat(255));
    }
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join("c".repeat((4095 - deep.as_os_str().len() - 1).min(255)));
    product(&folder, &["-o", path.to_str().unwrap()]).succeeded();
    let there: Vec<_> = fs::read_dir(&deep).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, [path.file_name().unwrap()]);
}

#[test]
fn a_file_that_is_written_is_no_other_of_the_command() {
    let folder = Folder::new("same");
    files(&folder);
    let at = |name: &str| folder.path().join(name);
    symlink("a.npy", at("soft.npy")).unwrap();
    fs::hard_link(at("a.npy"), at("hard.npy")).unwrap();
    fs::create_dir(at("below")).unwrap();
    symlink("below", at("linked")).unwrap();
    symlink("../new.npy", at("below/dangling.npy")).unwrap();
    folder.write("e.txt", b"mk,kn->mn");
    folder.write("m.toml", b"ranks = 2");
    let absolute = at("a.npy");
    let before: Vec<_> = folder.files().iter().map(|name| (name.clone(), fs::read(at(name)).ok())).collect();
    let onto = ["--accumulate", "c.npy"];
    for (arguments, one, other) in [
        (&["-o", "a.npy"][..], "--output a.npy", "operand 0 a.npy"),
        (&["-o", "./b.npy"], "--output ./b.npy", "operand 1 b.npy"),
        (&["-o", absolute.to_str().unwrap()], "--output /", "operand 0 a.npy"),
        (&["-o", "below/../a.npy"], "--output below/../a.npy", "operand 0"),
        (&["-o", "soft.npy"], "--output soft.npy", "operand 0"),
        (&["-o", "hard.npy"], "--output hard.npy", "operand 0"),
        (&["--trace", "a.npy"], "--trace a.npy", "operand 0"),
        (&["--timeline", "hard.npy"], "--timeline hard.npy", "operand 0"),
        (&["-o", "new.npy", "--trace", "./new.npy"], "--output new.npy", "--trace ./new.npy"),
        (&["-o", "new.npy", "--timeline", "below/dangling.npy"], "--output new.npy", "--timeline below/dangling.npy"),
        (&["--trace", "below/t", "--timeline", "linked/t"], "--trace below/t", "--timeline linked/t"),
        (&["--trace", "c.npy", onto[0], onto[1]], "--trace c.npy", "--accumulate c.npy"),
        (&["-o", "a.npy", "--explain"], "--output a.npy", "operand 0"),
        (&["-o", "m.toml", "--machine", "m.toml", "--explain"], "--output m.toml", "--machine m.toml"),
    ] {
        let refused = product(&folder, arguments);
        refused.refused(" are the same file");
        assert!(refused.err.contains(one) && refused.err.contains(other), "{}", refused.err);
    }
    for flag in ["-o", "--trace"] {
        run(&folder, &["@e.txt", "a.npy", "b.npy", flag, "./e.txt"]).refused("./e.txt and the expression's e.txt are");
    }
    let after: Vec<_> = folder.files().iter().map(|name| (name.clone(), fs::read(at(name)).ok())).collect();
    assert_eq!(before, after);
    // An input may be given twice, and the file to accumulate onto is read before it is replaced.
    run(&folder, &["mk,mk->mk", "a.npy", "./a.npy", "-o", "c.npy"]).succeeded();
    let once = folder.read::<f32>("c.npy");
    run(&folder, &["mk,mk->mk", "a.npy", "soft.npy", "--accumulate", "c.npy", "-o", "./c.npy"]).succeeded();
    assert_eq!(folder.read::<f32>("c.npy"), once.iter().map(|x| 2.0 * x).collect::<Vec<f32>>());
}

/// If an input had the name of a temporary file, it would be removed as the leftover of a killed run before it is read.
#[test]
fn no_file_of_the_command_is_taken_for_a_leftover() {
    let folder = Folder::new("no-leftover");
    files(&folder);
    let at = |name: &str| folder.path().join(name);
    let names = [".c.npy.1-2.partial", ".t.json.1-2.partial", ".t.svg.1-2.partial"];
    for name in names {
        fs::copy(at("a.npy"), at(name)).unwrap();
    }
    symlink(names[0], at("link.npy")).unwrap();
    fs::hard_link(at(names[0]), at("hard.npy")).unwrap();
    let before = folder.files();
    let would = " would be removed, as it has the name of a temporary file of ";
    for (arguments, one, other) in [
        (&["mk,kn->mn", names[0], "b.npy", "-o", "c.npy"][..], "operand 0 .c.npy.1-2.partial", "--output c.npy"),
        (&["mk,kn->mn", "link.npy", "b.npy", "-o", "./c.npy"], "operand 0 link.npy", "--output ./c.npy"),
        (&["mk,kn->mn", "hard.npy", "b.npy", "-o", "./c.npy"], "operand 0 hard.npy", "--output ./c.npy"),
        (&["mk,kn->mn", "-s2", "--accumulate", names[1], "--trace", "t.json"], names[1], "--trace t.json"),
        (
            &["mk,kn->mn", "-s2", "-o", names[2], "--timeline", "t.svg"],
            "--output .t.svg.1-2.partial",
            "--timeline t.svg",
        ),
        // The output file has the name of a temporary file of the trace, so writing the trace would remove it.
        (
            &["mk,kn->mn", "-s2", "-o", "./.t.json.1-3.partial", "--trace", "t.json"],
            "--output ./.t.json.1-3",
            "--trace t.j",
        ),
    ] {
        let refused = run(&folder, arguments);
        refused.refused(would);
        assert!(refused.err.contains(one) && refused.err.contains(other), "{}", refused.err);
        assert_eq!(folder.files(), before);
    }
    let redirected = File::open(at(names[0])).unwrap();
    let mut reading = program(&folder, &["mk,kn->mn", "-s2", "-o", "c.npy"]);
    output_of(reading.stdin(redirected)).refused("the file of standard input would be removed");
    assert_eq!(folder.files(), before);
}

#[test]
fn the_streams_of_the_program_are_no_output() {
    let folder = Folder::new("streams");
    files(&folder);
    let into = |name: &str, path: &str| {
        let stream = || Stdio::from(File::options().append(true).create(true).open(folder.path().join(name)).unwrap());
        let mut command = program(&folder, &[&PRODUCT[..], &["-o", path]].concat());
        let status = command.stdout(stream()).stderr(stream()).status().unwrap();
        (status.code(), fs::read_to_string(folder.path().join(name)).unwrap())
    };
    for path in ["log", "./log", "/dev/stdout", "/dev/stderr", "/proc/self/fd/1"] {
        let (code, text) = into("log", path);
        assert!(code == Some(2) && text.contains(" is the file of standard "), "{path}: {code:?} {text}");
        fs::remove_file(folder.path().join("log")).unwrap();
    }
}

#[test]
fn what_is_no_regular_file_is_refused_before_any_work() {
    let folder = Folder::new("special");
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    symlink("fifo", folder.path().join("link")).unwrap();
    fs::create_dir(folder.path().join("directory")).unwrap();
    symlink("directory", folder.path().join("to-directory")).unwrap();
    symlink("new/", folder.path().join("slash")).unwrap();
    // The product is expensive, so an error that was found only after the run would take a minute.
    let slow = ["mk,kn->mn", "-s3000", "-t1", "--kernel", "reference"];
    for flag in ["-o", "--trace", "--timeline"] {
        for path in ["/dev/null", "/dev/full", "/dev/stdout", "fifo", "socket", "link"] {
            run(&folder, &[&slow[..], &[flag, path]].concat()).refused(&format!("{path}: is not a regular file"));
        }
        for path in ["directory", "directory/", "to-directory", ".", "..", "/"] {
            run(&folder, &[&slow[..], &[flag, path]].concat()).refused(&format!("{path}: is a directory"));
        }
        for path in ["slash", "new/.", "new/"] {
            let says = format!("{path}: is the name of a directory, not of a file");
            run(&folder, &[&slow[..], &[flag, path]].concat()).refused(&says);
        }
    }
    assert_eq!(folder.files(), ["directory", "fifo", "link", "slash", "socket", "to-directory"]);
}

#[test]
fn a_dash_is_no_file() {
    let folder = Folder::new("dash");
    files(&folder);
    let before = folder.files();
    for (arguments, says) in [
        (&["-o", "-"][..], "--output -: a result needs a file"),
        (&["-o-"], "--output -: a result needs a file"),
        (&["--output=-"], "--output -: a result needs a file"),
        (&["--trace", "-"], "--trace -: it needs a file"),
        (&["--timeline", "-"], "--timeline -: it needs a file"),
        (&["--accumulate", "-"], "--accumulate -: it is read from a file"),
        (&["--machine", "-", "--explain"], "--machine -: it is read from a file"),
    ] {
        let refused = product(&folder, arguments);
        refused.refused(says);
        assert!(refused.err.contains("; a file that has this name is ./-"), "{}", refused.err);
    }
    run(&folder, &["mk,kn->mn", "a.npy", "-"]).refused("operand 1 -: it is read from a file");
    assert_eq!(folder.files(), before);
    product(&folder, &["-o", "./-"]).succeeded();
    run(&folder, &["mk,mn->kn", "a.npy", "./-"]).succeeded();
    assert!(folder.files().contains(&"-".to_owned()));
}

#[test]
fn files_that_cannot_be_written_are_one_message() {
    let folder = Folder::new("refused-files");
    files(&folder);
    // Root has every permission, but cannot create files in these file systems.
    let virtual_files = ["/proc/c.npy", "/sys/c.npy"];
    for path in virtual_files.into_iter().filter(|path| Path::new(path).parent().unwrap().exists()) {
        for flag in ["-o", "--trace", "--timeline"] {
            product(&folder, &[flag, path]).refused(&format!("{path}: cannot "));
        }
    }
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    if File::create(locked.join("try")).is_err() {
        for flag in ["-o", "--trace", "--timeline"] {
            product(&folder, &[flag, "locked/c"])
                .refused("locked/c: cannot create a file in its directory: Permission denied");
        }
    }
}

/// In a sticky directory, a user cannot replace another user's file. Without an early check, only the final rename
/// would fail, after the result was computed.
#[test]
fn files_of_others_in_a_shared_directory_are_refused_before_any_work() {
    let folder = Folder::new("sticky");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    folder.write("c.npy", b"old");
    let theirs = folder.path().join("c.npy");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o666)).unwrap();
    // Only root may change the owner.
    if chown(&theirs, Some(4001), Some(4001)).is_err() {
        return;
    }
    let run = |user: u32, path: &str| {
        let mut command = program(&folder, &["mk,kn->mn", "-s4", "-t1", "-n1", "-q", "-o", path]);
        // Without permission to run the program as another user, the test is skipped.
        command.uid(user).gid(user).output().ok()
    };
    let Some(refused) = run(4002, "c.npy") else { return };
    let says = "error: c.npy: is another user's, in a directory where only owners may replace their files\n";
    assert_eq!((refused.status.code(), String::from_utf8(refused.stderr).unwrap().as_str()), (Some(2), says));
    assert_eq!(fs::read(&theirs).unwrap(), b"old");
    for (user, path) in [(4001, "c.npy"), (4002, "d.npy")] {
        assert_eq!(run(user, path).unwrap().status.code(), Some(0), "{path}");
    }
}

/// A temporary file without a lock was left by a killed run. A temporary file with a lock is still being written.
#[test]
fn temporary_files_of_killed_runs_are_removed() {
    let folder = Folder::new("leftovers");
    files(&folder);
    let long = "n".repeat(255);
    product(&folder, &["-o", &long]).succeeded();
    let hashed = format!(".{:016x}.1f-2e.partial", xxhash_rust::xxh3::xxh3_64(Path::new(&long).as_os_str().as_bytes()));
    let left = [".c.npy.1f-2e.partial", ".t.json.1f-2e.partial", ".t.svg.1f-2e.partial", &hashed];
    // These must stay: temporary files of other targets, and files whose names do not have the form of temporary files.
    let others = [".c.npy.b.1f-2e.partial", ".c.npy.mine.partial", ".d.npy.1f-2e.partial", "c.npy.1f-2e.partial"];
    for name in left.iter().chain(&others) {
        folder.write(name, b"left");
    }
    let shown = ["--trace", "t.json", "--timeline", "t.svg"];
    assert_eq!(product(&folder, &[&["-o", "c.npy"][..], &shown].concat()).succeeded().err, "");
    assert_eq!(product(&folder, &["-o", &long]).succeeded().err, "");
    let names = folder.files();
    assert!(left.iter().all(|name| !names.contains(&(*name).to_owned())), "{names:?}");
    assert!(others.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");

    folder.write(".c.npy.1f-2e.partial", b"being written");
    let writer = File::open(folder.path().join(".c.npy.1f-2e.partial")).unwrap();
    writer.lock().unwrap();
    let err = product(&folder, &["-o", "c.npy"]).succeeded().err;
    assert_eq!(err, "warning: --output c.npy has temporary files: .c.npy.1f-2e.partial, which another run writes\n");
    assert_eq!(product(&folder, &["-o", "c.npy", "-q"]).succeeded().err, "");
    assert!(folder.files().contains(&".c.npy.1f-2e.partial".to_owned()));
}
