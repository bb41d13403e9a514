//! Unit tests of `literal`.

use super::*;

fn whole(magnitude: u64) -> Literal {
    Literal::Whole(Some(magnitude))
}

#[test]
fn what_python_writes() {
    let text = Literal::Text("<f8".into());
    let three = Literal::Tuple(vec![whole(3), whole(4)]);
    for (written, read) in [
        ("'<f8'", text.clone()),
        ("u'<f8'", text.clone()),
        ("\"<\" 'f8'", text.clone()),
        ("'\\x3cf\\u0038'", text),
        ("(3L, 4L)", three.clone()),
        ("(3,\n 4, # rows\n)", three.clone()),
        ("(0x_3, 0b1_00)", three),
        ("(1_0, 0_0)", Literal::Tuple(vec![whole(10), whole(0)])),
        ("(3)", whole(3)),
        ("()", Literal::Tuple(vec![])),
        ("[(3,)]", Literal::List(vec![Literal::Tuple(vec![whole(3)])])),
        ("{'a': True, }", Literal::Dict(vec![(Literal::Text("a".into()), Literal::Bool(true))])),
        ("-1", Literal::Whole(None)),
        ("18446744073709551616", Literal::Whole(None)),
    ] {
        assert_eq!(Literal::parse(written), Ok(read), "{written}");
    }
}

#[test]
fn what_is_no_literal() {
    let deep = ["(1,".repeat(10_000), "[".repeat(10_000), "{".repeat(10_000)];
    let wrong = [
        "", "'", "'a\n'", "(1 2)", "{1}", "{1:", "1.5", "0x", "3LL", "3l", "02", "0_2", "1__0", "1_", "0x1_", "0x__1",
        "f(1)", "1,2", "[1", "\u{0}", "'\\x3'",
    ];
    for text in wrong.into_iter().chain(deep.iter().map(String::as_str)) {
        assert!(Literal::parse(text).is_err(), "{text:.20}");
    }
}
