//! Orders and slices of expressions, as in opt_einsum (`path`, positions) and cotengra (`ssa_path`, numbers of
//! tensors).
//!
//! Invariant: [`Plan::path_json`](crate::Plan::path_json) gives the same tree and slices if read.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;

use super::PathChoice;
use super::positions::numbered;
use crate::tree::{EinsumSource, Einsums, Order};

/// A contraction order, and the dimensions to slice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenPath {
    /// The order.
    pub order: PathChoice,
    /// Dimensions, each with its extent in one slice.
    pub sliced: Vec<(String, usize)>,
}

#[derive(Deserialize)]
struct Object {
    path: Option<Vec<Vec<usize>>>,
    ssa_path: Option<Vec<Vec<usize>>>,
    #[serde(default)]
    sliced_inds: Vec<String>,
    #[serde(default)]
    slice_sizes: BTreeMap<String, usize>,
}

impl FromStr for GivenPath {
    type Err = String;

    /// Reads what a [`PathChoice`] is read from, or a JSON object with `ssa_path` or else `path` (`auto` without them),
    /// `sliced_inds`, and `slice_sizes` (extents in one slice, by default 1).
    fn from_str(text: &str) -> Result<GivenPath, String> {
        if !text.trim_start().starts_with('{') {
            return Ok(GivenPath { order: text.parse()?, sliced: Vec::new() });
        }
        let Object { path, ssa_path, sliced_inds, slice_sizes } = serde_json::from_str(text)
            .map_err(|error| format!("not a JSON object with `path` or `ssa_path`: {error}"))?;
        if let Some(name) = slice_sizes.keys().find(|name| !sliced_inds.contains(name)) {
            return Err(format!("slice_sizes has `{name}`, which is not in sliced_inds"));
        }
        let piece = |name: String| (slice_sizes.get(&name).copied().unwrap_or(1), name);
        let sliced: Vec<_> = sliced_inds.into_iter().map(piece).map(|(piece, name)| (name, piece)).collect();
        let order = match (ssa_path, path) {
            (Some(numbers), _) => PathChoice::Numbered(numbers),
            (None, Some(path)) => PathChoice::Explicit(path),
            (None, None) if sliced.is_empty() => return Err("none of path, ssa_path and sliced_inds".to_owned()),
            (None, None) => PathChoice::Auto,
        };
        Ok(GivenPath { order, sliced })
    }
}

pub fn numbers(path: &[[usize; 2]], operands: usize) -> Vec<[usize; 2]> {
    let path: Vec<Vec<usize>> = path.iter().map(|pair| pair.to_vec()).collect();
    let order = numbered(&path, operands, false).unwrap_or_default();
    order.iter().map(|pair| [pair[0], pair[1]]).collect()
}

/// The order of each einsum in the order of the nodes; none if the choice is no path.
///
/// # Errors
/// If the path is not one of the expression.
pub fn given(einsums: &Einsums, choice: &PathChoice) -> Result<Vec<Order>, String> {
    let order = match choice {
        PathChoice::Explicit(path) => numbered(path, einsums.operands, false)?,
        PathChoice::Numbered(numbers) => numbered(numbers, einsums.operands, true)?,
        _ => return Ok(Vec::new()),
    };
    let orders = divided(einsums, &order)?.into_iter().zip(&einsums.nodes);
    Ok(orders.filter(|(_, node)| matches!(node.source, EinsumSource::Of(_))).map(|(order, _)| order).collect())
}

fn divided(einsums: &Einsums, order: &Order) -> Result<Vec<Order>, String> {
    let nodes = &einsums.nodes;
    let (mut above, mut operands, mut left) =
        (vec![None; nodes.len()], vec![0; einsums.operands], vec![0; nodes.len()]);
    for (id, node) in nodes.iter().enumerate() {
        match &node.source {
            EinsumSource::Operand(operand) => operands[*operand] = id,
            EinsumSource::Of(inputs) => {
                inputs.iter().enumerate().for_each(|(number, &input)| above[input] = Some((id, number)));
                left[id] = inputs.len();
            }
        }
    }
    let inputs = left.clone();
    let place = |node: usize| {
        let mut place = above[node];
        while let Some((id, _)) = place
            && inputs[id] == 1
        {
            place = above[id];
        }
        place
    };
    let mut places: Vec<Option<(usize, usize)>> = operands.into_iter().map(place).collect();
    let mut orders = vec![Order::new(); nodes.len()];
    for (at, group) in order.iter().enumerate() {
        let mut next = places[group[0]];
        if let (Some((id, _)), true) = (next, group.len() > 1) {
            let numbers = group.iter().map(|&member| places[member].filter(|place| place.0 == id).map(|place| place.1));
            let numbers: Option<Vec<usize>> = numbers.collect();
            orders[id].push(numbers.ok_or_else(|| {
                format!(
                    "step {} of the path contracts tensors of different brackets; contract each bracket first",
                    at + 1
                )
            })?);
            left[id] -= group.len() - 1;
            next = if left[id] == 1 { place(id) } else { Some((id, inputs[id] + orders[id].len() - 1)) };
        }
        places.push(next);
    }
    Ok(orders)
}

#[cfg(test)]
mod tests;
