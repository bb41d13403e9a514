//! Caches one thread's programs for calls in a loop, such as [`einsum`].
//!
//! Invariants: A key has everything on which the plan and the program depend. After a call, all buffers have at most
//! [`MAX_BYTES`] bytes, and no program has a failed run.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use ndarray::{ArrayD, ArrayViewD};
use smallvec::SmallVec;

use super::{Operand, Problem, Program, Result, Workers, World};
use crate::dtype::Dtype;
use crate::kernel::Element;
use crate::machine::Machine;
use crate::plan::PlanOptions;

/// A coupled-cluster iteration has about a hundred contractions.
const MAX_PROGRAMS: usize = 256;
/// Of intermediates and packing workspace. For larger programs, planning and compiling is negligible.
const MAX_BYTES: u64 = 16 << 20;

/// Programs of earlier calls, on one rank. [`einsum`](crate::einsum()) uses one cache per thread.
pub struct ProgramCache {
    world: World,
    entries: HashMap<u64, Vec<Entry>>,
    /// For eviction by last use.
    calls: u64,
    count: usize,
    bytes: u64,
}

#[derive(Debug, PartialEq)]
struct Key {
    expression: String,
    shapes: Vec<Vec<usize>>,
    dtype: Dtype,
    threads: usize,
    options: PlanOptions,
}

struct Entry {
    key: Key,
    bytes: u64,
    last_call: u64,
    program: Box<dyn Cached>,
}

trait Cached {
    fn held_bytes(&self) -> u64;
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<T: Element> Cached for Program<T> {
    fn held_bytes(&self) -> u64 {
        Program::held_bytes(self)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Default for ProgramCache {
    fn default() -> ProgramCache {
        ProgramCache::of(World::single())
    }
}

impl fmt::Debug for ProgramCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.entries.values().flatten().map(|entry| &entry.key);
        f.debug_set().entries(keys.map(|key| (&key.expression, &key.shapes, key.dtype))).finish()
    }
}

impl ProgramCache {
    /// An empty cache, whose programs compute in each call's rayon pool.
    pub fn new() -> ProgramCache {
        ProgramCache::default()
    }

    /// An empty cache whose programs compute in a pool ([`World::single_in`]).
    pub fn in_pool(workers: impl Into<Workers>) -> ProgramCache {
        ProgramCache::of(World::single_in(workers))
    }

    fn of(world: World) -> ProgramCache {
        ProgramCache { world, entries: HashMap::new(), calls: 0, count: 0, bytes: 0 }
    }

    /// Passes the cached or new program for these arguments and `T` to `run`. `options.dtype` is ignored.
    ///
    /// Cost: if cached, a few hundred nanoseconds beside `run`.
    ///
    /// # Errors
    /// Those of [`Problem::parse`], [`Problem::shapes`], [`Shaped::plan`](crate::Shaped::plan) and `run`.
    pub fn run<T: Element, R>(
        &mut self,
        expression: &str,
        shapes: &[&[usize]],
        options: &PlanOptions,
        run: impl FnOnce(&mut Program<T>) -> Result<R>,
    ) -> Result<R> {
        let threads = self.world.threads();
        let hash = hash(expression, shapes, T::DTYPE, threads);
        let is_it = |entry: &Entry| entry.key.is(expression, shapes, T::DTYPE, threads, options);
        let at = match self.entries.get(&hash).and_then(|entries| entries.iter().position(is_it)) {
            Some(at) => at,
            None => self.add::<T>(hash, Key::new(expression, shapes, T::DTYPE, threads, options))?,
        };
        self.calls += 1;
        let entries = self.entries.entry(hash).or_default();
        let entry = &mut entries[at];
        let Some(program) = entry.program.as_any().downcast_mut::<Program<T>>() else {
            unreachable!("the key contains the element type")
        };
        let outcome = run(program);
        // A run may allocate workspace.
        let bytes = entry.program.held_bytes();
        self.bytes = self.bytes - entry.bytes + bytes;
        (entry.bytes, entry.last_call) = (bytes, self.calls);
        // A large program must not evict all others.
        if outcome.is_err() || bytes > MAX_BYTES {
            self.remove(hash, at);
        }
        self.evict();
        outcome
    }

