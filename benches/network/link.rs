//! Transfers bytes by plain TCP streams to the next host and from the previous host. Measures the rate of the streams,
//! and runs other work while they transfer.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use einsum_dist::World;

use super::product::max_over_processes;

const PORT: u16 = 7707;

/// Number of bytes per write and per read.
const CHUNK: usize = 1 << 20;

/// Streams to the next host and from the previous one.
pub struct Streams {
    to: TcpStream,
    from: TcpStream,
}

impl Streams {
    /// Connects the ranks in a ring. `addresses` has one entry per rank. Collective.
    pub fn open(world: &World, addresses: &[&str]) -> Streams {
        let rank = world.local_ranks().start;
        let listener = TcpListener::bind((addresses[rank], PORT)).expect("a port");
        // This is a barrier, so that all ranks listen before any rank connects.
        world.all_gather(&[]).expect("all ranks");
        let to = TcpStream::connect((addresses[(rank + 1) % addresses.len()], PORT)).expect("the next host");
        let (from, _) = listener.accept().expect("the host before");
        Streams { to, from }
    }

    /// Sends and receives `bytes` while `work` runs on this thread. Returns when the streams and `work` are complete.
    pub fn beside<T>(&mut self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let Streams { to, from } = self;
        std::thread::scope(|scope| {
            scope.spawn(|| each(bytes, |chunk| to.write_all(chunk)));
            scope.spawn(|| each(bytes, |chunk| from.read_exact(chunk)));
            work()
        })
    }

    /// Returns the bytes per second that the slowest host transfers in each direction. Collective.
    pub fn rate(&mut self, world: &World, bytes: usize) -> f64 {
        // The first transfer opens the TCP window of the stream, and is not timed.
        self.beside(CHUNK, || {});
        let start = Instant::now();
        self.beside(bytes, || {});
        bytes as f64 / max_over_processes(world, start.elapsed().as_secs_f64())
    }
}

/// Calls `done` with chunks of a buffer until it has received `bytes` bytes in total.
fn each(bytes: usize, mut done: impl FnMut(&mut [u8]) -> std::io::Result<()>) {
    let mut memory = vec![1; CHUNK.min(bytes)];
    (0..bytes).step_by(CHUNK).for_each(|at| done(&mut memory[..CHUNK.min(bytes - at)]).expect("a link"));
}
