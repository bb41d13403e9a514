//! Unit tests of `values`.

use super::*;

fn refused<T: Clone + Send + Sync + 'static>(reader: Reader<T>, value: &str) -> String {
    let flag = Arg::new("ranks").long("ranks").value_name("N").num_args(1);
    let error = reader.parse_ref(&Command::new("einsum-dist"), Some(&flag), OsStr::new(value)).err();
    let text = error.map(|error| error.to_string()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_message_names_the_flag_the_value_and_what_is_allowed() {
    let start = "error: invalid value '-5' for '--ranks <N>': ";
    assert_eq!(refused(count(), "-5"), format!("{start}expected a whole number from 1 to 18446744073709551615"));
    assert_eq!(refused(file(), "-5"), format!("{start}a file whose name begins with a hyphen is written ./-name"));
    assert!(refused(count(), "99999999999999999999").contains(": number too large, it may be 1 to "));
    assert!(refused(count(), "+5").contains("'+5' for '--ranks <N>': expected a whole number from 1 to "));
    assert!(refused(repeat(), "0").ends_with(": number too small, it may be 1 to 1000000000"));
    assert!(refused(seconds(), "nan").ends_with(": expected seconds, at least 0.001 and at most 1e9"));
    assert!(refused(seconds(), "1e400").ends_with(": expected seconds, at least 0.001 and at most 1e9"));
    for value in ["--json", "-v"] {
        assert!(refused(text(), value).ends_with(": it looks like a flag; is the value missing?"), "{value}");
    }
    assert!(refused(text(), " ").ends_with(": the value is empty"));
}

#[test]
fn what_is_allowed_is_read() {
    assert_eq!(refused(seed(), "18446744073709551615"), "");
    assert_eq!(refused(warmup(), "0"), "");
    assert_eq!(refused(file(), "./-5"), "");
    assert_eq!(refused(text(), "->"), "");
    assert_eq!(refused(shell(), "zsh"), "");
}

#[test]
fn long_values_are_shown_by_their_ends() {
    assert_eq!(shortened(&"9".repeat(100_000)).len(), 2 * END_CHARACTERS + 3);
    assert_eq!(shortened("a\nb"), "a\\nb");
}
