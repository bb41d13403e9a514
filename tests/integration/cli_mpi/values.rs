//! Tests that MPI ranks without work are idle, that rank 0 prints their number, and that all processes have the same
//! exit code.

use super::{refused, run};
use crate::cases::{TINY_CASES, idle};
use crate::command::Folder;

#[test]
fn processes_without_work_are_idle() {
    let folder = Folder::new("values-mpi");
    for (at, expression) in TINY_CASES.into_iter().enumerate() {
        let (ranks, transport) = ([2, 3, 7][at % 3], ["shared", "message", "rma"][at / 3 % 3]);
        let flags = ["-t1", "--check", "--json", "-o", "out.npy", "--transport", transport];
        let Some(ended) = run(&folder, &ranks.to_string(), &[expression, &flags].concat()) else { return };
        idle(&ended, ranks);
        assert_eq!(folder.files(), ["out.npy"]);
    }
    let strict = run(&folder, "3", &["a,->a", "-s2", "--strict-ranks"]).unwrap();
    refused(&strict, "3 ranks are more than the 2 elements of the largest tensor: 2 have no task and hold no block");
}
