//! Unit tests of `positions`.

use super::*;

#[test]
fn positions_become_numbers() {
    let path = |steps: &[&[usize]]| steps.iter().map(|step| step.to_vec()).collect::<Vec<_>>();
    assert_eq!(numbered(&path(&[&[0, 1], &[0, 1]]), 3, false), Ok(path(&[&[0, 1], &[2, 3]])));
    assert_eq!(numbered(&path(&[&[3, 1], &[0, 2], &[0, 1]]), 4, false), Ok(path(&[&[3, 1], &[0, 4], &[2, 5]])));
    assert_eq!(numbered(&path(&[&[0, 2, 1]]), 3, false), Ok(path(&[&[0, 2, 1]])));
    assert_eq!(numbered(&path(&[&[0]]), 1, false), Ok(path(&[&[0]])));
}

#[test]
fn bad_paths_say_what_is_wrong() {
    let says = |steps: &[&[usize]], tensors| {
        numbered(&steps.iter().map(|step| step.to_vec()).collect::<Vec<_>>(), tensors, false).unwrap_err()
    };
    assert_eq!(says(&[&[0, 3]], 3), "step 1 of the path, (0,3), has position 3, but positions go from 0 to 2 there");
    assert_eq!(says(&[&[0, 1], &[1, 1]], 3), "step 2 of the path, (1,1), has position 1 twice");
    assert_eq!(says(&[&[0, 1]], 4), "the path ends with 3 tensors left, for 4 operands");
    assert_eq!(says(&[&[0, 1], &[0]], 2), "step 2 of the path, (0), comes when a single tensor is left");
}