    fn add<T: Element>(&mut self, hash: u64, key: Key) -> Result<usize> {
        let shaped = Problem::parse(&key.expression)?.shapes(&key.shapes)?;
        let plan = shaped.plan_within_memory(
            &self.world,
            &Machine::new(1, key.threads),
            &key.options.clone().dtype(T::DTYPE),
        )?;
        let program = Box::new(self.world.compile::<T>(&plan)?);
        let bytes = program.held_bytes();
        self.bytes += bytes;
        self.count += 1;
        let entries = self.entries.entry(hash).or_default();
        entries.push(Entry { key, bytes, last_call: self.calls, program });
        Ok(entries.len() - 1)
    }

    fn remove(&mut self, hash: u64, at: usize) {
        if let Some(entries) = self.entries.get_mut(&hash) {
            self.bytes -= entries.swap_remove(at).bytes;
            self.count -= 1;
            if entries.is_empty() {
                self.entries.remove(&hash);
            }
        }
    }

    fn evict(&mut self) {
        while self.bytes > MAX_BYTES || self.count > MAX_PROGRAMS {
            let all = self.entries.iter().flat_map(|(&hash, entries)| {
                entries.iter().enumerate().map(move |(at, entry)| (entry.last_call, hash, at))
            });
            let Some((_, hash, at)) = all.min() else { break };
            self.remove(hash, at);
        }
    }
}

fn hash(expression: &str, shapes: &[&[usize]], dtype: Dtype, threads: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (expression, shapes, dtype, threads).hash(&mut hasher);
    hasher.finish()
}

impl Key {
    fn new(expression: &str, shapes: &[&[usize]], dtype: Dtype, threads: usize, options: &PlanOptions) -> Key {
        let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
        Key { expression: expression.to_owned(), shapes, dtype, threads, options: options.clone() }
    }

    fn is(&self, expression: &str, shapes: &[&[usize]], dtype: Dtype, threads: usize, options: &PlanOptions) -> bool {
        self.expression == expression
            && self.shapes.iter().eq(shapes)
            && (self.dtype, self.threads) == (dtype, threads)
            && self.options == *options
    }
}

/// Contracts whole operands in this process on the current rayon pool, to a new row-major array. `docs/expressions.md`
/// describes expressions.
///
/// Cost: The first call parses, plans and compiles. Later calls with the same text, shapes, element type and number of
/// threads reuse this, from a [`ProgramCache`](crate::ProgramCache) per thread of up to 256 programs and 16 MiB of
/// buffers. Your own [`Program`] is never evicted.
///
/// # Errors
/// If the text is not an expression ([`Error::Parse`]), or the operands do not match it ([`Error::Shape`]). Both
/// contain the position in the text.
///
/// ```
/// use ndarray::array;
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 1.0], [0.0, 1.0]]);
/// let c = einsum_dist::einsum("mk,kn->mn", &[&a, &b.t()])?;
/// assert_eq!(c, array![[3.0, 2.0], [7.0, 4.0]].into_dyn());
///
/// match einsum_dist::einsum("mk,kn->mn", &[&a, &array![[1.0], [2.0], [3.0]]]) {
///     Err(einsum_dist::Error::Shape(error)) => println!("{}", error.render()),
///     other => panic!("expected an error, got {other:?}"),
/// }
/// # Ok::<(), einsum_dist::Error>(())
/// ```
///
/// [`Program`]: crate::Program
/// [`Error::Parse`]: crate::Error::Parse
/// [`Error::Shape`]: crate::Error::Shape
pub fn einsum<T: Element>(expression: &str, operands: &[&dyn Operand<T>]) -> Result<ArrayD<T>> {
    thread_local! {
        static CACHE: RefCell<Option<ProgramCache>> = const { RefCell::new(None) };
    }
    let views: SmallVec<[ArrayViewD<T>; 4]> = operands.iter().map(|operand| operand.view_dyn()).collect();
    let shapes: SmallVec<[&[usize]; 4]> = views.iter().map(|view| view.shape()).collect();
    // A worker that waits may steal a task that calls this function.
    let mut cache = CACHE.take().unwrap_or_default();
    let out = cache.run::<T, _>(expression, &shapes, &PlanOptions::default(), |program| program.run(operands));
    CACHE.set(Some(cache));
    out
}

#[cfg(test)]
mod tests;
