//! Runs the program and checks its output.

#![allow(dead_code, reason = "a build without MPI does not use all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use einsum_dist::api::host;
use einsum_dist::io::npy::{create, write_block};
use einsum_dist::{DistTensor, Dtype, Element, World, distribution::Distribution};

/// Path of the program under test. It is the program that was built with these tests, unless `EINSUM_DIST_PROGRAM`
/// names a different one, for example a build for a different MPI library.
pub fn executable() -> &'static str {
    static EXECUTABLE: LazyLock<String> = LazyLock::new(|| {
        std::env::var("EINSUM_DIST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_einsum-dist").to_owned())
    });
    EXECUTABLE.as_str()
}

/// Environment variables that launchers set, and the one that injects faults. [`program`] removes them from the
/// environment of the program under test.
const LAUNCHERS: [&str; 6] =
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "EINSUM_DIST_INJECT"];

/// A separate directory for one test, which is removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = FOLDERS.fetch_add(1, Relaxed);
        let path = std::env::temp_dir().join(format!("einsum-dist-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A directory for the temporary files of a launcher, next to the folder.
    fn session(&self) -> PathBuf {
        self.0.with_extension("mpi")
    }

    /// Sorted names of the files in the directory.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn npy(&self, name: &str, shape: &[usize], values: &[f32]) {
        let path = self.0.join(name);
        let header = create(&path, Dtype::Float32, shape).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let ranges: Vec<_> = shape.iter().map(|&n| 0..n).collect();
        write_block(&path, &header, &ranges, &bytes).unwrap();
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }

    pub fn read<T: Element>(&self, name: &str) -> Vec<T> {
        let tensor = DistTensor::<T>::from_npy(&World::single(), self.0.join(name), &Distribution::single()).unwrap();
        tensor.blocks().flat_map(|(_, block)| block.iter().copied().collect::<Vec<T>>()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_dir_all(self.session());
    }
}

/// Output, exit code and duration of a run.
pub struct RunOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

pub fn output_of(command: &mut Command) -> RunOutput {
    let started = Instant::now();
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    RunOutput { code: status.code(), out: text(stdout), err: text(stderr), took: started.elapsed() }
}

pub fn program(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(executable());
    for name in LAUNCHERS {
        command.env_remove(name);
    }
    // Default rates, so that plans are the same on every host.
    command.env("EINSUM_DIST_RATES", "default");
    // A topology with one NUMA domain, so that the default number of ranks is 1.
    if let Some(last) = host::cpus().iter().max() {
        command.env("EINSUM_DIST_TOPOLOGY", format!("core:{}", last + 1));
    }
    command.current_dir(folder.path()).args(arguments);
    command
}

/// A command that starts the launcher of the MPI library under test in a folder. `None` if `EINSUM_DIST_MPIRUN` is not
/// set.
pub fn launcher(folder: &Folder) -> Option<Command> {
    let Ok(launcher) = std::env::var("EINSUM_DIST_MPIRUN") else {
        eprintln!("skipped: EINSUM_DIST_MPIRUN names no launcher");
        return None;
    };
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next()?);
    // Default rates, so that plans are the same on every host.
    command.args(words).current_dir(folder.path()).env("EINSUM_DIST_RATES", "default");
    alone(&mut command, folder);
    Some(command)
}

/// Gives this command its own session directory. By default, all Open MPI launchers of a user share one directory. The
/// last launcher to end removes it, possibly while another launcher starts to use it.
pub fn alone(command: &mut Command, folder: &Folder) {
    std::fs::create_dir_all(folder.session()).unwrap();
    command.env("OMPI_MCA_orte_tmpdir_base", folder.session());
}

/// The same command with default actions for signals that end programs. This is needed because the process that runs
/// the tests may ignore some of these signals.
pub fn listening(command: &Command) -> Command {
    let mut listening = Command::new("env");
    listening
        .arg("--default-signal=HUP,INT,TERM,QUIT,XCPU,USR1,USR2,ALRM")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => listening.env(name, value),
            None => listening.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        listening.current_dir(folder);
    }
    listening
}

