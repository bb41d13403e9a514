//! Finds the signals that the parent made this process ignore, as `nohup` does with SIGHUP.
//!
//! UCX, which MPICH loads, hides the parent's choice before `main`.
//! [`remember_ignored_signals!`](crate::remember_ignored_signals) queries the kernel before that. Without it,
//! [`is_ignored`] reads `/proc` on its first call, and returns false where there is none.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bit N - 1 is set if signal N is ignored; the top bit, once the mask is filled.
static IGNORED: AtomicU64 = AtomicU64::new(0);
const INITIALISED_BIT: u64 = 1 << 63;

/// Whether the parent made this process ignore `signal`.
pub fn is_ignored(signal: i32) -> bool {
    if IGNORED.load(Ordering::Relaxed) & INITIALISED_BIT == 0 {
        let now = masked(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        IGNORED.store(INITIALISED_BIT | now, Ordering::Relaxed);
    }
    (1..64).contains(&signal) && IGNORED.load(Ordering::Relaxed) >> (signal - 1) & 1 == 1
}

fn masked(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0) & !INITIALISED_BIT
}

/// Fills the mask. No library is initialised when the loader calls this, so it makes system calls directly.
#[doc(hidden)]
#[cfg(target_os = "linux")]
pub extern "C" fn remember() {
    let mut ignored = INITIALISED_BIT;
    for signal in 1..=31 {
        let mut action = [0usize; ACTION_WORDS];
        // SAFETY: without a new action, the call only writes the old action. The kernel's `sigaction` struct is
        // smaller than `action`, and the last argument is the size of the kernel's signal set.
        let status = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                std::ptr::null::<usize>(),
                action.as_mut_ptr(),
                SIGNAL_SET_BYTES,
            )
        };
        // The handler is the first word on every architecture except MIPS.
        let handler = action[usize::from(cfg!(any(target_arch = "mips", target_arch = "mips64")))];
        if status == 0 && handler == libc::SIG_IGN {
            ignored |= 1 << (signal - 1);
        }
    }
    IGNORED.store(ignored, Ordering::Relaxed);
}

/// Enough for the kernel's `sigaction` struct on every architecture.
#[cfg(target_os = "linux")]
const ACTION_WORDS: usize = 16;

#[cfg(target_os = "linux")]
const SIGNAL_SET_BYTES: usize = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 16 } else { 8 };

/// Makes [`is_ignored`] report the signals ignored before any library was initialised. Use it once in a program (not a
/// shared library), outside any function.
#[doc(hidden)]
#[macro_export]
macro_rules! remember_ignored_signals {
    () => {
        #[cfg(target_os = "linux")]
        const _: () = {
            // SAFETY: the loader calls functions in this section once, while the process has a single thread. They may
            // ignore its arguments.
            #[unsafe(link_section = ".preinit_array")]
            #[used]
            static REMEMBER: extern "C" fn() = $crate::comm::ignored_signals::remember;
        };
    };
}

#[cfg(test)]
mod tests;
