//! Checks that user tensors match a plan.

use super::error::Rank;
use super::{Error, Result};
use crate::distribution::Distribution;
use crate::kernel::Element;
use crate::machine::MAX_RANKS;
use crate::memory::OutOfMemory;
use crate::plan::Value;

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

pub(super) fn expect_distribution(name: Tensor, distribution: &Distribution, value: &Value) -> Result<()> {
    if distribution == &value.distribution {
        return Ok(());
    }
    let names: Vec<String> = (0..value.shape.len()).map(|dim| format!("d{dim}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (is, wanted) = (distribution.describe(&names), value.distribution.describe(&names));
    Err(Error::Usage(format!("{name} is distributed as {is}, but the plan requires {wanted}")))
}

pub(super) fn expect_fit(shape: &[usize], distribution: &Distribution, ranks: usize) -> Result<()> {
    if ranks > MAX_RANKS {
        return Err(Error::Usage(format!(
            "a world of {ranks} ranks is larger than the {MAX_RANKS} that are planned for"
        )));
    }
    let wrong = |why| Error::Usage(format!("a tensor of shape {shape:?} cannot be distributed so: {why}"));
    distribution.fits_shape(shape, ranks).map_err(wrong)
}

/// A trial allocation does not pay for smaller arrays.
const MIN_TRIAL_BYTES: usize = 1 << 30;

/// A failed allocation would abort the process.
pub(super) fn expect_memory<T: Element>(rank: usize, shape: &[usize]) -> Result<()> {
    let elements = shape.iter().try_fold(1usize, |elements, &extent| elements.checked_mul(extent));
    let bytes = elements.and_then(|elements| elements.checked_mul(size_of::<T>())).unwrap_or(usize::MAX);
    if bytes < MIN_TRIAL_BYTES || Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        return Ok(());
    }
    Err(Error::Memory { rank: Rank::here(rank), cause: OutOfMemory { bytes } })
}

#[cfg(test)]
mod tests;
