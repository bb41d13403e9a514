//! Checks outputs without extents: every output label must be in an input, and only once in the output. An ellipsis
//! missing from the output is not checked here, because whether it is a mistake depends on the shapes.

use crate::message::{labels_list, quoted};
use crate::{ErrorKind, Expression, Form, IndexKind, Label, Node, NodeKind, ParseError, Span, Term};

/// Maximum characters of a name that a message suggests to split.
const MAX_SPLIT_NAME: usize = 12;

pub(crate) fn outputs(expression: &Expression) -> Result<(), ParseError> {
    // For each label, one more than the position of the last visited einsum that has it in an input, or in its output.
    let mut in_inputs = vec![0; expression.names().len()];
    let mut in_output = vec![(0, Span::default()); expression.names().len()];
    for (position, node) in expression.nodes().iter().enumerate() {
        let NodeKind::Einsum { inputs, output: Some(output) } = &node.kind else { continue };
        let stamp = position + 1;
        for label in inputs.iter().filter_map(|input| expression.node(*input).term()).flat_map(Term::labels) {
            in_inputs[label.0 as usize] = stamp;
        }
        for index in &output.indices {
            match index.kind {
                IndexKind::Ellipsis => {}
                IndexKind::Label(label) if in_inputs[label.0 as usize] != stamp => {
                    return Err(unknown(expression, node, label, index.span));
                }
                IndexKind::Label(label) => {
                    let seen = &mut in_output[label.0 as usize];
                    if seen.0 == stamp {
                        let kind = ErrorKind::RepeatedOutputLabel;
                        return Err(ParseError::new(expression.text(), kind, index.span)
                            .relate(seen.1, "first here")
                            .concerning([expression.name(label)]));
                    }
                    *seen = (stamp, index.span);
                }
            }
        }
    }
    Ok(())
}

/// The error for an output label that no input of `node` has.
fn unknown(expression: &Expression, node: &Node, label: Label, place: Span) -> ParseError {
    let name = expression.name(label);
    let below = expression.nodes().iter().filter(|inner| *inner != node && node.span.contains(inner.span));
    let summed =
        below.filter_map(Node::term).flat_map(|term| &term.indices).find(|index| index.kind == IndexKind::Label(label));
    if let Some(summed) = summed {
        return ParseError::new(expression.text(), ErrorKind::SummedAwayLabel, place)
            .relate(summed.span, "summed away inside its bracket")
            .concerning([name]);
    }
    let error = ParseError::new(expression.text(), ErrorKind::UnknownOutputLabel, place).concerning([name]);
    error.advise(advice(expression, node, name))
}

fn advice(expression: &Expression, node: &Node, name: &str) -> String {
    let NodeKind::Einsum { inputs, .. } = &node.kind else { return String::new() };
    let mut known: Vec<Label> = Vec::new();
    for term in inputs.iter().filter_map(|input| expression.node(*input).term()) {
        known.extend(term.labels());
    }
    known.sort_unstable();
    known.dedup();
    let names = || known.iter().map(|label| expression.name(*label));
    if let Some(near) = names().find(|known| known.to_lowercase() == name.to_lowercase()) {
        return format!("upper and lower case differ, and the inputs have {}", quoted(near));
    }
    if expression.form() == Form::EinsumIr && (2..=MAX_SPLIT_NAME).contains(&name.chars().count()) {
        let terms = inputs.iter().filter_map(|input| expression.node(*input).term()).chain(node.term());
        let without_commas = || terms.clone().all(|term| term.indices.len() < 2);
        let parts: Vec<String> = name.chars().map(String::from).collect();
        if without_commas() || parts.iter().all(|part| names().any(|known| known == part)) {
            let split = quoted(&format!("[{}]", parts.join(",")));
            let joined = quoted(&format!("[{name}]"));
            return format!("names in an einsum_ir tree are separated by commas: {joined} is one name, unlike {split}");
        }
    }
    match known.len() {
        0 => "the inputs have no labels at all".to_owned(),
        _ => format!("the inputs have the labels {}", labels_list(names())),
    }
}
