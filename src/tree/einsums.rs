//! Resolves an expression and its operands' shapes into einsums, whose labels are dimensions with extents.
//!
//! Invariants: every node is after its inputs; the last is the root. Every output label is also in an input. An operand
//! in which a label has extent 1, unlike in others, is broadcast along it: a new dimension of extent 1, which occurs in
//! no other tensor and is summed away, replaces the label.

use std::collections::HashSet;

use einsum_parser::{Expression, NodeKind, Span};

use super::names::Names;
use super::scope::{Resolved, Scopes, resolve};
use super::{ShapeError, counted};
use crate::dims::Label;

/// An expression for operands with known shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Einsums {
    /// Distinct names, indexed by label (see `Names`).
    pub names: Vec<String>,
    /// Extents by label.
    pub extents: Vec<usize>,
    /// Each after its inputs. The last is the result.
    pub nodes: Vec<Einsum>,
    /// The number of operands.
    pub operands: usize,
}

/// An operand, or an einsum's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Einsum {
    /// Slowest-varying first.
    pub labels: Vec<Label>,
    /// The operand's or einsum's place in the text.
    pub span: Span,
    /// Where the tensor comes from.
    pub source: EinsumSource,
}

/// Where a tensor comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EinsumSource {
    /// The operand with this number.
    Operand(usize),
    /// The einsum of these nodes, at least one.
    Of(Vec<usize>),
}

impl Einsums {
    /// Resolves an expression for these shapes.
    ///
    /// # Errors
    /// If the number of shapes or of an operand's dimensions is wrong, or a label's extents conflict. The error has the
    /// positions in the text.
    pub fn new(expression: &Expression, shapes: &[Vec<usize>]) -> Result<Einsums, ShapeError> {
        check_count(expression, shapes.len())?;
        let ranks: Vec<usize> = shapes.iter().map(Vec::len).collect();
        let Scopes { mut names, terms } = resolve(expression, &ranks)?;
        let mut extents = extents(expression, &terms, &names.all, shapes)?;
        let mut nodes: Vec<Einsum> = Vec::with_capacity(terms.len());
        for (node, term) in expression.nodes().iter().zip(terms) {
            let (labels, source) = match &node.kind {
                NodeKind::Operand { index, .. } => {
                    let labels = with_broadcast_dims((&mut names, &mut extents), term.labels, &shapes[*index]);
                    (labels, EinsumSource::Operand(*index))
                }
                NodeKind::Einsum { inputs, .. } => {
                    let inputs: Vec<usize> = inputs.iter().map(|input| input.0 as usize).collect();
                    // If all inputs with a label are broadcast along it, the output cannot have it either.
                    let below: HashSet<Label> =
                        inputs.iter().flat_map(|&input| &nodes[input].labels).copied().collect();
                    let labels = term.labels.into_iter().filter(|label| below.contains(label)).collect();
                    (labels, EinsumSource::Of(inputs))
                }
            };
            nodes.push(Einsum { labels, span: node.span, source });
        }
        Ok(Einsums { names: names.all, extents, nodes, operands: shapes.len() })
    }

    pub fn output(&self) -> &[Label] {
        // There is at least one node.
        &self.nodes[self.nodes.len() - 1].labels
    }

    /// The shape of a tensor with these labels.
    pub fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|label| self.extents[label.0 as usize]).collect()
    }
}

fn with_broadcast_dims(
    (names, extents): (&mut Names, &mut Vec<usize>),
    mut labels: Vec<Label>,
    shape: &[usize],
) -> Vec<Label> {
    let written = labels.clone();
    for (at, (&label, &extent)) in written.iter().zip(shape).enumerate() {
        if extent == extents[label.0 as usize] {
            continue;
        }
        labels[at] = match written[..at].iter().position(|&earlier| earlier == label) {
            Some(first) => labels[first],
            None => {
                let like = names.all[label.0 as usize].clone();
                extents.push(extent);
                names.fresh(&like)
            }
        };
    }
    labels
}

fn check_count(expression: &Expression, given: usize) -> Result<(), ShapeError> {
    let terms: Vec<Span> = expression.operands().map(|term| term.span).collect();
    if terms.len() == given {
        return Ok(());
    }
    let message = format!(
        "the expression has {}, but {} given",
        counted(terms.len(), "operand"),
        if given == 1 { "1 is".to_owned() } else { format!("{given} are") }
    );
    let place = terms.get(given).or(terms.last()).copied().unwrap_or_default();
    let label = if given < terms.len() { "nothing is given for this one" } else { "the last operand" };
    let text = expression.text().to_owned();
    // Probably a stray comma at the end.
    let comma = given + 1 == terms.len() && text.trim_end().ends_with(',');
    let help =
        comma.then(|| "the `,` at the end stands before a 0-dimensional operand; drop it if there is none".to_owned());
    Err(ShapeError { text, message, places: vec![(place, label.to_owned())], help })
}

/// An extent, its operand, and the label's place in the text.
type ExtentSource = (usize, usize, Span);

/// Every dimension's extent. A label with extent 1 in some operands and another in others has the other.
fn extents(
    expression: &Expression,
    terms: &[Resolved],
    names: &[String],
    shapes: &[Vec<usize>],
) -> Result<Vec<usize>, ShapeError> {
    let mut known: Vec<Option<ExtentSource>> = vec![None; names.len()];
    for (node, term) in expression.nodes().iter().zip(terms) {
        let NodeKind::Operand { index: operand, .. } = node.kind else { continue };
        let places = || term.labels.iter().zip(&term.spans).zip(&shapes[operand]);
        for (at, ((&label, &span), &extent)) in places().enumerate() {
            // A label that repeats in one operand selects a diagonal of equal extents; 1 is not broadcast.
            let earlier = places().take(at).find(|((l, _), e)| **l == label && **e != extent);
            if let Some(((_, &place), &first)) = earlier {
                return Err(conflict(expression, names, label, (first, operand, place), (extent, operand, span)));
            }
            match known[label.0 as usize] {
                Some(first) if first.0 != extent && first.0 != 1 && extent != 1 => {
                    return Err(conflict(expression, names, label, first, (extent, operand, span)));
                }
                Some((first, ..)) if first != 1 || extent == 1 => {}
                _ => known[label.0 as usize] = Some((extent, operand, span)),
            }
        }
    }
    // By the parser, every dimension is in an operand.
    Ok(known.into_iter().map(|known| known.map_or(1, |(extent, ..)| extent)).collect())
}

fn conflict(
    expression: &Expression,
    names: &[String],
    label: Label,
    first: ExtentSource,
    second: ExtentSource,
) -> ShapeError {
    let name = &names[label.0 as usize];
    let (one, earlier, place) = first;
    let (other, operand, span) = second;
    let message = if earlier == operand {
        format!("label `{name}` has extents {one} and {other} in operand {operand}")
    } else if name.starts_with("...") {
        format!("`...` stands for extent {one} in operand {earlier}, but for {other} in operand {operand}")
    } else {
        format!("label `{name}` has extent {one} in operand {earlier}, but {other} in operand {operand}")
    };
    let at = |extent, operand| format!("{extent} in operand {operand}");
    let places = vec![(span, at(other, operand)), (place, at(one, earlier))];
    ShapeError { text: expression.text().to_owned(), message, places, help: None }
}
