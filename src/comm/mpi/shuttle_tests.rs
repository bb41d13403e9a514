//! Uses Shuttle to explore interleavings of a sleeping communication thread, the workers of its rank and the other
//! processes of its node.
//!
//! These tests do not use MPI. Each process is simulated by a thread, and memory of the test's own process replaces the
//! shared memory.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::channel::{Consumer, Filled, Layout, Producer, begin};
use crate::comm::Waker;
use crate::comm::bell::{Bell, Word};
use crate::memory::Aligned;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, explore, thread};

/// Long enough that no sleep ends by timeout.
const LONG: Duration = Duration::from_secs(1);

fn bell(word: &Word) -> Bell {
    // SAFETY: the word belongs to this bell alone, and the caller keeps it alive for as long as the bell.
    unsafe { Bell::new(NonNull::from(word).cast()) }
}

#[test]
fn a_sleeper_misses_neither_workers_nor_peers() {
    explore(50_000, || {
        let word = Word::default();
        let (bell, waker) = (bell(&word), Waker::default());
        waker.rings(Some(bell));
        let (finished, arrived) = (Mutex::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    *finished.lock().expect("no panics") += 1;
                    waker.wake();
                });
                scope.spawn(|| {
                    arrived.fetch_add(1, Ordering::Release);
                    bell.ring();
                });
            }
            let mut seen = 0;
            while *finished.lock().expect("no panics") < 2 || seen < 2 {
                seen = arrived.load(Ordering::Acquire);
                if *finished.lock().expect("no panics") < 2 || seen < 2 {
                    waker.sleep_on(bell, LONG, || arrived.load(Ordering::Acquire) > seen);
                }
            }
        });
    });
}

#[test]
fn bytes_pass_between_ends_that_sleep() {
    // There are more transfers than slots in a channel; the largest has 5,000 bytes.
    let transfers = || {
        let small = (0..10).map(|number| vec![number; number as usize % 3 + 1]);
        small.chain([(0..5000).map(|byte| byte as u8).collect::<Vec<_>>()])
    };
    explore(5000, move || {
        let layout = Layout::of(40);
        let memory = Aligned::zeroed(layout.segment_bytes(), &Arc::default()).expect("memory");
        let segment = NonNull::new(memory.as_ptr()).expect("memory");
        // SAFETY: the memory is as large as a segment and outlives both ends; this is the only consumer.
        let mut consumer = unsafe {
            begin(layout, segment);
            Consumer::new(layout, segment, 0)
        };
        let words = [Word::default(), Word::default()];
        let (sender, receiver) = (bell(&words[0]), bell(&words[1]));
        thread::scope(|scope| {
            let memory = &memory;
            scope.spawn(move || {
                let segment = NonNull::new(memory.as_ptr()).expect("memory");
                // SAFETY: as above; this is the only producer.
                let mut producer = unsafe { Producer::new(layout, segment, 0) };
                let mut waiting: VecDeque<(Vec<u8>, usize)> = transfers().map(|bytes| (bytes, 0)).collect();
                while let Some((bytes, done)) = waiting.front_mut() {
                    let mut slot_bytes = 0;
                    let filled = producer.fill(bytes.len(), bytes.len() - *done, |slot| {
                        slot.copy_from_slice(&bytes[*done..*done + slot.len()]);
                        slot_bytes = slot.len();
                    });
                    if filled.is_none() {
                        Waker::default().sleep_on(sender, LONG, || producer.has_room());
                        continue;
                    }
                    *done += slot_bytes;
                    if *done == bytes.len() {
                        waiting.pop_front();
                    }
                    receiver.ring();
                }
            });
            for wanted in transfers() {
                let mut received = Vec::new();
                while received.len() < wanted.len() {
                    let took = consumer.empty(|Filled { bytes, total, is_description }| {
                        assert!(total == wanted.len() && !is_description);
                        received.extend_from_slice(bytes);
                        Ok::<bool, ()>(true)
                    });
                    match took {
                        Ok(true) => sender.ring(),
                        _ => Waker::default().sleep_on(receiver, LONG, || consumer.has_bytes()),
                    }
                }
                assert_eq!(received, wanted);
            }
        });
    });
}

/// Tests a block that the receiver copies in place, in two calls. The sender writes to the block again only after the
/// receiver has emptied the slot.
#[test]
fn what_is_lent_stays_until_it_is_copied() {
    explore(20_000, || {
        let layout = Layout::of(40);
        let memory = Aligned::zeroed(layout.segment_bytes(), &Arc::default()).expect("memory");
        let segment = NonNull::new(memory.as_ptr()).expect("memory");
        // SAFETY: the memory is as large as a segment and outlives both ends; this is the only consumer.
        let mut consumer = unsafe {
            begin(layout, segment);
            Consumer::new(layout, segment, 0)
        };
        let words = [Word::default(), Word::default()];
        let (sender, receiver) = (bell(&words[0]), bell(&words[1]));
        let block = [AtomicUsize::new(0), AtomicUsize::new(0)];
        thread::scope(|scope| {
            let (memory, block) = (&memory, &block);
            scope.spawn(move || {
                let segment = NonNull::new(memory.as_ptr()).expect("memory");
                // SAFETY: as above; this is the only producer.
                let mut producer = unsafe { Producer::new(layout, segment, 0) };
                for round in 1..4 {
                    block.iter().for_each(|half| half.store(round, Ordering::Relaxed));
                    let number = producer.fill_description(2, &[round as u8]).expect("there is room for one");
                    receiver.ring();
                    while !producer.is_emptied(number) {
                        Waker::default().sleep_on(sender, LONG, || producer.is_emptied(number));
                    }
                }
            });
            for round in 1..4 {
                let mut copied = 0;
                while copied < block.len() {
                    let took = consumer.empty(|Filled { bytes, is_description, .. }| {
                        assert!(is_description && bytes[0] as usize == round);
                        assert_eq!(block[copied].load(Ordering::Relaxed), round);
                        copied += 1;
                        Ok::<bool, ()>(copied == block.len())
                    });
                    match took {
                        Ok(true) => sender.ring(),
                        _ => Waker::default().sleep_on(receiver, LONG, || consumer.has_bytes()),
                    }
                }
            }
        });
    });
}
