//! Unit tests of `box_descriptions`.

use std::sync::Arc;

use super::*;
use crate::dtype::Dtype;
use crate::memory::{Aligned, Incoming, Outgoing, Slot, Store, StoreKind, WantedSegments};

const BYTES: usize = 64 << 10;

fn description(boxes: &[ExportedView]) -> Vec<u8> {
    write(std::process::id(), boxes)
}

#[test]
fn what_was_used_last_stays_mapped() {
    let _wanted = WantedSegments::default();
    let memory: Vec<_> = (0..5).map(|_| Aligned::zeroed(BYTES, &Default::default()).unwrap()).collect();
    let description: Vec<_> =
        memory.iter().map(|memory| description(&[ExportedView::sample(memory).unwrap()])).collect();
    let ids: Vec<_> = memory.iter().map(|memory| ExportedView::sample(memory).unwrap().segment.id).collect();
    for (segments, bytes) in [(3, usize::MAX), (MAX_MAPPED_SEGMENTS, 3 * BYTES)] {
        let mut mapped = Mapped { segments, bytes, ..Mapped::new(2) };
        let kept = |mapped: &Mapped| mapped.mappings.iter().map(|((_, id), _)| *id).collect::<Vec<_>>();
        for at in [0, 1, 2, 0, 3] {
            assert_eq!(mapped.read(&description[at]).unwrap().left(), BYTES);
        }
        assert_eq!(kept(&mapped), [ids[3], ids[0], ids[2]]);
        // Segments that are being read stay mapped.
        let reading = [2, 0, 3].map(|at| mapped.read(&description[at]).unwrap());
        assert_eq!(mapped.read(&description[4]).unwrap().left(), BYTES);
        assert_eq!(kept(&mapped), [4, 3, 0, 2].map(|at| ids[at]));
        drop(reading);
        mapped.shrink(0, 0);
        assert!(mapped.mappings.is_empty());
    }
}

#[test]
fn boxes_are_copied_in_parts_of_any_size() {
    let _wanted = WantedSegments::default();
    let mut memory = Aligned::zeroed(2 * BYTES, &Default::default()).unwrap();
    memory.as_mut_slice().iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 % 251) as u8);
    let extents = [32, 32, 32];
    let store = Store::open(vec![Some(Slot::owned(Arc::new(memory), 0, Dtype::Float32, &extents))]);
    let boxes = [[1..20, 0..32, 3..30], [4..4, 0..32, 0..32], [30..32, 0..32, 0..32], [20..21, 5..9, 0..32]];
    let read = || boxes.iter().map(|bounds| store.read(0, bounds).unwrap()).collect::<Vec<_>>();
    let mut expected = Vec::new();
    for lease in read() {
        let start = expected.len();
        expected.resize(start + lease.bytes(), 0);
        lease.pack(&mut expected[start..]);
    }
    let description = description(&Outgoing::new(read()).lend().unwrap());
    let mut mapped = Mapped::new(2);
    let elements = expected.len() / 4;
    for step in [1, 7, 500, 100_000, expected.len()] {
        let memory = Aligned::zeroed(expected.len(), &Default::default()).unwrap();
        let slot = Slot::owned(Arc::new(memory), 0, Dtype::Float32, &[1, elements]);
        let into = Store::open(vec![Some(slot)]);
        let parts = [0..1000, 1000..elements].map(|part| into.write(0, &[0..1, part]).unwrap());
        let mut incoming = Incoming::new(parts.into());
        let mut reader = mapped.read(&description).unwrap();
        while reader.left() > 0 {
            let bytes = step.min(reader.left());
            incoming.copy(&mut reader, bytes, StoreKind::Cached);
        }
        assert_eq!(incoming.left(), 0);
        let mut received = vec![0; expected.len()];
        into.read(0, &[0..1, 0..elements]).unwrap().pack(&mut received);
        assert!(received == expected, "steps of {step} bytes");
    }
}

#[test]
fn what_is_no_box_is_refused() {
    let _wanted = WantedSegments::default();
    let memory = Aligned::zeroed(BYTES, &Default::default()).unwrap();
    let good = ExportedView::sample(&memory).unwrap();
    let mut mapped = Mapped::new(2);
    let mut left = |view: ExportedView| mapped.read(&description(&[view])).map_or(0, |reader| reader.left());
    assert_eq!(left(good.clone()), BYTES);
    for (offset, extent, stride) in [
        (1, BYTES, 1),
        (0, BYTES + 1, 1),
        (0, 2, -1),
        (BYTES, 1, 1),
        (usize::MAX, 1, 1),
        (usize::MAX, 2, isize::MIN),
        (0, 2, isize::MAX),
    ] {
        let strided = Strided { extents: [extent].as_slice().into(), strides: [stride].as_slice().into() };
        assert_eq!(left(ExportedView { offset, strided, ..good.clone() }), 0, "{offset} {extent} {stride}");
    }
    let larger = SegmentHandle { bytes: 2 * BYTES, ..good.segment };
    assert_eq!(left(ExportedView { segment: larger, ..good.clone() }), 0);
    let words = description(&[good]);
    for bytes in (0..words.len()).step_by(size_of::<u64>()) {
        assert_eq!(mapped.read(&words[..bytes]).map_or(0, |reader| reader.left()), 0, "{bytes} bytes");
    }
    let mut words = words;
    let dims = FIXED_WORDS * size_of::<u64>();
    words[dims..][..size_of::<u64>()].copy_from_slice(&u64::MAX.to_ne_bytes());
    assert!(mapped.read(&words).is_err());
}
