//! Unit tests of `names`.

use super::*;

#[test]
fn names_are_distinct_and_short() {
    let mut names = Names::default();
    for name in ["j", "j", "k", "j", "j'", "j", "j", "k"] {
        names.fresh(name);
    }
    assert_eq!(names.all, ["j", "j'", "k", "j''", "j'''", "j'4", "j'5", "k'"]);
    (0..10_000).for_each(|_| {
        names.fresh("j");
    });
    assert!(names.all.iter().all(|name| name.len() <= 7));
}
