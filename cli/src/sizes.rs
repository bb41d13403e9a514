//! Parses the extents of `--size`, and chooses defaults for all other labels.
//!
//! Invariant: a label has the same extent everywhere. Headers of operand files define the extents.

use std::collections::{BTreeMap, HashSet};

use einsum_dist::plan::PathChoice;
use einsum_dist::{Error, Machine, PlanOptions, Problem, Result};
use einsum_parser::{Expression, Form, IndexKind, Term};

/// Maximum elements of a tensor with default extents; `--size` may exceed it.
const MAX_ELEMENTS: usize = 4_000_000;
const MAX_EXTENT: usize = 2048;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sizes {
    named: BTreeMap<String, usize>,
    all: Option<usize>,
}

impl Sizes {
    pub fn parse(texts: &[String], expression: &Expression) -> Result<Sizes> {
        let mut sizes = Sizes::default();
        let mut bare = Vec::new();
        let known: HashSet<&str> = expression.names().iter().map(String::as_str).collect();
        for item in texts.iter().flat_map(|text| text.split(',')).map(str::trim) {
            match item.split_once('=') {
                None => bare.push(extent(item)?),
                Some((name, number)) => {
                    let (name, extent) = (name.trim(), extent(number.trim())?);
                    if !known.contains(name) {
                        return Err(usage(format!(
                            "--size names `{name}`, which is no label of the expression (it has {})",
                            listed(expression.names())
                        )));
                    }
                    if sizes.named.insert(name.to_owned(), extent).is_some() {
                        return Err(usage(format!("--size gives `{name}` two extents")));
                    }
                }
            }
        }
        match bare.as_slice() {
            [] => {}
            [one] => sizes.all = Some(*one),
            list => sizes.list(list, expression)?,
        }
        Ok(sizes)
    }

    fn list(&mut self, list: &[usize], expression: &Expression) -> Result<()> {
        let names = ascending(expression.names());
        if expression.form() != Form::EinsumIr {
            let example = names.iter().map(|name| format!("{name}=8")).collect::<Vec<_>>().join(",");
            return Err(usage(format!(
                "--size is a list of {} numbers, which only an einsum_ir tree gives an order; name them: {example}",
                list.len()
            )));
        }
        if list.len() != names.len() || !self.named.is_empty() {
            let mixed = if self.named.is_empty() { "" } else { " beside names" };
            return Err(usage(format!(
                "--size lists {} extents{mixed}, the expression has {} names: {}",
                list.len(),
                names.len(),
                listed(&names)
            )));
        }
        self.named.extend(names.into_iter().zip(list.iter().copied()));
        Ok(())
    }

    pub fn of(&self, name: &str) -> Option<usize> {
        self.named.get(name).copied().or(self.all)
    }

    /// Shapes of random operands, and whether any label has the default extent.
    pub fn shapes(&self, problem: &Problem) -> Result<(Vec<Vec<usize>>, bool)> {
        let expression = problem.expression();
        let shapes = |default: usize| -> Vec<Vec<usize>> {
            let shape = |term: &Term| names(expression, term).map(|name| self.of(name).unwrap_or(default)).collect();
            expression.operands().map(shape).collect()
        };
        if expression.names().iter().all(|name| self.of(name).is_some()) {
            return Ok((shapes(1), false));
        }
        // The loop searches several orders.
        let quick = PlanOptions::default().path(PathChoice::Greedy);
        let mut default = MAX_EXTENT;
        while default > 1 {
            let shaped = problem.shapes(&shapes(default))?;
            let tree = shaped.tree(&Machine::default(), &quick)?;
            let elements = |labels| tree.shape(labels).into_iter().try_fold(1usize, usize::checked_mul);
            if tree.nodes.iter().all(|node| elements(&node.labels).is_some_and(|n| n <= MAX_ELEMENTS)) {
                break;
            }
            default /= 2;
        }
        Ok((shapes(default), true))
    }

    pub fn agree(&self, expression: &Expression, shapes: &[Vec<usize>]) -> Result<()> {
        for (operand, (term, shape)) in expression.operands().zip(shapes).enumerate() {
            for (name, extent) in placed(expression, term, shape) {
                match self.of(name) {
                    Some(asked) if asked != extent => {
                        return Err(usage(format!(
                            "--size gives `{name}` extent {asked}, but the file of operand {operand} has {extent}"
                        )));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn names<'a>(expression: &'a Expression, term: &'a Term) -> impl Iterator<Item = &'a str> {
    term.indices.iter().filter_map(|index| match index.kind {
        IndexKind::Label(label) => Some(expression.name(label)),
        IndexKind::Ellipsis => None,
    })
}

/// A term's labels with their extents in `shape`, those after an ellipsis from the end.
fn placed<'a>(expression: &'a Expression, term: &'a Term, shape: &[usize]) -> Vec<(&'a str, usize)> {
    let before = term.indices.iter().take_while(|index| index.kind != IndexKind::Ellipsis).count();
    let names: Vec<&str> = names(expression, term).collect();
    let skipped = shape.len().saturating_sub(names.len());
    let extent = |at: usize| shape.get(if at < before { at } else { at + skipped }).copied();
    names.into_iter().enumerate().filter_map(|(at, name)| Some((name, extent(at)?))).collect()
}

fn ascending(names: &[String]) -> Vec<String> {
    let mut sorted = names.to_vec();
    sorted.sort_by_cached_key(|name| (name.parse::<u128>().unwrap_or(u128::MAX), name.clone()));
    sorted
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn extent(text: &str) -> Result<usize> {
    text.parse().map_err(|_| usage(format!("--size has `{text}` where an extent should be (as in m=4096,k=512)")))
}

fn usage(message: String) -> Error {
    Error::Usage(message)
}

#[cfg(test)]
mod tests;
