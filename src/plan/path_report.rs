//! Opt_einsum's measures of a path (a contraction order).
//!
//! A multiply-add counts as 2 operations (8 for complex numbers), as in opt_einsum for two operands. Slices are
//! ignored.

use std::collections::BTreeMap;
use std::fmt;

use super::path::{log2_size, log2_sum};
use super::structure::{Plan, Source, Value};
use crate::dims::Label;

const MAX_PRINTED_STEPS: usize = 24;

/// A plan's path, compared with a single product of all operands.
#[derive(Debug, Clone, PartialEq)]
pub struct PathReport {
    path: Vec<[usize; 2]>,
    /// Dimensions of the expression, and the maximum in one contraction.
    pub scaling: [usize; 2],
    /// log2 of the operations in a single step, then along the path.
    pub log2_flops: [f64; 2],
    /// log2 of the elements of the largest intermediate, and its name; `None` for a single contraction.
    pub largest: Option<(f64, String)>,
}

impl PathReport {
    /// Describes a plan with at least one contraction.
    pub fn of(plan: &Plan) -> Option<PathReport> {
        let extents: Vec<usize> = plan.whole_extents().collect();
        let log2 = |labels: &[Label]| log2_size(labels, &extents);
        let steps: Vec<Vec<Label>> = plan.values.iter().filter_map(dimensions).collect();
        let all: Vec<Label> = (0..plan.names.len() as u32).map(Label).collect();
        let each = (plan.dtype.flops_per_multiply_add() as f64).log2();
        let products: Vec<f64> = steps.iter().map(|labels| log2(labels)).collect();
        // Each product of n factors costs n - 1 multiplications and one addition.
        let at_once = (plan.operands.max(2) as f64 / 2.0).log2() + each + log2(&all);
        let last = plan.values.len() - 1;
        let between = plan.values[..last].iter().filter(|value| matches!(value.source, Source::Contract { .. }));
        let largest = between.map(|value| (log2(&value.labels), value)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        Some(PathReport {
            path: plan.path.clone(),
            scaling: [all.len(), steps.iter().map(Vec::len).max()?],
            log2_flops: [at_once, log2_sum(&products) + each],
            largest: largest.map(|(size, value)| (size, plan.term(&value.labels))),
        })
    }
}

/// See [`Plan::path_json`].
pub fn written(plan: &Plan) -> serde_json::Value {
    let name = |label| plan.name(label).to_owned();
    let sizes = plan.slices.iter().filter(|slice| slice.piece > 1).map(|slice| (name(slice.label), slice.piece));
    let steps =
        plan.values[..plan.values.len() - 1].iter().filter(|value| matches!(value.source, Source::Contract { .. }));
    let elements = steps.map(|value| value.shape.iter().map(|&extent| extent as f64).product::<f64>());
    serde_json::json!({
        "expression": plan.expression,
        "path": plan.path,
        "ssa_path": plan.ssa_path(),
        "sliced_inds": plan.slices.iter().map(|slice| name(slice.label)).collect::<Vec<_>>(),
        "slice_sizes": sizes.collect::<BTreeMap<_, _>>(),
        "multiply_adds": plan.total_gflop() * 1e9 / plan.dtype.flops_per_multiply_add() as f64,
        "largest_intermediate": elements.fold(0.0, f64::max),
    })
}

fn dimensions(value: &Value) -> Option<Vec<Label>> {
    match &value.source {
        Source::Contract { kinds, .. } => Some(kinds.iter().map(|(label, _)| label).collect()),
        _ => None,
    }
}

impl fmt::Display for PathReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.path.iter().take(MAX_PRINTED_STEPS).map(|[left, right]| format!("({left},{right})"));
        let more = self.path.len().saturating_sub(MAX_PRINTED_STEPS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(f, "path      {}{more}", steps.collect::<Vec<_>>().join(","))?;
        let [naive, most] = self.scaling;
        writeln!(f, "scaling   at most {most} dimensions per step; {naive} if a single step contracted all operands")?;
        let [at_once, along] = self.log2_flops;
        let gain = match at_once - along {
            gain if gain.is_finite() => format!(" (ratio {})", power(-gain)),
            _ => String::new(),
        };
        writeln!(f, "flops     {} along the path, {} in a single step{gain}", power(along), power(at_once))?;
        match &self.largest {
            Some((size, name)) => writeln!(f, "largest   intermediate {name}, {} elements", power(*size)),
            None => Ok(()),
        }
    }
}

fn power(log2: f64) -> String {
    let decimal = log2 * std::f64::consts::LOG10_2;
    let exponent = decimal.floor();
    if log2 == f64::NEG_INFINITY {
        return "0".to_owned();
    }
    format!("{:.3}e{exponent}", 10f64.powf(decimal - exponent))
}
