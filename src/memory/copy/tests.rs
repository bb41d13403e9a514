//! Unit tests of `copy`.

use super::*;

#[test]
fn all_bytes_arrive_and_no_others_change() {
    let from: Vec<u8> = (0..5000).map(|at| (at * 7 % 251) as u8).collect();
    for store_kind in [StoreKind::Cached, StoreKind::Streaming] {
        for bytes in [0, 1, 63, 64, 1023, 1024, 1025, 1087, 1151, 4096, 4800] {
            for (source, target) in [(0, 0), (1, 0), (0, 1), (63, 17), (16, 100), (64, 63)] {
                let mut into = vec![255; 5000];
                // SAFETY: both vectors have 100 + 4800 bytes or more and do not overlap.
                unsafe { store_kind.copy(from[source..].as_ptr(), into[target..].as_mut_ptr(), bytes) };
                let expected = [&vec![255; target], &from[source..source + bytes], &vec![255; 5000 - target - bytes]];
                assert!(into == expected.concat(), "{store_kind:?} {bytes} {source} {target}");
            }
        }
    }
}