impl RunOutput {
    /// Parses standard output, which must be one JSON object.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    #[track_caller]
    pub fn succeeded(self) -> RunOutput {
        assert_eq!(self.code, Some(0), "{}\n{}", self.out, self.err);
        self
    }

    /// Requires that the program rejected invalid input with one message that contains `says`, and printed nothing to
    /// standard output.
    #[track_caller]
    pub fn refused(&self, says: &str) {
        assert_eq!(self.code, Some(2), "{}\n{}", self.out, self.err);
        assert_eq!(self.out, "");
        assert!(self.err.contains(says) && self.err.ends_with('\n'), "{:?}", self.err);
        assert_eq!(self.err.matches("error: ").count(), 1, "{}", self.err);
        assert!(self.took < Duration::from_secs(10), "{:?}", self.took);
    }
}

/// A product of small integers, so that the order of additions does not affect the result. The result has 76,800 bytes,
/// and the operands have 17,920 bytes in total.
pub const PRODUCT: [&str; 3] = ["mk,kn->mn", "left.npy", "right.npy"];

/// A memory limit per rank that is too small for the result of [`PRODUCT`].
pub const TOO_LITTLE: &str = "34kB";

/// Writes the files that [`PRODUCT`] names.
pub fn product(folder: &Folder) {
    for (name, shape) in [("left.npy", [120, 16]), ("right.npy", [16, 160])] {
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|place| (place * 7 % 5) as f32 - 2.0).collect();
        folder.npy(name, &shape, &values);
    }
}

/// Requires that a run within the limit [`TOO_LITTLE`] produced its result in parts and used exactly the planned
/// memory.
#[track_caller]
pub fn in_parts(report: &serde_json::Value) {
    let peak = &report["peak_bytes"];
    assert!(report["output"]["parts"].as_u64() > Some(1), "{report}");
    assert!(report["slices"].as_u64() >= report["output"]["parts"].as_u64(), "{report}");
    assert!(peak["planned"] == peak["measured"] && peak["planned"].as_u64() <= Some(34_000), "{report}");
    assert_eq!((&report["check"]["ok"], report["check"]["checked"].as_u64()), (&true.into(), Some(120 * 160)));
}

/// A contraction of an operand of 2 MiB, and a limit that has room for a fraction of it. [`large_operand`] writes the
/// files.
pub const OUT_OF_CORE: [&str; 5] = ["ab,bc->ac", "large.npy", "small.npy", "-t1", "--memory-limit=512KiB"];

/// Writes the files that [`OUT_OF_CORE`] names.
pub fn large_operand(folder: &Folder) {
    for (name, shape) in [("large.npy", [512, 1024]), ("small.npy", [1024, 8])] {
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|place| (place * 7 % 5) as f32 - 2.0).collect();
        folder.npy(name, &shape, &values);
    }
}

/// Requires that a run within the limit of [`OUT_OF_CORE`] used no more than the planned memory; on one rank, exactly it.
#[track_caller]
pub fn out_of_core(report: &serde_json::Value) {
    let peak = &report["peak_bytes"];
    assert!(report["slices"].as_u64() > Some(1), "{report}");
    let [planned, measured] = ["planned", "measured"].map(|which| peak[which].as_u64().unwrap());
    assert!(measured <= planned && planned <= 512 << 10, "{report}");
    assert!(measured == planned || report["ranks"] != 1, "{report}");
    assert_eq!(report["check"]["ok"], true, "{report}");
}

/// A kernel that this processor does not support.
const FOREIGN: &str = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };

