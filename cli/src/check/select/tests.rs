//! Unit tests of `select`.

use super::*;

fn listed(indices: impl IntoIterator<Item = usize>) -> Intervals {
    Intervals::ascending(indices.into_iter().map(|index| index..index + 1))
}

#[test]
fn runs_and_places_agree() {
    let indices = listed([0, 1, 2, 5, 9, 10]);
    assert_eq!(indices.len(), 6);
    let runs: Vec<_> = runs(&indices).collect();
    assert_eq!(runs, [(0, 0..3), (3, 5..6), (4, 9..11)]);
    assert_eq!(indices.intersect(&Intervals::from(2..10)), listed([2, 5, 9]));
    assert_eq!(indices.select(&(1..4)), listed([1, 2, 5]));
    assert_eq!(indices.select(&(6..9)), Intervals::default());
    assert_eq!(Intervals::from(3..3).len(), 0);
}

#[test]
fn pieces_are_the_whole() {
    let whole = Selection(vec![Intervals::from(0..5), listed([1, 7, 8]), Intervals::from(2..3)]);
    let cuts = whole.cuts(&[Label(0), Label(1), Label(2)], &[2, 2, 1]);
    let parts: Vec<Selection> = (0..cuts.count()).map(|number| whole.part(&cuts, number)).collect();
    assert_eq!(parts.len(), 6);
    let elements = |part: &Selection| part.0.iter().map(Intervals::len).product::<usize>();
    assert_eq!(parts.iter().map(elements).sum::<usize>(), 15);
    assert_eq!(parts[1].0, [Intervals::from(0..2), Intervals::from(8..9), Intervals::from(2..3)]);
}
