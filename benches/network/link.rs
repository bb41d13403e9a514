//! What a link carries: a plain TCP stream to the next host while one comes from the host before.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use einsum_dist::World;

use super::product::most;

const PORT: u16 = 7707;

/// Bytes that are written and read at a time.
const CHUNK: usize = 1 << 20;

/// Bytes per second each way, of the slowest host; `addresses` are those of all ranks. Collective.
pub fn rate(world: &World, addresses: &[&str], chunks: usize) -> f64 {
    let rank = world.local_ranks().start;
    let listener = TcpListener::bind((addresses[rank], PORT)).expect("a port");
    // Everybody listens.
    world.all_gather(&[]).expect("all ranks");
    let mut to = TcpStream::connect((addresses[(rank + 1) % addresses.len()], PORT)).expect("the next host");
    let (mut from, _) = listener.accept().expect("the host before");
    let sender = std::thread::spawn(move || {
        let bytes = vec![1; CHUNK];
        // The first one opens the window of the stream.
        (0..=chunks).for_each(|_| to.write_all(&bytes).expect("a link"));
    });
    let mut bytes = vec![0; CHUNK];
    from.read_exact(&mut bytes).expect("a link");
    let start = Instant::now();
    (0..chunks).for_each(|_| from.read_exact(&mut bytes).expect("a link"));
    let seconds = start.elapsed().as_secs_f64();
    sender.join().expect("a link");
    (chunks * CHUNK) as f64 / most(world, seconds)
}
