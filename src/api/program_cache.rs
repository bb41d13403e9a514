//! Caches the programs that [`einsum`](super::einsum()) compiles, so calls in a loop do not plan and compile again.
//!
//! Every thread has its own cache, because a world and its programs belong to one thread. A call removes its program
//! from the cache before running it, and puts it back after the run. The least recently used programs are evicted
//! first.
//!
//! Invariants: A key contains everything on which the plan and the program depend. The buffers of all cached programs
//! of a thread have at most [`MAX_BYTES`] bytes in total. The cache contains no program whose run has failed.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;

use super::Program;
use crate::dtype::Dtype;
use crate::kernel::Element;

/// Maximum number of programs in each thread's cache.
const MAX_PROGRAMS: usize = 32;
/// Maximum total number of bytes in the intermediates and packing workspace of a thread's cached programs. For larger
/// programs, the time to plan and compile is negligible compared to the time to run.
const MAX_BYTES: u64 = 16 << 20;

/// Everything on which a plan and its compiled program depend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub expression: String,
    pub shapes: Vec<Vec<usize>>,
    pub dtype: Dtype,
    /// Number of threads in the pool in which the program computes.
    pub threads: usize,
}

struct Entry {
    key: Key,
    bytes: u64,
    program: Box<dyn Any>,
}

thread_local! {
    /// The entries are ordered by last use, least recently used first.
    static CACHE: RefCell<VecDeque<Entry>> = const { RefCell::new(VecDeque::new()) };
}

/// Removes a program from the cache and returns it. Cost: O(programs in the cache).
pub fn take<T: Element>(key: &Key) -> Option<Program<T>> {
    let entry = CACHE.with_borrow_mut(|cache| {
        let at = cache.iter().rposition(|entry| entry.key == *key)?;
        cache.remove(at)
    })?;
    // The key contains the element type, so the downcast succeeds.
    entry.program.downcast::<Program<T>>().ok().map(|program| *program)
}

/// Puts a program into the cache, for the next call with its key.
pub fn put<T: Element>(key: Key, program: Program<T>) {
    let bytes = program.held_bytes();
    if bytes > MAX_BYTES {
        return;
    }
    let entry = Entry { key, bytes, program: Box::new(program) };
    CACHE.with_borrow_mut(|cache| {
        let mut all = bytes + cache.iter().map(|entry| entry.bytes).sum::<u64>();
        while all > MAX_BYTES || cache.len() >= MAX_PROGRAMS {
            let Some(oldest) = cache.pop_front() else { break };
            all -= oldest.bytes;
        }
        cache.push_back(entry);
    });
}

#[cfg(test)]
mod tests;
