//! Each mistake's texts: a message, a label for the caret, and help.
//!
//! Each is one line, and no two kinds have the same message. Invisible characters in names are escaped, and long names
//! shortened.
//!
//! Help that depends on the expression comes from the code that finds the mistake.

use crate::ErrorKind as K;
use crate::ParseError;

const MAX_NAME: usize = 32;

pub(crate) fn quoted(name: &str) -> String {
    let mut shown = String::from("`");
    for (position, c) in name.chars().enumerate() {
        if position == MAX_NAME {
            shown.push('…');
            break;
        }
        match c {
            '\'' | '"' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown.push('`');
    shown
}

pub(crate) fn labels_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut shown: Vec<String> = names.take(13).map(quoted).collect();
    if shown.len() > 12 {
        shown[12] = "…".to_owned();
    }
    shown.join(", ")
}

pub(crate) fn message(error: &ParseError) -> String {
    let found = quoted(error.text.get(error.span.start..error.span.end).unwrap_or_default());
    let name = |position: usize| quoted(error.labels.get(position).map_or("", String::as_str));
    match error.kind {
        K::TooLong => "the expression is longer than 2 GiB".to_owned(),
        K::Empty => "the expression is empty".to_owned(),
        K::OnlyWhiteSpace => "the expression is nothing but white space".to_owned(),
        K::UnquotedArrow => {
            "the expression ends in `-`: the `>` after it was probably not quoted and taken by the shell".to_owned()
        }
        K::SpaceInArrow => "white space splits the arrow `->`".to_owned(),
        K::LoneDash => "`-` without `>` is no arrow, and cannot be a label".to_owned(),
        K::LoneGreater => "`>` without `-` is no arrow, and cannot be a label".to_owned(),
        K::ForeignArrow => format!("{found} is not the arrow of an einsum"),
        K::SpaceInEllipsis => "white space splits the ellipsis `...`".to_owned(),
        K::TooFewDots => format!("{found} is not an ellipsis, and a dot cannot be a label"),
        K::TooManyDots => format!("{} dots in a row are not an ellipsis", error.span.end - error.span.start),
        K::EqualsSign => "`=` cannot stand in an expression".to_owned(),
        K::Colon => "`:` cannot stand in an expression".to_owned(),
        K::Semicolon => "`;` does not separate operands".to_owned(),
        K::Quote => "`\"` is part of the expression, but cannot be a label".to_owned(),
        K::AtSign => "`@` cannot stand inside an expression".to_owned(),
        K::Parenthesis => format!("{found} is a parenthesis, which nothing in an expression uses"),
        K::UnclosedBracket => "`[` is never closed".to_owned(),
        K::UnopenedBracket => "`]` closes no bracket".to_owned(),
        K::SecondArrow => "a second `->` in the same einsum".to_owned(),
        K::SecondOutput => "`,` after the arrow, but an einsum has one output".to_owned(),
        K::BracketInOutput => "`[` opens a subtree in an output".to_owned(),
        K::TextAfterOutput => format!("{found} stands after the output, which must come last"),
        K::MissingArrowInBracket => "a bracket around brackets ends without an arrow".to_owned(),
        K::MissingOuterArrow => "the tree has no arrow outside its brackets".to_owned(),
        K::BracketedWhole => "brackets surround the whole expression".to_owned(),
        K::TrailingComma => "nothing follows the `,` at the end".to_owned(),
        K::MissingCommaBetweenBrackets => "no `,` between `]` and `[`".to_owned(),
        K::MissingCommaBeforeBracket => "no `,` between a label and the `[` after it".to_owned(),
        K::MissingCommaAfterBracket => "no `,` between `]` and the label after it".to_owned(),
        K::UnknownOutputLabel => format!("output label {} is in none of the inputs", name(0)),
        K::SummedAwayLabel => format!("output label {} is summed away before it gets here", name(0)),
        K::RepeatedOutputLabel => format!("label {} stands twice in the output", name(0)),
        K::SecondEllipsis => "a second `...` in the same term".to_owned(),
        K::EllipsisInIr => "`...` cannot stand in an einsum_ir tree".to_owned(),
        K::BareName => format!("{found} is outside brackets, where an einsum_ir tree has no names"),
        K::BareOutput => format!("output {found} is not in brackets, as an einsum_ir tree needs"),
        K::ArrowAmongNames => "an arrow directly after names, in an einsum_ir tree".to_owned(),
        K::BracketAmongNames => "`[` among the names of an einsum_ir tree".to_owned(),
        K::SpaceInName => format!("white space between {} and {} in a list of names", name(0), name(1)),
        K::BadNameCharacter => format!("{found} cannot be part of the name {}", name(0)),
        K::EmptyName => "a list of names has nothing before this `,`".to_owned(),
        K::TrailingCommaInList => "a list of names ends in `,`".to_owned(),
        K::MissingOperand => format!("no operand before {found} in an einsum_ir tree"),
        K::MissingOutput => "no output after the arrow in an einsum_ir tree".to_owned(),
    }
}

pub(crate) fn label(kind: K) -> &'static str {
    match kind {
        K::TooLong | K::Empty | K::OnlyWhiteSpace => "an expression is expected here",
        K::UnquotedArrow | K::SpaceInArrow | K::LoneDash | K::LoneGreater => "an arrow is `->`",
        K::ForeignArrow => "`->` is expected here",
        K::SpaceInEllipsis | K::TooFewDots | K::TooManyDots => "an ellipsis is `...`",
        K::EqualsSign | K::Colon | K::Semicolon | K::Quote | K::AtSign => "not a label",
        K::Parenthesis => "brackets are square",
        K::UnclosedBracket => "no `]` belongs to this",
        K::UnopenedBracket => "no `[` belongs to this",
        K::SecondArrow => "second arrow",
        K::SecondOutput => "the output ends before this",
        K::BracketInOutput => "an output is a single term",
        K::TextAfterOutput => "the end is expected here",
        K::MissingArrowInBracket => "`->` and an output are missing before this",
        K::MissingOuterArrow => "`->` and an output are missing here",
        K::BracketedWhole => "nothing outside this",
        K::TrailingComma => "an operand is expected after this",
        K::MissingCommaBetweenBrackets | K::MissingCommaBeforeBracket | K::MissingCommaAfterBracket => {
            "`,` is missing here"
        }
        K::UnknownOutputLabel => "not in any input",
        K::SummedAwayLabel => "no longer there",
        K::RepeatedOutputLabel => "again here",
        K::SecondEllipsis => "second ellipsis",
        K::EllipsisInIr => "only names may stand here",
        K::BareName => "not in brackets",
        K::BareOutput => "an output is a list in brackets",
        K::ArrowAmongNames => "`,` or `]` is expected here",
        K::BracketAmongNames => "a name is expected here",
        K::SpaceInName => "one name or two?",
        K::BadNameCharacter => "not a letter, digit or `_`",
        K::EmptyName => "a name is expected before this",
        K::TrailingCommaInList => "a name is expected after this",
        K::MissingOperand => "an operand is expected before this",
        K::MissingOutput => "an output is expected here",
    }
}

