//! Unit tests of `messages`.

use super::*;

#[test]
fn pieces_cover_the_transfer_once() {
    assert_eq!(pieces(0, 32).collect::<Vec<_>>(), [(0, 0, true)]);
    assert_eq!(pieces(32, 32).collect::<Vec<_>>(), [(0, 32, true)]);
    assert_eq!(pieces(80, 32).collect::<Vec<_>>(), [(0, 32, false), (32, 32, false), (64, 16, true)]);
}

#[test]
fn tags_stay_within_what_mpi_promises() {
    assert_eq!(tag(0, false), 0);
    assert_eq!(tag(TAG_PERIOD - 1, true), 32767);
    assert_eq!(tag(TAG_PERIOD, true), 1);
}
