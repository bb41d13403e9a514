//! Tests that parsing the displayed text of a random expression gives the same structure. The expressions have all
//! forms, and any white space between tokens. Also tests that random text causes no panic in the parser or the
//! renderer.

use einsum_dist_test_tools::proptest;
use einsum_parser::{Form, Span, parse, render_carets};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

#[test]
fn forms_have_operands_and_names() {
    let tree = parse("[ij,jk->ik],kl->il").unwrap();
    assert_eq!((tree.form(), tree.operands().count(), tree.nodes().len()), (Form::Tree, 3, 5));
    let ir = parse("[[3,0]->[0,3]],[3,10]->[0,10]").unwrap();
    assert_eq!(ir.form(), Form::EinsumIr);
    assert_eq!(ir.names(), ["3", "0", "10"]);
}

#[test]
fn white_space_is_no_structure() {
    assert!(parse(" mk, kn -> mn ").unwrap().same_structure(&parse("mk,kn->mn").unwrap()));
}

#[test]
fn marks_of_two_places_are_on_lines_of_their_own() {
    let places = [(Span::new(4, 5), "6 here".to_owned()), (Span::new(1, 2), "5 here".to_owned())];
    assert_eq!(
        render_carets("mk,nk->mn", "label `k` has two extents", &places, None),
        "\
label `k` has two extents
  |
  | mk,nk->mn
  |     ^ 6 here
  |  - 5 here
"
    );
}

/// A random tree. A leaf has labels. A step has inputs, and random indices into their labels that select its output
/// labels.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(Vec<usize>),
    Step(Vec<Tree>, Vec<Index>),
}

/// The output labels of a tree and the tokens of its text. A label of `None` is the ellipsis.
type Written = (Vec<Option<usize>>, Vec<String>);

const LETTERS: &[&str] = &["a", "b", "Z", "7", "_", "é", "日", "😀", "→", "'", "{", "\u{200b}", "\u{301}"];
const NAMES: &[&str] = &["m0", "10", "1", "0", "_", "k_long", "длина", "M0"];

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = vec(0..8usize, 0..5).prop_map(Tree::Leaf);
    leaf.prop_recursive(6, 40, 4, |inner| {
        (vec(inner, 1..4), vec(any::<Index>(), 0..4)).prop_map(|(inputs, picks)| Tree::Step(inputs, picks))
    })
}

fn term(labels: &[Option<usize>], ir: bool) -> Vec<String> {
    let alphabet = if ir { NAMES } else { LETTERS };
    let name = |label: &Option<usize>| label.map_or("...", |label| alphabet[label % alphabet.len()]).to_owned();
    let mut tokens: Vec<String> = Vec::new();
    for label in labels {
        if ir && !tokens.is_empty() {
            tokens.push(",".to_owned());
        }
        tokens.push(name(label));
    }
    if ir {
        tokens.insert(0, "[".to_owned());
        tokens.push("]".to_owned());
    }
    tokens
}

fn write(tree: &Tree, ir: bool) -> Written {
    match tree {
        Tree::Leaf(labels) => {
            // An einsum_ir tree must not contain an ellipsis. In the other forms, the first label 7 of a term becomes
            // an ellipsis.
            let mut labels: Vec<Option<usize>> = labels.iter().map(|label| Some(*label)).collect();
            if !ir && let Some(dots) = labels.iter().position(|label| *label == Some(7)) {
                labels[dots] = None;
            }
            let tokens = term(&labels, ir);
            (labels, tokens)
        }
        Tree::Step(inputs, picks) => {
            let mut tokens = Vec::new();
            let mut known: Vec<Option<usize>> = Vec::new();
            for (position, input) in inputs.iter().enumerate() {
                if position > 0 {
                    tokens.push(",".to_owned());
                }
                let (labels, inner) = write(input, ir);
                known.extend(labels);
                match input {
                    Tree::Leaf(_) => tokens.extend(inner),
                    Tree::Step(..) => {
                        tokens.push("[".to_owned());
                        tokens.extend(inner);
                        tokens.push("]".to_owned());
                    }
                }
            }
            let mut output: Vec<Option<usize>> = Vec::new();
            for pick in picks.iter().filter(|_| !known.is_empty()) {
                let label = *pick.get(&known);
                if !output.contains(&label) {
                    output.push(label);
                }
            }
            tokens.push("->".to_owned());
            tokens.extend(term(&output, ir));
            (output, tokens)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn display_and_back(tree in trees(), ir: bool, spaces in vec(select(&["", " ", "\t\n", "\u{3000}"][..]), 1..50)) {
        let step = match tree {
            Tree::Leaf(_) => Tree::Step(vec![tree], Vec::new()),
            Tree::Step(..) => tree,
        };
        let (_, tokens) = write(&step, ir);
        let canonical = tokens.concat();
        let mut typed = String::new();
        for (token, space) in tokens.iter().zip(spaces.iter().cycle()) {
            typed += token;
            typed += space;
        }

        let expression = parse(&typed).map_err(|error| TestCaseError::fail(error.render()))?;
        prop_assert_eq!(expression.text(), &typed);
        prop_assert_eq!(expression.to_string(), &*canonical);
        let again = parse(&canonical).map_err(|error| TestCaseError::fail(error.render()))?;
        prop_assert!(again.same_structure(&expression));
        prop_assert_eq!(expression.form() == Form::EinsumIr, ir);
        for (position, node) in expression.nodes().iter().enumerate() {
            prop_assert!(typed.get(node.span.start..node.span.end).is_some());
            if let einsum_parser::NodeKind::Einsum { inputs, .. } = &node.kind {
                prop_assert!(inputs.iter().all(|input| (input.0 as usize) < position));
            }
        }
    }

    #[test]
    fn implicit_outputs(terms in vec(subsequence(vec!["i", "j", "k", "..."], 1..4), 1..6)) {
        let text = terms.iter().map(|term| term.concat()).collect::<Vec<_>>().join(",");
        let expression = parse(&text).map_err(|error| TestCaseError::fail(error.render()))?;
        prop_assert_eq!(expression.to_string(), &*text);
        prop_assert_eq!(expression.operands().count(), terms.len());
        prop_assert!(expression.node(expression.root()).term().is_none());
    }

    #[test]
    fn nothing_panics(
        bytes in vec(any::<u8>(), 0..60),
        tokens in vec(select(&["[", "]", "[", "]", ",", "->", "...", "-", ">", ".", " ", "a", "bc", "日", "=", "→"][..]), 0..30),
        text: String,
    ) {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), tokens.concat(), text] {
            match parse(&text) {
                Ok(expression) => {
                    let again = parse(&expression.to_string()).map_err(|error| TestCaseError::fail(error.render()))?;
                    prop_assert!(again.same_structure(&expression), "{:?}", text);
                }
                Err(error) => {
                    for (span, _) in error.related.iter().chain([&(error.span, String::new())]) {
                        prop_assert!(text.get(span.start..span.end).is_some(), "{:?} {:?}", text, error);
                    }
                    prop_assert!(!error.message().contains('\n'));
                    prop_assert!(error.render().contains('^') || text.trim().is_empty());
                }
            }
        }
    }

    #[test]
    fn any_places_can_be_rendered(text: String, long in 0..200usize, places in vec((0..400usize, 0..400usize), 0..5)) {
        let places: Vec<_> = places.iter().map(|(start, end)| (Span::new(*start, *end), "here".to_owned())).collect();
        let rendered = render_carets(&text.repeat(long), "message", &places, Some("help"));
        prop_assert!(rendered.starts_with("message\n") && rendered.ends_with("  = help: help\n"));
    }
}
