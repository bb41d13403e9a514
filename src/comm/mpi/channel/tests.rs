//! Unit tests of `channel`.

use super::*;
use crate::memory::Aligned;

#[test]
fn bytes_pass_in_order() {
    let layout = Layout::of(40);
    let memory = Aligned::zeroed(layout.segment_bytes(), &Default::default()).unwrap();
    let segment = NonNull::new(memory.as_ptr()).unwrap();
    // SAFETY: the memory is as large as a segment and outlives both ends; there is one producer and one consumer.
    let (mut producer, mut consumer) = unsafe {
        begin(layout, segment);
        (Producer::new(layout, segment, 3), Consumer::new(layout, segment, 3))
    };
    let total = 10 * layout.slot + 17;
    let value = |at: usize| (at % 251) as u8;
    let (mut sent, mut received) = (0, 0);
    for step in 0.. {
        // The two ends skip different steps, so the number of filled slots varies.
        if step % 7 < 4 {
            let fill = |slot: &mut [u8]| {
                slot.iter_mut().enumerate().for_each(|(at, byte)| *byte = value(sent + at));
            };
            let mut filled = 0;
            if sent < total {
                producer.fill(total, total - sent, |slot| {
                    fill(slot);
                    filled = slot.len();
                });
            }
            sent += filled;
        }
        if step % 5 > 1 {
            let taken = consumer.empty(|Filled { bytes, total: of, is_description }| {
                assert!(of == total && !is_description);
                assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == value(received + at)));
                // `empty` passes the same slot again if the slot was not emptied.
                if step % 3 > 0 {
                    received += bytes.len();
                }
                Ok::<bool, ()>(step % 3 > 0)
            });
            assert!(taken.is_ok());
        }
        assert!(sent - received <= SLOTS * layout.slot);
        if received == total {
            break;
        }
    }
    assert!(producer.has_room() && !consumer.has_bytes());
}

#[test]
fn the_sender_sees_that_its_boxes_are_being_copied() {
    let layout = Layout::of(2);
    let mut memory = Aligned::zeroed(layout.segment_bytes(), &Default::default()).unwrap();
    // Memory from MPI has arbitrary content.
    memory.as_mut_slice().fill(7);
    let segment = NonNull::new(memory.as_ptr()).unwrap();
    // SAFETY: the memory is as large as a segment and outlives both ends; there is one producer and one consumer.
    let (mut producer, mut consumer) = unsafe {
        begin(layout, segment);
        (Producer::new(layout, segment, 1), Consumer::new(layout, segment, 1))
    };
    let number = producer.fill_description(1 << 30, &[1, 2, 3]).unwrap();
    for parts in 1..4 {
        assert_eq!(consumer.empty(|Filled { is_description, .. }| Ok::<bool, ()>(!is_description)), Ok(true));
        assert_eq!((producer.copied(), producer.is_emptied(number)), (parts, false));
    }
    assert_eq!(consumer.empty(|_| Ok::<bool, ()>(true)), Ok(true));
    assert!(producer.is_emptied(number));
}

#[test]
fn channels_of_many_ranks_stay_small() {
    assert_eq!(Layout::of(2).slot, MAX_SLOT_BYTES);
    assert!(Layout::of(8).segment_bytes() * 8 < MAX_NODE_BYTES + (1 << 20));
    assert_eq!(Layout::of(192).slot, MIN_SLOT_BYTES);
}
