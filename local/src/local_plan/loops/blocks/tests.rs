//! Unit tests of `blocks`.

use super::super::plan_loops;
use super::*;

fn blocks(dims: [Vec<Dim<3>>; 4]) -> SumBlocks {
    plan_loops(&dims, Dtype::Float32, 1).shares.remove(0).blocks.expect("a long sum")
}

#[test]
fn blocks_visit_every_index_of_the_sum_once() {
    let dim = |extent, strides| Dim { extent, strides };
    let cases = [
        ([vec![], vec![], vec![], vec![dim(100_003, [1, 1, 0])]], 1),
        ([vec![], vec![dim(3, [1, 0, 1])], vec![], vec![dim(1_000, [300, 100, 0]), dim(100, [3, 1, 0])]], 3),
        ([vec![], vec![dim(3, [1, 0, 1])], vec![], vec![dim(500, [1500, 1, 0]), dim(500, [3, 500, 0])]], 3),
    ];
    for (dims, elements) in cases {
        let blocks = blocks(dims.clone());
        let terms: usize = dims[3].iter().map(|d| d.extent).product();
        let mut starts: Vec<[isize; 2]> = (0..blocks.count()).map(|block| blocks.start(block).0).collect();
        assert!(blocks.count() > 1 && blocks.count() <= 1 << (blocks.buffers - 1), "{blocks:?}");
        starts.sort_unstable();
        starts.dedup();
        assert_eq!(starts.len(), blocks.count(), "{blocks:?}");
        let outer: usize = blocks.outer.iter().map(|d| d.extent).product();
        assert_eq!(terms % (outer * blocks.cut.extent), 0, "{blocks:?}");
        assert!(blocks.sums.step >= elements);
    }
}
