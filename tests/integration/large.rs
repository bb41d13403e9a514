//! Tests blocks with more than 2^31 elements or more than 4 GiB, between in-process ranks and in files. These tests
//! need up to 11 GB of memory, so they run only on demand: `tests/large.sh` (`make test-large`) first checks the
//! available memory.

use std::sync::Arc;
use std::time::Duration;

use crate::common::large_file;
use einsum_dist::comm::in_process::Fabric;
use einsum_dist::comm::{Completion, Endpoint};
use einsum_dist::kernel::Element;
use einsum_dist::memory::{Aligned, ReadLease, Slot, Store, WriteLease};
use einsum_dist::{Dtype, World};
use ndarray::{ArrayView2, IxDyn};

fn owned(dtype: Dtype, extents: &[usize]) -> Arc<Store> {
    let bytes = extents.iter().product::<usize>() * dtype.size();
    let memory = Aligned::zeroed(bytes, &Arc::default()).unwrap();
    Store::open(vec![Some(Slot::owned(Arc::new(memory), 0, dtype, extents))])
}

/// Transfers a block from rank 0 to rank 1. Returns the completions on both ranks, which contain byte counts.
fn moved(bytes_per_second: Option<f64>, from: ReadLease, into: WriteLease) -> [Vec<Completion>; 2] {
    let fabric = Fabric::new(2, bytes_per_second);
    let mut ends = [0, 1].map(|rank| Endpoint::InProcess(fabric.endpoint(rank)));
    ends[0].send(7, 1, vec![from]).unwrap();
    ends[1].recv(4, 0, vec![into]).unwrap();
    let mut done = [vec![], vec![]];
    while done.iter().any(Vec::is_empty) {
        for rank in [1, 0] {
            ends[rank].poll(&mut done[rank]).unwrap();
        }
        ends[1].idle(true, false, Duration::from_millis(1));
    }
    done
}

fn numbered<T: Element + From<u16>>(at: usize) -> T {
    T::from((at % 65_521) as u16)
}

/// The source occupies little memory, because it is a view that broadcasts one row to all rows. The target stores all
/// rows.
#[test]
#[ignore = "takes 9 GB of memory"]
fn a_block_of_more_than_2_to_the_31_elements() {
    let (rows, columns) = (2_201, 1_000_003);
    let row: Vec<f32> = (0..columns).map(numbered).collect();
    let view = ArrayView2::from_shape((1, columns), &row).unwrap();
    let view = view.broadcast(IxDyn(&[rows, columns])).unwrap();
    let from = Store::open(vec![Some(Slot::borrowed(&view))]);
    let into = owned(Dtype::Float32, &[rows, columns]);
    let whole = [0..rows, 0..columns];
    let done = moved(None, from.read(0, &whole).unwrap(), into.write(0, &whole).unwrap());
    let bytes = 4 * (rows * columns) as u64;
    assert_eq!(done, [vec![Completion { ticket: 7, bytes }], vec![Completion { ticket: 4, bytes }]]);
    let lease = into.read(0, &whole).unwrap();
    assert!(lease.view::<f32>().rows().into_iter().all(|came| came.iter().eq(&row)), "other bytes arrived");
    from.close();
}

#[test]
#[ignore = "takes 11 GB of memory"]
fn a_block_of_5_gib_over_a_link() {
    let elements = 5 << 27;
    let [from, into] = [0, 1].map(|_| owned(Dtype::Float64, &[elements]));
    let whole = std::array::from_fn::<_, 1, _>(|_| 0..elements);
    let mut lease = from.write(0, &whole).unwrap();
    lease.view_mut::<f64>().iter_mut().enumerate().for_each(|(at, element)| *element = numbered(at));
    drop(lease);
    let done = moved(Some(20e9), from.read(0, &whole).unwrap(), into.write(0, &whole).unwrap());
    assert!(done.iter().flatten().all(|completion| completion.bytes == 5 << 30), "{done:?}");
    let lease = into.read(0, &whole).unwrap();
    let intact = lease.view::<f64>().iter().enumerate().all(|(at, element)| *element == numbered::<f64>(at));
    assert!(intact, "other bytes arrived");
}

#[test]
#[ignore = "writes a file of 9 GB, most of it a hole"]
fn a_file_of_more_than_2_to_the_31_elements() {
    let path = std::env::temp_dir().join(format!("einsum-dist-large-{}.npy", std::process::id()));
    let removed = Removed(path);
    large_file(&World::in_process(3), &removed.0);
}

/// A file that is removed on drop.
struct Removed(std::path::PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
