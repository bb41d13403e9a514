//! Runs all variants on MPI ranks. The processes of these ranks do not use a core while they wait for their turn.
//!
//! The program starts itself once under mpirun. Every rank connects to the port given on its command line, sends its
//! rank number, and answers requests of one line until the connection closes:
//!
//! | request | answer |
//! |---|---|
//! | `open CASE SIZE`: compiles all variants and drops the previous ones | the summary of each variant, as JSON |
//! | `run VARIANT RUNS` | seconds of a run |
//!
//! Turns are passed through a socket, because a rank that waits inside MPI would poll.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::RANKS;
use super::variant::VariantSummary;

/// First argument of the processes that this program starts as MPI ranks.
pub const MPI_RANK: &str = "mpi-rank";

/// The MPI ranks, as seen by the process that assigns the turns.
pub struct Ranks {
    launcher: Child,
    streams: Vec<BufReader<TcpStream>>,
}

impl Ranks {
    /// Starts the ranks. `None` if `EINSUM_DIST_MPIRUN` is not set or the feature `mpi` is disabled.
    pub fn start(arguments: &[String]) -> Option<Ranks> {
        let mpirun = std::env::var("EINSUM_DIST_MPIRUN").ok().filter(|_| cfg!(feature = "mpi"))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("a bound port").port();
        let mut words = mpirun.split_whitespace();
        let mut command = Command::new(words.next()?);
        command.args(words).args(["-n", &RANKS.to_string()]).arg(std::env::current_exe().expect("a path"));
        command.args([MPI_RANK, &port.to_string()]).args(arguments).stdin(Stdio::null());
        let mut launcher = command.spawn().expect("mpirun starts");
        // If mpirun failed, a blocking accept would wait forever.
        listener.set_nonblocking(true).expect("a socket");
        let mut streams: Vec<(usize, BufReader<TcpStream>)> = Vec::new();
        while streams.len() < RANKS {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).expect("a socket");
                stream.set_nodelay(true).expect("a socket");
                let mut stream = BufReader::new(stream);
                let rank = line(&mut stream).parse().expect("a rank's number");
                streams.push((rank, stream));
            } else if let Ok(Some(status)) = launcher.try_wait() {
                panic!("{mpirun} has ended: {status}");
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        streams.sort_by_key(|(rank, _)| *rank);
        Some(Ranks { launcher, streams: streams.into_iter().map(|(_, stream)| stream).collect() })
    }

    fn ask(&mut self, request: &str) -> Vec<String> {
        for stream in &mut self.streams {
            writeln!(stream.get_mut(), "{request}").expect("a rank that listens");
        }
        self.streams.iter_mut().map(line).collect()
    }

    pub fn open(&mut self, [case, size]: [usize; 2]) -> Vec<Option<VariantSummary>> {
        let answers = self.ask(&format!("open {case} {size}"));
        serde_json::from_str(&answers[0]).expect("what rank 0 knows")
    }

    /// Seconds of the slower rank.
    pub fn run(&mut self, variant: usize, runs: usize) -> f64 {
        let answers = self.ask(&format!("run {variant} {runs}"));
        answers.iter().map(|seconds| seconds.parse().expect("seconds")).fold(0.0, f64::max)
    }

    pub fn finish(mut self) {
        self.streams.clear();
        let status = self.launcher.wait().expect("mpirun ends");
        assert!(status.success(), "mpirun: {status}");
    }
}

impl Drop for Ranks {
    /// Kills the launcher, which ends the ranks. If this process panics, the ranks wait for each other, and nothing
    /// else would end them.
    fn drop(&mut self) {
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let read = stream.read_line(&mut line).expect("a line");
    assert!(read > 0, "a rank has ended");
    line.trim().to_owned()
}

/// The program of each MPI rank.
#[cfg(feature = "mpi")]
pub fn rank(port: &str, settings: &super::Settings) {
    use super::case::Size;
    use super::variant::Variant;

    let world = einsum_dist::World::mpi().expect("started by mpirun");
    let port = port.parse::<u16>().expect("a port");
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).expect("whoever started mpirun"));
    stream.get_ref().set_nodelay(true).expect("a socket");
    writeln!(stream.get_mut(), "{}", world.local_ranks().start).expect("a reader");
    let mut variants: Vec<Option<Variant>> = Vec::new();
    let mut request = String::new();
    while stream.read_line(&mut request).is_ok_and(|read| read > 0) {
        let words: Vec<&str> = request.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<usize>().expect("a number");
        let answer = if words[0] == "open" {
            variants.clear();
            variants = settings.variants(&world, &Size::numbered([number(1), number(2)]));
            let summary: Vec<Option<&VariantSummary>> =
                variants.iter().map(|v| v.as_ref().map(|v| &v.summary)).collect();
            serde_json::to_string(&summary).expect("a summary is text and numbers")
        } else {
            variants[number(1)].as_mut().expect("a variant that applies").turn(number(2)).to_string()
        };
        writeln!(stream.get_mut(), "{answer}").expect("a reader");
        request.clear();
    }
    drop(variants);
    world.finish().expect("the end of MPI");
}
