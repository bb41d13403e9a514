//! Unit tests of `bell`.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::*;
use crate::memory::Aligned;

#[test]
fn nothing_is_missed() {
    let memory = Aligned::zeroed(Bell::BYTES, &Default::default()).unwrap();
    // SAFETY: the memory is as large as a bell, and lives until the end of the test.
    let bell = unsafe {
        Bell::begin(NonNull::new(memory.as_ptr()).unwrap());
        Bell::new(NonNull::new(memory.as_ptr()).unwrap())
    };
    let (requested, answered) = (AtomicU64::new(0), AtomicU64::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=10_000 {
                requested.store(number, Ordering::Release);
                bell.ring();
                while answered.load(Ordering::Acquire) < number {
                    std::thread::yield_now();
                }
            }
        });
        for number in 1..=10_000 {
            while requested.load(Ordering::Acquire) < number {
                bell.sleep(Duration::from_secs(10), || requested.load(Ordering::Acquire) >= number);
            }
            answered.store(number, Ordering::Release);
        }
    });
    assert!(started.elapsed() < Duration::from_secs(10), "a ring was missed");
}
