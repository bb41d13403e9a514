//! Unit tests of `args`.

use super::*;

#[test]
fn the_command_is_consistent() {
    <Args as clap::CommandFactory>::command().debug_assert();
}

#[test]
fn an_expression_may_begin_with_its_arrow() {
    let given = ["einsum-dist", "--json", "->", "-n2", "-"].map(OsString::from);
    let parsed = Args::try_parse_from(readable(given.into_iter())).unwrap();
    assert_eq!(parsed.expression.as_deref(), Some(" ->"));
    assert!(parsed.json && parsed.ranks.is_some());
}

#[test]
fn names_of_files_stay_as_they_were_typed() {
    let parsed = |given: &[&str]| {
        let given = ["einsum-dist"].iter().chain(given).map(OsString::from);
        Args::try_parse_from(readable(given)).map(as_typed)
    };
    for flag in ["-o", "--trace", "--timeline", "--accumulate", "--machine"] {
        for name in ["-.npy", "-_", "->a.npy", "-\u{e4}"] {
            assert!(parsed(&["->", flag, name]).is_err(), "{flag} {name}");
        }
        assert!(parsed(&["->", flag, "./-.npy"]).is_ok(), "{flag}");
    }
    assert_eq!(parsed(&["->", "->a.npy"]).unwrap().operands, [PathBuf::from("->a.npy")]);
    assert!(parsed(&["->", "-.npy"]).is_err());
    assert_eq!(parsed(&["->", "--", "-.npy"]).unwrap().operands, [PathBuf::from("-.npy")]);
}
