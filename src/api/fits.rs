//! Whether what a user gives fits a plan, and messages where it does not.

use super::{DistTensor, Error, Result};
use crate::kernel::Element;
use crate::plan::Value;

/// A tensor of the user's, as messages name it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tensor {
    Operand(usize),
    Output,
    Part,
}

impl std::fmt::Display for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tensor::Operand(index) => write!(f, "operand {index}"),
            Tensor::Output => f.write_str("the output"),
            Tensor::Part => f.write_str("the part"),
        }
    }
}

pub(super) fn expect_shape(name: Tensor, shape: &[usize], wanted: impl Iterator<Item = usize> + Clone) -> Result<()> {
    if wanted.clone().eq(shape.iter().copied()) {
        return Ok(());
    }
    let wanted: Vec<usize> = wanted.collect();
    Err(Error::Usage(format!("{name} has shape {shape:?}, the plan is for {wanted:?}")))
}

pub(super) fn expect_distribution<T: Element>(name: Tensor, tensor: &DistTensor<T>, value: &Value) -> Result<()> {
    if tensor.distribution() == &value.distribution {
        return Ok(());
    }
    let names: Vec<String> = (0..value.shape.len()).map(|dim| format!("d{dim}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (is, wanted) = (tensor.distribution().describe(&names), value.distribution.describe(&names));
    Err(Error::Usage(format!("{name} lies as {is}, the plan wants {wanted}")))
}