/// Invalid arguments, each with a text that its error message must contain.
pub const REFUSED: &[(&[&str], &str)] = &[
    (&["mk,kn->mx"], "output label `x` is in none of the inputs"),
    (&["mk,kn-"], "the expression ends in `-`"),
    (&["mk,kn->mn", "a.npy"], "the expression has 2 operands, but 1 is given"),
    (&["mk,kn->mn", "a.npy", "v.npy"], "operand 1 has 1 dimension, its term has 2"),
    (&["mk,kn->mn", "a.npy", "a.npy"], "label `k` has extent 3 in operand 0, but 2 in operand 1"),
    (&["mk,km->mm", "a.npy", "b.npy"], "output"),
    (&["mk,kn->mn", "a.npy", "none.npy"], "none.npy: cannot open: No such file or directory"),
    (&["mk,kn->mn", "a.npy", "short.npy"], "short.npy: is truncated: 176 bytes expected, 150 found"),
    (
        &["mk,kn->mn", "a.npy", "int.npy"],
        "int.npy: holds int64; convert it: np.save(\"int-float64.npy\", np.load(\"int.npy\").astype(np.float64)) (whole",
    ),
    (&["mk,kn->mn", "a.npy", "b.npy", "-s", "m=7"], "--size gives `m` extent 7, but the file of operand 0 has 2"),
    (&["mk,kn->mn", "-o", "none/c.npy"], "none/c.npy: the directory none does not exist"),
    (&["mk,kn->mn", "-s", "8", "--memory-limit", "10", "--algorithm", "local"], "more than the memory limit of 10"),
    (&["mk,kn->mn", "--memory-limit", "much"], "--memory-limit: `much` is no number of bytes"),
    (&["mk,kn->mn", "--algorithm", "magic"], "unknown algorithm `magic` (known: auto, local, c, "),
    (&["mk,kn->mn", "--algorithm", "c"], "algorithm c does not apply to `mk,kn->mn`: it needs a dimension of kind c"),
    (&["mk,kn->mn", "--cut", "x"], "there is no dimension `x` to cut"),
    (&["mk,kn->mn", "--cut", "m,n,k"], "--cut takes a label, or two: m,n"),
    (&["mk,kn->mn", "-s", "x=3"], "--size names `x`, which is no label of the expression"),
    (&["mk,kn->mn", "-s", "3,4,5"], "name them: k=8,m=8,n=8"),
    (&["[1,0],[0,2]->[1,2]", "-s", "3,4"], "--size lists 2 extents, the expression has 3 names: `0`, `1`, `2`"),
    (&["mk,kn->mn", "--dtype", "int8"], "unknown type `int8`"),
    (&["mk,kn->mn", "--transport", "pigeon"], "unknown transport `pigeon`"),
    (
        &["mk,kn->mn", "--kernel", "magic"],
        "unknown kernel `magic` (known: auto, xsmm, portable, avx2, avx512, neon, reference)",
    ),
    (&["mk,kn->mn", "--kernel", FOREIGN], "is not available: "),
    (
        &["mk,kn->mn", "--kernel", "xsmm", "--dtype", "c64"],
        if cfg!(feature = "libxsmm") { "LIBXSMM has no complex kernels" } else { "this build has no LIBXSMM" },
    ),
    (&["mk,kn->mn", "--explain", "--kernel", FOREIGN], "processors, this one is "),
    (&["mk,kn->mn", "--accumulate", "a.npy", "-s", "8"], "a.npy has shape [2, 3], the result has [8, 8]"),
    (&["mk,kn->mn", "-s", "99999999999999"], "is larger than memory can be"),
    (&["@none.txt"], "cannot read the expression from none.txt"),
    (&["mk,kn->mn", "--nonsense"], "unexpected argument '--nonsense'"),
    (&[], "<EXPRESSION>"),
];

/// Writes the files that [`REFUSED`] names.
pub fn files(folder: &Folder) {
    folder.npy("a.npy", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    folder.npy("b.npy", &[3, 4], &[0.5; 12]);
    folder.npy("v.npy", &[3], &[1.0; 3]);
    let bytes = std::fs::read(folder.path().join("b.npy")).unwrap();
    folder.write("short.npy", &bytes[..150]);
    let text = String::from_utf8(bytes[10..128].to_vec()).unwrap().replace("<f4", "<i8");
    folder.write("int.npy", &[&bytes[..10], text.as_bytes(), &[0; 96]].concat());
}
