//! Compares the errors of invalid texts and the structures of valid texts with `errors.golden` and `structure.golden`.
//! `UPDATE_GOLDEN=1 cargo test -p einsum-parser --test golden` rewrites both files.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use einsum_parser::ErrorKind as K;
use einsum_parser::{Expression, IndexKind, NodeKind, Term, parse};

/// Invalid texts for each kind of mistake. The first text of a kind is the most common form of the mistake.
const BAD: &[(K, &[&str])] = &[
    (K::Empty, &[""]),
    (K::OnlyWhiteSpace, &[" \t\n "]),
    (K::UnquotedArrow, &["mk,kn-", "mk,kn- \n", "-"]),
    (K::SpaceInArrow, &["mk,kn - > mn"]),
    (K::LoneDash, &["mk-kn->mn", "[-1,0]->[0]", "mk,kn-->mn"]),
    (K::LoneGreater, &["mk,kn>mn"]),
    (K::ForeignArrow, &["mk,kn=>mn", "mk,kn→mn", "mk,kn–>mn", "[mk→km],kn->mn", "ik,\n \tkj \t→ij"]),
    (K::SpaceInEllipsis, &[". . .ij->ij", "..  .ij->ij"]),
    (K::TooFewDots, &["..ij->ij", "ij.jk->ik"]),
    (K::TooManyDots, &["....ij->ij", "......ij->ij"]),
    (K::EqualsSign, &["mk,kn->mn,m=8"]),
    (K::Colon, &["m:8,k:8->mk"]),
    (K::Semicolon, &["mk;kn->mn"]),
    (K::Quote, &["\"mk,kn->mn\""]),
    (K::AtSign, &["mk,kn->mn @file"]),
    (K::Parenthesis, &["(mk,kn->mn),nj->mj", "mk,kn)->mn"]),
    (K::UnclosedBracket, &["[ij,jk->ik,kl->il", "[a,b", "[[a->a],b->b"]),
    (K::UnopenedBracket, &["ij,jk->ik],kl->il", "[a,b]],[c]->[a,b,c]", "[]],->["]),
    (K::SecondArrow, &["ij,jk->ik->ki", "[a]->[a]->[a]", "[ij->ji->ij],jk->ik", LONG]),
    (K::SecondOutput, &["ij,jk->i,k", "ij->ji,", "[a,b]->[a],[b]"]),
    (K::BracketInOutput, &["ij,jk->[ik->ki]", "[a,b]->[[a]->[b]]"]),
    (K::TextAfterOutput, &["[a,b]->[a][b]", "[a,b]->[a] b"]),
    (K::MissingArrowInBracket, &["[[ij,jk->ik],kl],lm->im", "[[a,b],[b,c]],[c]->[a]"]),
    (K::MissingOuterArrow, &["[ij,jk->ik],kl", "[ij]", "[a,b],[b,c]"]),
    (K::BracketedWhole, &["[ij,jk->ik]", "[[a,b],[b,c]->[a,c]]"]),
    (K::TrailingComma, &["[ij->ji],", "[a],"]),
    (K::MissingCommaBetweenBrackets, &["[ij->ji][jk->kj]->ik", "[i,j][j,k]->[i,k]"]),
    (K::MissingCommaBeforeBracket, &["ij[jk->kj]->ik"]),
    (K::MissingCommaAfterBracket, &["[jk->kj]ij->ik"]),
    (
        K::UnknownOutputLabel,
        &[
            "mk,kn->mx",
            "mk,kn->Mn",
            "[ij],[jk]->[ik]",
            "[i,j],[j,k]->[ik]",
            "[m0,k0],[k0,n0]->[m0,n1]",
            "->a",
            "[[ij,jk->iz],kl->il],l->i",
            "é日,日k->éz",
        ],
    ),
    (K::SummedAwayLabel, &["[ij,jk->ik],kl->jl", "[[a,b],[b,c]->[a,c]],[c,d]->[b,d]"]),
    (K::RepeatedOutputLabel, &["ij->iji", "日本->日日", "[a,b]->[a,a]"]),
    (K::SecondEllipsis, &["...i...->i"]),
    (K::EllipsisInIr, &["[...,a]->[a]", "[a],...->[a]"]),
    (K::BareName, &["[ij],jk->ik", "[],ij->ij", "ij,[jk]->ik", "ij,jk->[ik]"]),
    (K::BareOutput, &["[i,j],[j,k]->ik"]),
    (K::ArrowAmongNames, &["[ij,jk->ik],[kl]->il"]),
    (K::BracketAmongNames, &["[a,[b,c]->[c,b]]->[b]", "[a,b,[c->c]]->[]"]),
    (K::SpaceInName, &["[m 0,k0]->[m0]", "[m\n\n0,k0]->[m0]"]),
    (K::BadNameCharacter, &["[m',k]->[k]", "[a,b*]->[a]"]),
    (K::EmptyName, &["[a,,b]->[a]", "[,a]->[a]"]),
    (K::TrailingCommaInList, &["[a,b,]->[a]"]),
    (K::MissingOperand, &["->[a]", "[a],->[a]", ",[a]->[a]", "[->[]],[a]->[a]"]),
    (K::MissingOutput, &["[a,b]->", "[[a,b]->],[b]->[b]"]),
];

