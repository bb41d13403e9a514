//! Unit tests of `progress`.

use super::*;

const BEST: SearchProgress = SearchProgress { seconds: 2.0, log2_products: 40.0, log2_largest: 20.0 };

#[test]
fn a_search_says_what_it_found() {
    assert_eq!(searched(0.52, None), "path: 0.5 s");
    let (sender, receiver) = channel();
    let ended = during_search(true, |watch| {
        watch(BEST);
        sender.send(()).unwrap();
        7
    });
    assert!(ended == 7 && receiver.recv().is_ok());
    assert_eq!(searched(1.0, Some(BEST)), "path: 1.0 of 2.0 s, best 10^12.04 multiply-adds, largest 10^6.02 elements");
}
