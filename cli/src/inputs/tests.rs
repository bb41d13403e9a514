//! Unit tests of `inputs`.

use super::*;

#[test]
fn a_text_has_an_end() {
    assert_eq!(text_from("\u{feff}mk,kn\n".as_bytes(), 1), Ok("mk,kn\n".to_owned()));
    assert_eq!(text_from(std::io::repeat(b'a'), 1), Err("it is longer than 1 MiB".to_owned()));
    assert_eq!(text_from(&b"\xff"[..], 9), Err("it is not UTF-8 text".to_owned()));
    assert_eq!(text_of(Path::new("/"), 9), Err("Is a directory".to_owned()));
}
