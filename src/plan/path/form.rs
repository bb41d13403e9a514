//! Orders and slices of whole expressions, in the forms of opt_einsum and cotengra.
//!
//! ```text
//! path      [[0, 1], [0, 1]]    positions in a list; a step removes its tensors and appends its result (opt_einsum)
//! ssa_path  [[0, 1], [2, 3]]    numbers: the operands, then the results of the steps (cotengra)
//! ```
//!
//! Invariant: what [`written`] returns gives the same tree and slices if it is read.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Value, json};

use super::PathChoice;
use super::positions::numbered;
use crate::plan::structure::{Plan, Source};
use crate::tree::{EinsumSource, Einsums, Order};

/// A choice of the contraction order, and the dimensions to slice.
///
/// ```
/// use einsum_dist::{GivenPath, Machine, PlanOptions, Problem};
///
/// let shaped = Problem::parse("ij,jk,kl->il")?.shapes(&[vec![2, 3], vec![3, 4], vec![4, 5]])?;
/// let given = r#"{"ssa_path": [[1, 2], [0, 3]], "sliced_inds": ["k"], "slice_sizes": {"k": 2}}"#;
/// let GivenPath { order, sliced } = given.parse().map_err(einsum_dist::Error::Usage)?;
/// let plan = shaped.plan(&Machine::default(), &PlanOptions::default().path(order).sliced(sliced))?;
/// assert_eq!((plan.path.clone(), plan.slice_count()), (vec![[1, 2], [0, 1]], 2));
/// assert!(plan.path_json().contains("\"sliced_inds\":[\"k\"]"));
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenPath {
    /// The order.
    pub order: PathChoice,
    /// Names of the dimensions, each with its extent in one slice.
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

    /// Reads the name of a search, a path, or a JSON object with `path` or `ssa_path` (`auto` without them),
    /// `sliced_inds`, and `slice_sizes` (the extents of sliced dimensions in one slice, by default 1).
    fn from_str(text: &str) -> Result<GivenPath, String> {
        if !text.trim_start().starts_with('{') {
            return Ok(GivenPath { order: text.parse()?, sliced: Vec::new() });
        }
        let Object { path, ssa_path, sliced_inds, slice_sizes } = serde_json::from_str(text)
            .map_err(|error| format!("the path is not an object such as {{\"path\": [[0,1],[0,1]]}}: {error}"))?;
        if let Some(name) = slice_sizes.keys().find(|name| !sliced_inds.contains(name)) {
            return Err(format!("slice_sizes has `{name}`, which is not in sliced_inds"));
        }
        let sliced = sliced_inds.into_iter().map(|name| (slice_sizes.get(&name).copied().unwrap_or(1), name));
        let sliced: Vec<(String, usize)> = sliced.map(|(piece, name)| (name, piece)).collect();
        let order = match (ssa_path, path) {
            (Some(numbers), Some(path)) if !are_equal(&numbers, &path) => {
                return Err("path and ssa_path are different orders; leave one of them out".to_owned());
            }
            (Some(numbers), _) => PathChoice::Numbered(numbers),
            (None, Some(path)) => PathChoice::Explicit(path),
            (None, None) if sliced.is_empty() => {
                return Err("the object has none of path, ssa_path and sliced_inds".to_owned());
            }
            (None, None) => PathChoice::Auto,
        };
        Ok(GivenPath { order, sliced })
    }
}

/// Whether the steps of two complete paths contract the same tensors.
fn are_equal(numbers: &[Vec<usize>], path: &[Vec<usize>]) -> bool {
    let tensors = 1 + path.iter().map(|step| step.len().saturating_sub(1)).sum::<usize>();
    let sorted = |mut order: Order| {
        order.iter_mut().for_each(|step| step.sort_unstable());
        order
    };
    numbered(path, tensors, false).is_ok_and(|order| sorted(order) == sorted(numbers.to_vec()))
}

/// The order and slices of a plan as a JSON object, with its multiply-adds over all slices, and the elements of the
/// largest intermediate in one slice.
pub fn written(plan: &Plan) -> Value {
    let name = |label| plan.name(label).to_owned();
    let sizes = plan.slices.iter().filter(|slice| slice.piece > 1).map(|slice| (name(slice.label), slice.piece));
    let steps =
        plan.values[..plan.values.len() - 1].iter().filter(|value| matches!(value.source, Source::Contract { .. }));
    let elements = steps.map(|value| value.shape.iter().map(|&extent| extent as f64).product::<f64>());
    json!({
        "expression": plan.expression,
        "path": plan.path,
        "ssa_path": plan.ssa_path(),
        "sliced_inds": plan.slices.iter().map(|slice| name(slice.label)).collect::<Vec<_>>(),
        "slice_sizes": sizes.collect::<BTreeMap<_, _>>(),
        "multiply_adds": plan.total_gflop() * 1e9 / plan.dtype.flops_per_multiply_add() as f64,
        "largest_intermediate": elements.fold(0.0, f64::max),
    })
}

/// The pairs of a path as numbers of tensors, given the number of operands.
pub fn numbers(path: &[[usize; 2]], operands: usize) -> Vec<[usize; 2]> {
    let path: Vec<Vec<usize>> = path.iter().map(|pair| pair.to_vec()).collect();
    // The path of a plan is valid.
    let order = numbered(&path, operands, false).unwrap_or_default();
    order.iter().map(|pair| [pair[0], pair[1]]).collect()
}

/// Returns the order of each einsum in the order of the nodes; none for a choice that is no path.
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

/// Divides an order of all operands among the einsums of an expression. Returns one order for each node.
///
/// # Errors
/// If a step contracts tensors of different einsums.
fn divided(einsums: &Einsums, order: &Order) -> Result<Vec<Order>, String> {
    let nodes = &einsums.nodes;
    // For each node and each operand: the einsum that contracts it, and its number there.
    let (mut above, mut places) = (vec![None; nodes.len()], vec![0; einsums.operands]);
    for (id, node) in nodes.iter().enumerate() {
        match &node.source {
            EinsumSource::Operand(operand) => places[*operand] = id,
            EinsumSource::Of(inputs) => {
                inputs.iter().enumerate().for_each(|(number, &input)| above[input] = Some((id, number)));
            }
        }
    }
    let inputs = |id: usize| if let EinsumSource::Of(inputs) = &nodes[id].source { inputs.len() } else { 0 };
    // An einsum of one input has no steps.
    let place = |mut node: usize| loop {
        match above[node] {
            Some((id, _)) if inputs(id) == 1 => node = id,
            place => return place,
        }
    };
    let mut left: Vec<usize> = (0..nodes.len()).map(inputs).collect();
    let mut places: Vec<Option<(usize, usize)>> = places.into_iter().map(place).collect();
    let mut orders = vec![Order::new(); nodes.len()];
    for (at, group) in order.iter().enumerate() {
        let of = places[group[0]];
        let (Some((id, _)), true) = (of, group.len() > 1) else {
            places.push(of);
            continue;
        };
        let numbers = group.iter().map(|&member| places[member].filter(|(einsum, _)| *einsum == id));
        let numbers: Option<Vec<usize>> = numbers.map(|place| Some(place?.1)).collect();
        orders[id].push(numbers.ok_or_else(|| {
            format!("step {} of the path contracts tensors of different brackets; contract each bracket first", at + 1)
        })?);
        left[id] -= group.len() - 1;
        places.push(if left[id] == 1 { place(id) } else { Some((id, inputs(id) + orders[id].len() - 1)) });
    }
    Ok(orders)
}

#[cfg(test)]
mod tests;
