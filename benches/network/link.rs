//! What a link carries, and what that takes of a processor: plain streams of TCP to the next host and from the host before.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use einsum_dist::World;

use super::product::most;

const PORT: u16 = 7707;

/// Bytes that are written and read at a time.
const CHUNK: usize = 1 << 20;

/// Streams to the next host and from the one before.
pub struct Streams {
    to: TcpStream,
    from: TcpStream,
}

impl Streams {
    /// `addresses` are those of all ranks. Collective.
    pub fn open(world: &World, addresses: &[&str]) -> Streams {
        let rank = world.local_ranks().start;
        let listener = TcpListener::bind((addresses[rank], PORT)).expect("a port");
        // Everybody listens.
        world.all_gather(&[]).expect("all ranks");
        let to = TcpStream::connect((addresses[(rank + 1) % addresses.len()], PORT)).expect("the next host");
        let (from, _) = listener.accept().expect("the host before");
        Streams { to, from }
    }

    /// Sends and receives this many bytes while `work` runs here, and returns when all is done.
    pub fn beside<T>(&mut self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let Streams { to, from } = self;
        std::thread::scope(|scope| {
            scope.spawn(|| each(bytes, |chunk| to.write_all(chunk)));
            scope.spawn(|| each(bytes, |chunk| from.read_exact(chunk)));
            work()
        })
    }

    /// Bytes per second each way, of the slowest host. Collective.
    pub fn rate(&mut self, world: &World, bytes: usize) -> f64 {
        // The first one opens the window of the stream.
        self.beside(CHUNK, || {});
        let start = Instant::now();
        self.beside(bytes, || {});
        bytes as f64 / most(world, start.elapsed().as_secs_f64())
    }
}

/// Hands out memory for this many bytes, a chunk at a time.
fn each(bytes: usize, mut done: impl FnMut(&mut [u8]) -> std::io::Result<()>) {
    let mut memory = vec![1; CHUNK.min(bytes)];
    (0..bytes).step_by(CHUNK).for_each(|at| done(&mut memory[..CHUNK.min(bytes - at)]).expect("a link"));
}
