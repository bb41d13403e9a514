//! Predicts steps from local plans, which know the order of dimensions.
//!
//! Other machines, several ranks or no target keep the prices by size ([`Cost::product`]).

use super::structure::{Plan, Source, Value};
use crate::algorithm::Cost;
use crate::local_plan::{Layout, Target, plan_unary, price_contract, row_major};
use crate::machine::Machine;

pub fn predicted(mut plan: Plan) -> Plan {
    // A topology means another machine, with unknown instructions and caches.
    let known = plan.ranks() == 1 && plan.machine.topology.is_none();
    let Some(target) = plan.target.filter(|_| known) else { return plan };
    let target = Target { threads: plan.machine.workers, ..target };
    // Earlier steps evict tensors from caches that cannot hold all.
    let touched =
        plan.values.iter().map(|value| value.shape.iter().map(|&extent| extent as f64).product::<f64>()).sum();
    let seconds: Vec<_> = plan.values.iter().map(|value| step_seconds(&plan, value, touched, &target)).collect();
    for (value, seconds) in plan.values.iter_mut().zip(seconds) {
        value.seconds = seconds.unwrap_or(value.seconds);
    }
    plan
}

fn step_seconds(plan: &Plan, value: &Value, touched: f64, target: &Target) -> Option<f64> {
    let cost = Cost { machine: &plan.machine, dtype: plan.dtype, extents: &plan.extents };
    let strides = |value: &Value| row_major(&value.shape);
    let out = strides(value);
    let out = Layout::new(&value.labels, &value.shape, &out);
    let (effort, multiply_adds) = match value.source {
        Source::Contract { left, right, ref kinds, .. } => {
            let [left, right] = [left, right].map(|input| &plan.values[input]);
            let [a, b] = [left, right].map(strides);
            let left = Layout::new(&left.labels, &left.shape, &a);
            let right = Layout::new(&right.labels, &right.shape, &b);
            let labels = kinds.iter().map(|(label, _)| label);
            let extents = labels.map(|label| left.extent(label).or(right.extent(label)).unwrap_or(1) as f64);
            (price_contract(&left, &right, &out, plan.dtype, target).effort, extents.product())
        }
        Source::Unary { input, .. } => {
            let input = &plan.values[input];
            let strides = strides(input);
            let input = Layout::new(&input.labels, &input.shape, &strides);
            (plan_unary(&input, &out, plan.dtype, target).effort(plan.dtype.size()), 0.0)
        }
        _ => return None,
    };
    Some(cost.local(&effort, multiply_adds, touched))
}

impl Plan {
    /// The additional seconds of each step ([`Plan::values`] without operands) in a process's first run: new memory for
    /// its result, and in the first step everything else ([`Machine::first_run_seconds`]).
    ///
    /// [`Machine::first_run_seconds`]: crate::Machine::first_run_seconds
    pub fn first_run_seconds(&self) -> Vec<f64> {
        let Machine { new_memory_bandwidth, workers, first_run_seconds, .. } = self.machine;
        let steps = self.values.iter().filter(|value| !matches!(value.source, Source::Operand(_)));
        let new = steps.map(|value| {
            let block = value.distribution.largest_block(&value.shape);
            let elements: f64 = block.iter().map(|&extent| extent as f64).product();
            elements * self.dtype.size() as f64 / (new_memory_bandwidth * workers as f64)
        });
        let mut seconds: Vec<f64> = new.collect();
        seconds.iter_mut().take(1).for_each(|first| *first += first_run_seconds);
        seconds
    }
}
