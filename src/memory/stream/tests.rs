//! Unit tests of `stream`.

use std::sync::Arc;

use super::*;
use crate::dtype::Dtype;
use crate::memory::{Aligned, Slot, Store};

fn numbered(extents: &[usize], first: f32) -> Arc<Store> {
    let elements: usize = extents.iter().product();
    let memory = Aligned::zeroed(elements * 4, &Arc::default()).unwrap();
    let store = Store::open(vec![Some(Slot::owned(Arc::new(memory), 0, Dtype::Float32, extents))]);
    let whole: Vec<_> = extents.iter().map(|&extent| 0..extent).collect();
    let mut lease = store.write(0, &whole).unwrap();
    lease.view_mut::<f32>().iter_mut().enumerate().for_each(|(at, element)| *element = first + at as f32);
    drop(lease);
    store
}

#[test]
fn steps_of_any_size_are_the_whole() {
    let boxes = [vec![1..4, 0..5, 2..6], vec![0..1, 1..2, 0..7], vec![2..2, 0..5, 0..7], vec![4..6, 0..5, 0..7]];
    for (step, store_kind) in
        [1, 3, 4, 7, 28, 100, 10_000].into_iter().zip([StoreKind::Cached, StoreKind::Streaming].into_iter().cycle())
    {
        let (from, into) = (numbered(&[6, 5, 7], 1.0), numbered(&[6, 5, 7], 0.0));
        let read = || boxes.iter().map(|bounds| from.read(0, bounds).unwrap()).collect::<Vec<_>>();
        let whole: Vec<u8> = read().iter().flat_map(packed).collect();
        let mut source = Outgoing::new(read());
        let mut target = Incoming::new(boxes.iter().map(|bounds| into.write(0, bounds).unwrap()).collect());
        assert_eq!((source.left(), target.left()), (whole.len(), whole.len()));
        let mut seen = Vec::new();
        while source.left() > 0 {
            let mut part = vec![0; step.min(source.left())];
            source.read(&mut part, store_kind);
            target.write(&part, store_kind);
            seen.extend(part);
        }
        assert!(seen == whole && target.left() == 0, "steps of {step} bytes");
        // All leases have ended, so all boxes of `into` can be read.
        let came: Vec<u8> = boxes.iter().flat_map(|bounds| packed(&into.read(0, bounds).unwrap())).collect();
        assert!(came == whole, "steps of {step} bytes");
    }
}

#[test]
fn a_lease_ends_with_the_last_byte_of_its_box() {
    let store = numbered(&[4, 6], 1.0);
    let boxes = [[0..1, 0..6], [1..1, 0..6], [1..3, 1..4]];
    let mut source = Outgoing::new(boxes.iter().map(|bounds| store.read(0, bounds).unwrap()).collect());
    let free = |number: usize| store.write(0, &boxes[number]).is_ok();
    source.read(&mut [0; 23], StoreKind::Cached);
    assert!(!free(0));
    source.read(&mut [0; 1], StoreKind::Cached);
    assert!(free(0) && !free(2));
    source.read(&mut [0; 24], StoreKind::Cached);
    assert!(free(2));
}

fn packed(lease: &ReadLease) -> Vec<u8> {
    let mut bytes = vec![0; lease.bytes()];
    lease.pack(&mut bytes);
    bytes
}