/// A text in which two arrows of one einsum are too far apart for one line of the rendered error.
const LONG: &str = "[abcdefghijklmnopqrstuvwxyz,zyxwvutsrqponmlkjihgfedcba->abcdefghijklmnopqrstuvwxyzabcdefghijklm\
    nopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz->ab],bc->ac";

const GOOD: &[&str] = &[
    "mk,kn->mn",
    " m k , k n\t->\n m n ",
    "ij,jk,kl",
    "...ij,...jk->...ik",
    "i ... j",
    "iij->j",
    "->",
    ",->",
    ",,a->a",
    "ij,->ij",
    "a",
    "é日😀,日k->é😀k",
    "a→b->b",
    "'{}'->{",
    "[ij,jk->ik],kl->il",
    "[[a,b->ab],c->abc],abc->",
    "[->],[,->]->",
    "a,[...b->b...],[b->]->ab",
    "[[3,0]->[0,3]],[[3,2,4],[1,4,2]->[1,2,3]]->[0,1,2]",
    "[m0,c0,k0],[n0,c0,k0]->[m0,n0,c0]",
    " [ 10 , 1 , 0 ] , [ ] -> [ 10 ] ",
    "[ij],[jk]->[ij,jk]",
    "[]->[]",
    "[[[a]->[a]]->[a]],[длина_1]->[a]",
];

fn check(file: &str, actual: &str) {
    let path = format!("{}/tests/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "{file}, line {}; UPDATE_GOLDEN=1 rewrites it", number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{file} has another length");
}

fn lines_without_trailing_space(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn errors() {
    let mut out = String::new();
    for (kind, texts) in BAD {
        for text in *texts {
            let error = parse(text).expect_err(text);
            assert_eq!(error.kind, *kind, "{text:?}: {error}");
            writeln!(out, "==== {text:?}\n{}", error.render()).unwrap();
        }
    }
    check("errors.golden", &lines_without_trailing_space(&out));
}

#[test]
fn every_mistake_has_its_own_message() {
    let mut kinds = HashSet::new();
    let mut messages = HashMap::new();
    for (kind, texts) in BAD {
        assert!(kinds.insert(*kind), "{kind:?} is listed twice");
        for text in *texts {
            let error = parse(text).unwrap_err();
            let message = error.to_string();
            assert_eq!(message, error.message());
            let first = message.chars().next().unwrap();
            assert!(!first.is_uppercase() && !message.ends_with('.') && !message.contains('\n'), "{message}");
            let other = messages.insert(message.clone(), *kind);
            assert!(other.is_none_or(|other| other == *kind), "{kind:?} and {other:?} both say: {message}");
        }
    }
    // Every kind except `TooLong` must have an example. An example for `TooLong` would need 2 GiB.
    assert_eq!(kinds.len(), K::MissingOutput as usize);
}

#[test]
fn labels_concerned() {
    assert_eq!(parse("mk,kn->mx").unwrap_err().labels(), ["x"]);
    assert_eq!(parse("[m0,k]->[m0,m0]").unwrap_err().labels(), ["m0"]);
    assert_eq!(parse("[m 0,k0]->[m0]").unwrap_err().labels(), ["m", "0"]);
    assert!(parse("mk,kn-").unwrap_err().labels().is_empty());
}

#[test]
fn structure() {
    let mut out = String::new();
    for text in GOOD {
        let expression = parse(text).unwrap_or_else(|error| panic!("{}", error.render()));
        writeln!(out, "==== {text:?}\n{expression}\n{:?} {:?}", expression.form(), expression.names()).unwrap();
        for (position, node) in expression.nodes().iter().enumerate() {
            let words = match &node.kind {
                NodeKind::Operand { index, term } => format!("operand {index} {}", shown(&expression, term)),
                NodeKind::Einsum { inputs, output } => {
                    let inputs: Vec<String> = inputs.iter().map(|input| input.0.to_string()).collect();
                    let output = output.as_ref().map_or("implicit".to_owned(), |term| shown(&expression, term));
                    format!("einsum {} -> {output}", inputs.join(","))
                }
            };
            writeln!(out, "{position}: {}..{} {words}", node.span.start, node.span.end).unwrap();
        }
        out.push('\n');
    }
    check("structure.golden", &lines_without_trailing_space(&out));
}

fn shown(expression: &Expression, term: &Term) -> String {
    let indices: Vec<&str> = term
        .indices
        .iter()
        .map(|index| {
            let written = &expression.text()[index.span.start..index.span.end];
            match index.kind {
                IndexKind::Label(label) => assert_eq!(expression.name(label), written),
                IndexKind::Ellipsis => assert_eq!(written, "..."),
            }
            written
        })
        .collect();
    format!("({}) at {}..{}", indices.join(" "), term.span.start, term.span.end)
}
