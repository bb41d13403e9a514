//! One rank with as many workers as each of several has: what a speed-up is measured by.
//!
//! One rank works in the pool of its caller. This one lives in a pool of its own, as the program's has all cores, and
//! waits there for its turns.

use std::sync::mpsc::{Receiver, Sender, channel};

use einsum_dist::plan::AlgorithmName;
use einsum_dist::{Machine, World};

use super::case::Size;
use super::variant::Variant;

pub struct Part {
    turns: Sender<usize>,
    seconds: Receiver<f64>,
}

impl Part {
    pub fn new(at: [usize; 2], workers: usize) -> Part {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads");
        let (turns, asked) = channel();
        let (answer, seconds) = channel();
        pool.spawn(move || {
            let machine = Machine::new(1, workers);
            let part = Variant::new(&World::single(), &machine, &Size::numbered(at), Some(AlgorithmName::Local));
            let mut part = part.expect("one rank contracts everything");
            // Until the other end is dropped.
            for runs in asked {
                if answer.send(part.turn(runs)).is_err() {
                    return;
                }
            }
        });
        Part { turns, seconds }
    }

    /// Seconds of a run, as [`Variant::turn`].
    pub fn turn(&self, runs: usize) -> f64 {
        self.turns.send(runs).expect("a rank that waits");
        self.seconds.recv().expect("a rank that answers")
    }
}
