//! Unit tests of `bits`.

use super::*;

#[test]
fn numbers_beyond_a_word() {
    let one: Bits<3> = [1, 63, 64, 130].into_iter().fold(Bits::default(), Bits::with);
    let other = Bits::default().with(64).with(7);
    assert_eq!(one.iter().collect::<Vec<_>>(), [1, 63, 64, 130]);
    assert_eq!(one.and(&other).iter().collect::<Vec<_>>(), [64]);
    assert_eq!((one.or(&other).count(), one.without(&other).count()), (5, 3));
    assert!(one.meets(&other) && !other.within(&one) && one.and(&other).within(&one));
    assert!(one.has(130) && !one.has(129));
}