pub(crate) fn help(kind: K) -> Option<&'static str> {
    Some(match kind {
        K::Empty | K::OnlyWhiteSpace => "a matrix product is `mk,kn->mn`; `->` is one 0-dimensional operand",
        K::UnquotedArrow => "put the expression in quotes: \"mk,kn->mn\"",
        K::LoneDash | K::LoneGreater | K::ForeignArrow => "write `->` between inputs and output",
        K::SpaceInArrow | K::SpaceInEllipsis => "write it without white space",
        K::TooFewDots | K::TooManyDots => "an ellipsis is three dots",
        K::EqualsSign | K::Colon => "extents go in --size, as in `--size m=4096,k=512`",
        K::Semicolon => "operands are separated by `,`",
        K::Quote => "quotes belong to the shell, around the whole expression",
        K::AtSign => "`@FILE`, alone, reads the expression from a file",
        K::Parenthesis => "the brackets of a tree are square: `[ij,jk->ik],kl->il`",
        K::UnopenedBracket | K::UnclosedBracket => "every `[` needs its `]`",
        K::SecondArrow => "to contract step by step, bracket the first step: `[ij,jk->ik],kl->il`",
        K::SecondOutput => "write one expression for each output",
        K::BracketInOutput => "only inputs can be subtrees",
        K::MissingArrowInBracket | K::MissingOuterArrow => {
            "every step of a tree names its output: `[ij,jk->ik],kl->il`"
        }
        K::BracketedWhole => "drop the outer pair of brackets",
        K::TrailingComma => "drop it, or write the 0-dimensional operand and the output: `[ij->ji],->ij`",
        K::SummedAwayLabel => "keep it in the output of the bracket, or drop it here",
        K::RepeatedOutputLabel => "an einsum cannot write a diagonal; a label may repeat in inputs only",
        K::SecondEllipsis => "one `...` stands for any number of dimensions",
        K::EllipsisInIr => "write a name for each dimension",
        K::BareName => "`[ij]` is a list of names; a bracket that is to be contracted has an arrow: `[ij->ji]`",
        K::BareOutput | K::MissingOutput => "an output is a list of names, `[]` if it is 0-dimensional",
        K::ArrowAmongNames => {
            "give every bracket an arrow, `[ij,jk->ik],kl->il`, or none to lists, `[[i,j],[j,k]->[i,k]]`"
        }
        K::BracketAmongNames => "a bracket holds either names or a subtree: `[[a,b]->[b,a]]`",
        K::SpaceInName => "names are separated by `,` and contain no white space",
        K::BadNameCharacter => "a name is made of letters, digits and `_`",
        K::EmptyName | K::TrailingCommaInList => "drop the comma; `[]` is 0-dimensional",
        K::MissingOperand => "`[]` is a 0-dimensional operand",
        K::TooLong
        | K::TextAfterOutput
        | K::MissingCommaBetweenBrackets
        | K::MissingCommaBeforeBracket
        | K::MissingCommaAfterBracket
        | K::UnknownOutputLabel => return None,
    })
}
