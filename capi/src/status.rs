//! What calls return. No panic leaves [`guarded`].

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use einsum_dist::{Error, World};

/// The outcome of a call. `einsum_dist_message` says more.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum einsum_dist_status {
    /// The call succeeded.
    EINSUM_DIST_OK = 0,
    /// An expression or a shape is wrong. The message shows where.
    EINSUM_DIST_EXPRESSION = 1,
    /// No plan satisfies the options.
    EINSUM_DIST_PLAN = 2,
    /// An argument is wrong, or does not match the plan or the world.
    EINSUM_DIST_USAGE = 3,
    /// There is too little memory.
    EINSUM_DIST_MEMORY = 4,
    /// A file cannot be read or written.
    EINSUM_DIST_FILE = 5,
    /// Ranks cannot communicate, or another rank failed.
    EINSUM_DIST_RANKS = 6,
    /// A run failed.
    EINSUM_DIST_RUN = 7,
    /// The library has a bug. Its handles must not be used any more.
    EINSUM_DIST_BUG = 8,
}

pub use einsum_dist_status as Status;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Why a call fails.
pub struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { status: Status::EINSUM_DIST_USAGE, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let message = match &error {
            Error::Parse(error) => error.render(),
            Error::Shape(error) => error.render(),
            _ => error.to_string(),
        };
        let status = match error {
            Error::Parse(_) | Error::Shape(_) => Status::EINSUM_DIST_EXPRESSION,
            Error::Plan(_) => Status::EINSUM_DIST_PLAN,
            Error::Usage(_) | Error::Kernel(_) => Status::EINSUM_DIST_USAGE,
            Error::Memory { .. } | Error::HostMemory { .. } | Error::ProcessMemory { .. } => Status::EINSUM_DIST_MEMORY,
            Error::Npy(_) | Error::File(_) | Error::Output { .. } | Error::Checkpoint { .. } | Error::Save { .. } => {
                Status::EINSUM_DIST_FILE
            }
            Error::Comm(_) | Error::Elsewhere { .. } => Status::EINSUM_DIST_RANKS,
            Error::Verify(_) => Status::EINSUM_DIST_BUG,
            _ => Status::EINSUM_DIST_RUN,
        };
        Failure { status, message }
    }
}

pub type Result<V> = std::result::Result<V, Failure>;

/// This process's value if none has failed, so that no other waits in the collective call that follows. Collective.
pub fn agreed<V>(world: &World, mine: Result<V>) -> Result<V> {
    let outcome = match &mine {
        Ok(_) => Ok(()),
        Err(Failure { message, .. }) => Err(Error::Usage(message.clone())),
    };
    let agreed = world.agree(outcome);
    let value = mine?;
    agreed?;
    Ok(value)
}

/// Calls a function; keeps the message of a failure or a panic for `einsum_dist_message`.
pub fn guarded(call: impl FnOnce() -> Result<()>) -> Status {
    let Failure { status, message } = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => Failure { status: Status::EINSUM_DIST_OK, message: String::new() },
        Ok(Err(failure)) => failure,
        Err(panic) => Failure { status: Status::EINSUM_DIST_BUG, message: panic_message(panic.as_ref()) },
    };
    MESSAGE.with_borrow_mut(|kept| *kept = CString::new(message.replace('\0', " ")).unwrap_or_default());
    status
}

/// Like [`guarded`], for functions that cannot fail but return a value.
pub fn guarded_or<V>(otherwise: V, call: impl FnOnce() -> V) -> V {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a bug in einsum-dist: {}", text.unwrap_or("no message"))
}

/// The message of this thread's last call that returns a status; empty after success. Valid until the next such call.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn einsum_dist_message() -> *const c_char {
    MESSAGE.with_borrow(|kept| kept.as_ptr())
}

/// The version of the library, such as `0.1.0`.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn einsum_dist_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
