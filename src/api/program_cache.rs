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
mod tests {
    use ndarray::{ArrayD, IxDyn};

    use super::*;
    use crate::einsum;

    fn key<T: Element>(expression: &str, shapes: &[&[usize]]) -> Key {
        Key {
            expression: expression.to_owned(),
            shapes: shapes.iter().map(|shape| shape.to_vec()).collect(),
            dtype: T::DTYPE,
            threads: rayon::current_num_threads(),
        }
    }

    /// Tests that calls with the same text but different shapes or element types use different programs. The results
    /// must be correct in any order of calls.
    #[test]
    fn a_call_finds_the_program_of_its_own_shapes() {
        let ones = |shape: &[usize]| ArrayD::<f32>::ones(IxDyn(shape));
        for _ in 0..3 {
            for k in [3, 5, 0, 1] {
                let out = einsum("pq,qr->pr", &[&ones(&[2, k]), &ones(&[k, 4])]).unwrap();
                assert_eq!(out, ArrayD::from_elem(IxDyn(&[2, 4]), k as f32));
                let wide = ones(&[2, k]).mapv(f64::from);
                let out = einsum("pq,qr->pr", &[&wide, &ones(&[k, 4]).mapv(f64::from)]).unwrap();
                assert_eq!(out, ArrayD::from_elem(IxDyn(&[2, 4]), k as f64));
            }
        }
        let mine = key::<f32>("pq,qr->pr", &[&[2, 5], &[5, 4]]);
        let program = take::<f32>(&mine).expect("the last calls had these shapes");
        assert_eq!(program.plan().operand(0).shape, [2, 5]);
        assert!(take::<f32>(&mine).is_none(), "it is taken");
        put(mine, program);
    }

    #[test]
    fn many_and_large_programs_go() {
        for n in 0..2 * MAX_PROGRAMS {
            einsum("stu,tu->su", &[&ArrayD::<f64>::ones(IxDyn(&[1, 2, n])), &ArrayD::ones(IxDyn(&[2, n]))]).unwrap();
        }
        CACHE.with_borrow(|cache| {
            assert!(cache.len() == MAX_PROGRAMS, "{}", cache.len());
            assert!(cache.iter().map(|entry| entry.bytes).sum::<u64>() <= MAX_BYTES);
        });
    }
}
