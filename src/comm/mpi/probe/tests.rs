//! Unit tests of `probe`.

use super::Route::{Message, Rma, Shared};
use super::*;

#[test]
fn another_route_has_to_win_twice() {
    for (first, second, expected) in [
        (Message, Message, Message),
        (Message, Shared, Shared),
        (Shared, Rma, Shared),
        (Rma, Message, Message),
        (Rma, Rma, Rma),
    ] {
        assert_eq!(either(&CANDIDATES, first, second), expected, "{first:?} {second:?}");
    }
    // `Shared` won the first measurement but failed in the second, so it is no longer usable.
    assert_eq!(either(&[Message, Rma], Shared, Rma), Rma);
    assert_eq!(either(&[], Shared, Message), Message);
}
