//! A world for each BLACS context, kept as long as its communicator.
//!
//! Numbers of contexts and communicators are used again, so a communicator is recognised by an attribute. MPI calls
//! [`forget`] when it frees the communicator, or, for `MPI_COMM_SELF`, when it is finalised.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use einsum_dist::mpi::datatype::Equivalence;
use einsum_dist::mpi::ffi;
use einsum_dist::mpi::raw::AsRaw;
use einsum_dist::{Machine, Result, World};

use super::blacs::{self, Grid};
use super::contraction::Signature;

/// Programs keep memory; a call's signature may never come again.
const MOST_PROGRAMS: usize = 32;
const MOST_BYTES: u64 = 1 << 30;

pub struct Context {
    pub world: World,
    pub machine: Machine,
    /// The rank of each process of the grid, row by row.
    pub ranks: Vec<usize>,
    pub programs: Programs,
}

/// Compiled programs by signature, the last used one last. The same on all ranks, because compiling is collective.
#[derive(Default)]
pub struct Programs(Vec<Entry>);

struct Entry {
    signature: Signature,
    /// Of rank 0.
    bytes: u64,
    program: Box<dyn Any>,
}

impl Programs {
    /// `compile` also returns the program's bytes.
    pub fn get_or_compile<P: 'static>(
        &mut self,
        signature: Signature,
        compile: impl FnOnce() -> Result<(P, u64)>,
    ) -> Result<&mut P> {
        let found = self.0.iter().position(|entry| entry.signature == signature);
        let entry = match found {
            Some(at) => self.0.remove(at),
            None => {
                let (program, bytes) = compile()?;
                Entry { signature, bytes, program: Box::new(program) }
            }
        };
        let bytes = |entries: &[Entry]| entries.iter().map(|entry| entry.bytes).fold(entry.bytes, u64::saturating_add);
        while !self.0.is_empty() && (self.0.len() >= MOST_PROGRAMS || bytes(&self.0) > MOST_BYTES) {
            self.0.remove(0);
        }
        self.0.push(entry);
        let last = self.0.last_mut().and_then(|entry| entry.program.downcast_mut());
        Ok(last.unwrap_or_else(|| unreachable!("a signature has the type of its program")))
    }
}

struct Communicator(ffi::MPI_Comm);

// SAFETY: returns a live communicator, as `Communicator` is made from the one of a context.
unsafe impl AsRaw for Communicator {
    type Raw = ffi::MPI_Comm;

    fn as_raw(&self) -> ffi::MPI_Comm {
        self.0
    }
}

thread_local! {
    static CONTEXTS: RefCell<HashMap<usize, Context>> = RefCell::default();
    static NEXT: Cell<usize> = const { Cell::new(1) };
    static KEY: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// Calls a function with the world of a context. Collective over the context.
pub fn with<V>(context: c_int, grid: &Grid, call: impl FnOnce(&mut Context) -> Result<V>) -> Result<V> {
    let communicator = Communicator(of_fortran(blacs::communicator(context)));
    let number = match number_of(&communicator) {
        Some(number) => number,
        None => {
            let new = Context::new(&communicator, grid)?;
            let number = NEXT.replace(NEXT.get() + 1);
            CONTEXTS.with_borrow_mut(|contexts| contexts.insert(number, new));
            set_number(&communicator, number);
            number
        }
    };
    // Taken out, so that a call that is made meanwhile (by MPI's callbacks) finds no borrow.
    let taken = CONTEXTS.with_borrow_mut(|contexts| contexts.remove(&number));
    let mut context = taken.unwrap_or_else(|| unreachable!("a communicator's attribute is the number of a context"));
    let result = call(&mut context);
    CONTEXTS.with_borrow_mut(|contexts| contexts.insert(number, context));
    result
}

impl Context {
    fn new(communicator: &Communicator, grid: &Grid) -> Result<Context> {
        let world = World::from_communicator(communicator)?;
        let workers = world.default_workers()?;
        world.place(workers)?;
        let machine = world.machine(workers)?;
        Ok(Context { world, machine, ranks: ranks(communicator, grid), programs: Programs::default() })
    }

    /// Frees everything, collectively.
    fn finish(self) {
        let Context { world, programs, .. } = self;
        drop(programs);
        if let Err(error) = world.finish() {
            eprintln!("einsum-dist: {error}");
        }
    }
}

/// The rank of each process of the grid. Collective.
fn ranks(communicator: &Communicator, grid: &Grid) -> Vec<usize> {
    let [rows, columns] = grid.shape.map(|extent| extent as usize);
    let mine = grid.place[0] * grid.shape[1] + grid.place[1];
    let mut places = vec![0; rows * columns];
    let kind = c_int::equivalent_datatype().as_raw();
    // SAFETY: the communicator has as many processes as the grid, and each sends and receives one integer per process.
    unsafe {
        let (from, into) = ((&raw const mine).cast(), places.as_mut_ptr().cast());
        ffi::MPI_Allgather(from, 1, kind, into, 1, kind, communicator.0);
    }
    let mut ranks = vec![0; places.len()];
    places.iter().enumerate().for_each(|(rank, &place)| ranks[place as usize] = rank);
    ranks
}

fn of_fortran(communicator: c_int) -> ffi::MPI_Comm {
    // SAFETY: BLACS returned this communicator.
    unsafe { ffi::RSMPI_Comm_f2c(communicator) }
}

/// The attribute's key, whose values are numbers of contexts.
fn key() -> c_int {
    if let Some(key) = KEY.get() {
        return key;
    }
    let mut key = 0;
    // SAFETY: the functions have the required types; MPI is initialised, because a BLACS context exists.
    unsafe {
        ffi::MPI_Comm_create_keyval(Some(no_copy), Some(forget), &raw mut key, std::ptr::null_mut());
        // A value without a context, so that `forget` is called by MPI_Finalize.
        ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, std::ptr::null_mut());
    }
    KEY.set(Some(key));
    key
}

fn number_of(communicator: &Communicator) -> Option<usize> {
    let (mut value, mut found) = (std::ptr::null_mut::<c_void>(), 0);
    // SAFETY: MPI writes a pointer and an integer.
    unsafe { ffi::MPI_Comm_get_attr(communicator.0, key(), (&raw mut value).cast(), &raw mut found) };
    (found != 0).then_some(value as usize)
}

fn set_number(communicator: &Communicator, number: usize) {
    // SAFETY: the value is a number, which only `number_of` and `forget` read.
    unsafe { ffi::MPI_Comm_set_attr(communicator.0, key(), number as *mut c_void) };
}

/// A duplicate of a communicator has a context of its own.
unsafe extern "C" fn no_copy(
    _: ffi::MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a pointer to an integer.
    unsafe { copied.write(0) };
    0
}

/// Frees the context of a communicator that is freed; before MPI is finalised, all of them, in the order in which they
/// were made, which is the same on all processes that share any two.
unsafe extern "C" fn forget(_: ffi::MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    let freed = std::panic::catch_unwind(|| {
        let mut freed: Vec<(usize, Context)> = CONTEXTS.with_borrow_mut(|contexts| match value as usize {
            0 => contexts.drain().collect(),
            number => contexts.remove_entry(&number).into_iter().collect(),
        });
        freed.sort_by_key(|(number, _)| *number);
        freed.into_iter().for_each(|(_, context)| context.finish());
    });
    c_int::from(freed.is_err())
}
