//! Fuzzes the parser with all three notations.
//!
//! Asserts that the result is either an expression or an error. An expression has all spans inside the text, and its
//! canonical text has the same structure. An error has all positions inside the text, and can be rendered.
#![no_main]

use einsum_dist_fuzz::{check, one_line, text};
use einsum_parser::{Expression, Form, NodeKind, Span, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| check(input, || {
    let text = text(input);
    let inside = |span: Span| assert!(text.get(span.start..span.end).is_some(), "{span:?} is outside of the text");
    match parse(&text) {
        Ok(expression) => {
            spans(&expression, &inside);
            let canonical = expression.to_string();
            let again = parse(&canonical).unwrap_or_else(|error| panic!("{canonical:?}: {}", error.render()));
            assert!(again.same_structure(&expression), "{canonical:?} has another structure");
            assert_eq!(again.to_string(), canonical);
        }
        Err(error) => {
            inside(error.span);
            error.related.iter().for_each(|(span, _)| inside(*span));
            one_line(&error.message());
            assert!(error.render().contains('^') || text.trim().is_empty());
        }
    }
}));

fn spans(expression: &Expression, inside: &impl Fn(Span)) {
    let mut operands = 0;
    for (at, node) in expression.nodes().iter().enumerate() {
        inside(node.span);
        if let Some(term) = node.term() {
            inside(term.span);
            term.indices.iter().for_each(|index| inside(index.span));
            term.labels().for_each(|label| assert!((label.0 as usize) < expression.names().len()));
        }
        match &node.kind {
            NodeKind::Operand { index, .. } => {
                assert_eq!(*index, operands);
                operands += 1;
            }
            NodeKind::Einsum { inputs, output } => {
                assert!(inputs.iter().all(|input| (input.0 as usize) < at), "a node stands before its input");
                let root = at + 1 == expression.nodes().len();
                assert!(output.is_some() || root && expression.form() == Form::Einsum, "an output is missing");
            }
        }
    }
    assert_eq!(expression.operands().count(), operands);
}
