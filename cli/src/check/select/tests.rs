//! Unit tests of `select`.

use super::*;

#[test]
fn runs_and_places_agree() {
    let indices = Indices::listed([0, 1, 2, 5, 9, 10]);
    assert_eq!(indices.len(), 6);
    let runs: Vec<_> = indices.runs().collect();
    assert_eq!(runs, [(0, 0..3), (3, 5..6), (4, 9..11)]);
    assert_eq!(indices.within(&(2..10)), Indices::listed([2, 5, 9]));
    assert_eq!(indices.part(&(1..4)), Indices::listed([1, 2, 5]));
    assert_eq!(indices.part(&(6..9)), Indices::default());
    assert_eq!(Indices::from(3..3).len(), 0);
}

#[test]
fn pieces_are_the_whole() {
    let whole = Selection(vec![Indices::from(0..5), Indices::listed([1, 7, 8]), Indices::from(2..3)]);
    let cuts = whole.cuts(&[Label(0), Label(1), Label(2)], &[2, 2, 1]);
    let parts: Vec<Selection> = (0..cuts.count()).map(|number| whole.part(&cuts, number)).collect();
    assert_eq!(parts.len(), 6);
    let elements = |part: &Selection| part.0.iter().map(Indices::len).product::<usize>();
    assert_eq!(parts.iter().map(elements).sum::<usize>(), 15);
    assert_eq!(parts[1].0, [Indices::from(0..2), Indices::from(8..9), Indices::from(2..3)]);
}
