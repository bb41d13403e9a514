//! Runs a case on one rank that has half of the cores, like each of the two ranks in the experiment. The speed-up of
//! two ranks is computed relative to this rank's time.
//!
//! A rank in a single-process world uses the thread pool of its caller. The program's global pool has all cores, so
//! this rank has its own pool, in which it waits for its turns.

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
            // The loop ends when the sender is dropped.
            for runs in asked {
                if answer.send(part.turn(runs)).is_err() {
                    return;
                }
            }
        });
        Part { turns, seconds }
    }

    /// Mean seconds per run, as measured by [`Variant::turn`].
    pub fn turn(&self, runs: usize) -> f64 {
        self.turns.send(runs).expect("a rank that waits");
        self.seconds.recv().expect("a rank that answers")
    }
}
