//! Unit tests of `fixed_loops`.

use super::*;

#[test]
fn few_and_many_are_the_same_list() {
    let dim = |i: usize| Dim { extent: i, strides: [i as isize] };
    let mut loops: Loops<1> = (0..INLINE_LOOPS + 2).map(dim).collect();
    assert_eq!(loops[..], (0..INLINE_LOOPS + 2).map(dim).collect::<Vec<_>>());
    for left in (0..INLINE_LOOPS + 2).rev() {
        assert_eq!(loops.remove(0), dim(INLINE_LOOPS + 1 - left));
        assert_eq!(loops.len(), left);
    }
}
