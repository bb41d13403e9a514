//! Unit tests of `busy`.

use super::*;

#[test]
fn what_overlaps_counts_once() {
    let work = vec![(4.0, 6.0), (0.0, 2.0), (1.0, 3.0)];
    let busy = Busy::of(work.clone(), vec![(2.5, 3.5), (2.0, 5.0), (7.0, 8.0)]);
    assert_eq!(busy, Busy { working: 5.0, transferring: 4.0, hidden: 2.0 });
    assert!(Busy::of(Vec::new(), vec![(0.0, 1.0)]).hidden_share().is_some_and(f64::is_sign_positive));
    assert_eq!((busy.hidden_share(), Busy::of(work, Vec::new()).hidden_share()), (Some(0.5), None));
}
