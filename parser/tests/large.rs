//! Parses deeply nested and very long texts. Recursion would overflow the stack, and a quadratic algorithm would exceed
//! the asserted times even on a fast machine.

use std::time::{Duration, Instant};

use einsum_parser::{ErrorKind, Expression, Form, NodeKind, parse};

fn round_trip(text: &str) -> Expression {
    let expression = parse(text).unwrap();
    let canonical = expression.to_string();
    assert_eq!(canonical, text);
    let copy = expression.clone();
    assert_eq!(copy, expression);
    assert!(copy.same_structure(&expression));
    expression
}

#[test]
fn deep_trees() {
    for depth in [10_000, 100_000] {
        let tree = format!("{}ab{},bc->ac", "[".repeat(depth), "->ab]".repeat(depth));
        assert_eq!(round_trip(&tree).nodes().len(), depth + 3);

        let ir = format!("{}[a,b]{},[b,c]->[a,c]", "[".repeat(depth), "->[a,b]]".repeat(depth));
        assert_eq!(round_trip(&ir).form(), Form::EinsumIr);
    }
}

#[test]
fn deep_mistakes() {
    let depth = 100_000;
    let unclosed = "[".repeat(depth);
    let unopened = format!("a->a{}", "]".repeat(depth));
    let wrapped = format!("{}a->a{}", "[".repeat(depth), "]".repeat(depth));
    let unknown = format!("{}ab{},bc->az", "[".repeat(depth), "->ab]".repeat(depth));
    for (text, kind) in [
        (unclosed, ErrorKind::UnclosedBracket),
        (unopened, ErrorKind::UnopenedBracket),
        (wrapped, ErrorKind::MissingArrowInBracket),
        (unknown, ErrorKind::UnknownOutputLabel),
    ] {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.kind, kind);
        let rendered = error.render();
        assert!(rendered.len() < 2_000, "{} bytes", rendered.len());
    }
}

/// Returns a chain `αβ,βγ,...` of matrix products, where each operand adds a new label.
fn chain(terms: usize) -> String {
    let label = |position: usize| char::from_u32(0x2_0000 + position as u32).unwrap();
    let inputs: Vec<String> = (0..terms).map(|term| format!("{}{}", label(term), label(term + 1))).collect();
    format!("{}->{}{}", inputs.join(","), label(0), label(terms))
}

#[test]
fn many_operands() {
    for terms in [10_000, 100_000] {
        let text = chain(terms);
        let started = Instant::now();
        let expression = round_trip(&text);
        assert!(started.elapsed() < Duration::from_secs(5), "{terms} terms took {:?}", started.elapsed());
        assert_eq!(expression.operands().count(), terms);
        assert_eq!(expression.names().len(), terms + 1);
        assert_eq!(expression.root().0 as usize, terms);
        assert!(
            matches!(&expression.node(expression.root()).kind, NodeKind::Einsum { inputs, .. } if inputs.len() == terms)
        );
    }
}

#[test]
fn many_names() {
    let lists: Vec<String> = (0..100_000).map(|name| format!("[{name},{}]", name + 1)).collect();
    let started = Instant::now();
    let expression = round_trip(&format!("{}->[0,100000]", lists.join(",")));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(expression.names().len(), 100_001);
}

#[test]
fn one_wide_term() {
    let labels: String = (0..100_000).map(|position| char::from_u32(0x2_0000 + position).unwrap()).collect();
    assert_eq!(round_trip(&format!("{labels}->{labels}")).names().len(), 100_000);
}

#[test]
fn mistakes_in_long_texts_are_clipped() {
    let text = chain(10_000).replacen("->", "->?", 1);
    let error = parse(&text).unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnknownOutputLabel);
    let rendered = error.render();
    assert!(rendered.lines().count() == 5 && rendered.len() < 2_000, "{rendered}");
    assert!(rendered.contains("^ not in any input"));
}
