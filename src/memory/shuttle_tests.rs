//! Tests leases that several threads request at the same time. Shuttle explores the interleavings.

use std::sync::Arc;

use super::{Aligned, Slot, Store};
use crate::dtype::Dtype;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{explore, thread};

#[test]
fn nobody_writes_what_others_read_or_write() {
    explore(20_000, || {
        // The two buffers share the same memory.
        let memory = Arc::new(Aligned::zeroed(64, &Arc::default()).expect("memory"));
        let slot = || Some(Slot::owned(memory.clone(), 0, Dtype::Float64, &[8]));
        let store = Store::open(vec![slot(), slot()]);
        let (readers, writers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for (buffer, bounds) in [(0, 0..8), (0, 2..5), (1, 4..6)] {
                scope.spawn({
                    let (store, bounds, readers, writers) = (&store, bounds.clone(), &readers, &writers);
                    move || {
                        let Ok(_lease) = store.read(buffer, &[bounds]) else { return };
                        readers.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(writers.load(Ordering::SeqCst), 0);
                        readers.fetch_sub(1, Ordering::SeqCst);
                    }
                });
                let (store, readers, writers) = (&store, &readers, &writers);
                scope.spawn(move || {
                    let Ok(_lease) = store.write(buffer, &[bounds]) else { return };
                    assert_eq!(writers.fetch_add(1, Ordering::SeqCst), 0);
                    assert_eq!(readers.load(Ordering::SeqCst), 0);
                    writers.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        store.close();
    });
}
