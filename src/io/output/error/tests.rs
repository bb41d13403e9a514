//! Unit tests of `error`.

use super::*;

#[test]
fn a_message_is_one_line_whatever_the_name() {
    let error = FileError::IsDirectory { path: PathBuf::from("a\nb\u{1b}[31m\u{e4}") };
    assert_eq!(error.to_string(), "a\\nb\\u{1b}[31m\u{e4}: is a directory");
}
