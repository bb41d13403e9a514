//! Maps each label in each bracket to a dimension.
//!
//! The mapping starts at the root, so an einsum's labels are mapped before those of brackets inside it.

use std::collections::HashMap;

use einsum_parser::{Expression, Index, IndexKind, NodeKind, Span, Term};

use super::names::Names;
use super::{ShapeError, counted};
use crate::dims::Label;

/// A term's dimensions, with those of `...`, and their places in the text.
pub struct Resolved {
    pub labels: Vec<Label>,
    pub spans: Vec<Span>,
}

pub struct Scopes {
    pub names: Names,
    /// All nodes' terms.
    pub terms: Vec<Resolved>,
}

#[derive(Clone, Default)]
struct Scope {
    labels: HashMap<einsum_parser::Label, Label>,
    /// The dimensions of `...`, in order. If it stands for fewer, they are the last ones.
    ellipsis: Vec<Label>,
}

/// Resolves every term; `ranks` has each operand's number of dimensions.
pub fn resolve(expression: &Expression, ranks: &[usize]) -> Result<Scopes, ShapeError> {
    let nodes = expression.nodes();
    let dots = ellipsis_dims(expression, ranks)?;
    let mut names = Names::default();
    let mut scopes: Vec<Scope> = vec![Scope::default(); nodes.len()];
    let mut terms: Vec<Resolved> = Vec::with_capacity(nodes.len());
    for (id, node) in nodes.iter().enumerate().rev() {
        // The enclosing bracket has inserted this node's output labels. At the root, the scope is empty.
        let mut scope = std::mem::take(&mut scopes[id]);
        match &node.kind {
            NodeKind::Operand { term, .. } => terms.push(resolve_term(term, &scope, dots[id])),
            NodeKind::Einsum { inputs, output } => {
                let below: Vec<&[Index]> = inputs.iter().map(|i| indices(expression, i.0 as usize)).collect();
                let max_dots = inputs.iter().map(|i| dots[i.0 as usize]).max().unwrap_or(0);
                while scope.ellipsis.len() < max_dots {
                    let name = format!("...{}", scope.ellipsis.len());
                    scope.ellipsis.insert(0, names.fresh(&name));
                }
                for index in below.iter().copied().flatten() {
                    if let IndexKind::Label(label) = index.kind {
                        scope.labels.entry(label).or_insert_with(|| names.fresh(expression.name(label)));
                    }
                }
                terms.push(match output {
                    Some(term) => resolve_term(term, &scope, dots[id]),
                    None => implicit(expression, &below, &scope, node.span),
                });
                for input in inputs {
                    scopes[input.0 as usize] = input_scope(expression, input.0 as usize, &scope, &dots);
                }
            }
        }
    }
    terms.reverse();
    Ok(Scopes { names, terms })
}

fn indices(expression: &Expression, node: usize) -> &[Index] {
    expression.nodes()[node].term().map_or(&[], |term| &term.indices)
}

fn input_scope(expression: &Expression, node: usize, scope: &Scope, dots: &[usize]) -> Scope {
    let labels = indices(expression, node).iter().filter_map(|index| match index.kind {
        IndexKind::Label(label) => Some((label, scope.labels[&label])),
        IndexKind::Ellipsis => None,
    });
    Scope { labels: labels.collect(), ellipsis: scope.ellipsis[scope.ellipsis.len() - dots[node]..].to_vec() }
}

/// How many dimensions `...` stands for in each node's term.
fn ellipsis_dims(expression: &Expression, ranks: &[usize]) -> Result<Vec<usize>, ShapeError> {
    let mut dots: Vec<usize> = Vec::with_capacity(expression.nodes().len());
    for node in expression.nodes() {
        dots.push(match &node.kind {
            NodeKind::Operand { index, term } => operand_dots(expression, *index, term, ranks[*index])?,
            NodeKind::Einsum { inputs, output } => {
                let max_dots = inputs.iter().map(|i| dots[i.0 as usize]).max().unwrap_or(0);
                if output.as_ref().is_none_or(|term| term.ellipsis().is_some()) { max_dots } else { 0 }
            }
        });
    }
    Ok(dots)
}

fn operand_dots(expression: &Expression, operand: usize, term: &Term, rank: usize) -> Result<usize, ShapeError> {
    let named = term.labels().count();
    let fits = if term.ellipsis().is_some() { rank >= named } else { rank == named };
    if fits {
        return Ok(rank - named);
    }
    let at_least = if term.ellipsis().is_some() { "at least " } else { "" };
    let message = format!("operand {operand} has {}, its term has {at_least}{named}", counted(rank, "dimension"));
    Err(ShapeError {
        text: expression.text().to_owned(),
        message,
        places: vec![(term.span, format!("{at_least}{}", counted(named, "dimension")))],
        help: None,
    })
}

fn resolve_term(term: &Term, scope: &Scope, dots: usize) -> Resolved {
    let mut resolved = Resolved { labels: Vec::new(), spans: Vec::new() };
    for index in &term.indices {
        let labels = match index.kind {
            IndexKind::Label(ref label) => std::slice::from_ref(&scope.labels[label]),
            IndexKind::Ellipsis => &scope.ellipsis[scope.ellipsis.len() - dots..],
        };
        resolved.labels.extend_from_slice(labels);
        resolved.spans.extend(labels.iter().map(|_| index.span));
    }
    resolved
}

/// The implicit output: the dimensions of `...`, then the labels that occur only once in all inputs, by their names'
/// code points.
fn implicit(expression: &Expression, below: &[&[Index]], scope: &Scope, span: Span) -> Resolved {
    let mut count: HashMap<einsum_parser::Label, usize> = HashMap::new();
    for index in below.iter().copied().flatten() {
        if let IndexKind::Label(label) = index.kind {
            *count.entry(label).or_default() += 1;
        }
    }
    let mut once: Vec<_> = count.into_iter().filter(|(_, count)| *count == 1).map(|(label, _)| label).collect();
    once.sort_by_key(|&label| expression.name(label).to_owned());
    let mut labels = scope.ellipsis.clone();
    labels.extend(once.iter().map(|label| scope.labels[label]));
    Resolved { spans: vec![span; labels.len()], labels }
}
