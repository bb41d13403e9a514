//! Finds results that left the element type's range without `--check`.
//!
//! The operands are examined only if the norm leaves doubt. `docs/special-values.md` describes the rules.

use einsum_dist::{DistTensor, Dtype, Element, OperandParts, World};

use super::Result;
use super::check::remedy;
use super::config::RunConfig;
use super::start::gather;

#[derive(Debug, Clone, PartialEq)]
pub struct OutOfRange {
    /// `overflow` or `underflow`.
    pub what: &'static str,
    /// Includes the remedy, without a full stop.
    pub message: String,
}

/// Examines a result with this norm; `finite`: any array of `--accumulate` is finite. Collective.
pub fn examine<T: Element>(
    world: &World,
    config: &RunConfig,
    operands: &mut OperandParts<T>,
    finite: bool,
    norm: f64,
) -> Result<Option<OutOfRange>> {
    let dtype = config.plan.dtype;
    let least = match dtype {
        Dtype::Float32 | Dtype::Complex64 => f64::from(f32::MIN_POSITIVE),
        Dtype::Float64 | Dtype::Complex128 => f64::MIN_POSITIVE,
    };
    let elements: f64 = config.plan.output_shape().iter().map(|&extent| extent as f64).product();
    let (overflows, underflows) =
        (!norm.is_finite(), norm < least * elements.sqrt() && config.args.accumulate.is_none());
    if !overflows && !underflows {
        return Ok(None);
    }
    // The largest and smallest absolute values, without zeros.
    let mut extremes = vec![(0.0, f64::INFINITY); config.plan.operands];
    let mut mine = Vec::new();
    for index in 0..config.plan.operands {
        let [mut largest, mut smallest] = [0.0, f64::INFINITY];
        operands.each_part(&config.plan, index, |part| {
            let [more, less] = extremes_here(part);
            (largest, smallest) = (f64::max(largest, more), f64::min(smallest, less));
            Ok(())
        })?;
        mine.extend([largest, smallest]);
    }
    for theirs in gather(world, &mine)? {
        for ((largest, smallest), [more, less]) in extremes.iter_mut().zip(theirs.as_chunks().0) {
            (*largest, *smallest) = (f64::max(*largest, *more), f64::min(*smallest, *less));
        }
    }
    if !extremes.iter().all(|(largest, _)| largest.is_finite() && *largest > 0.0) {
        return Ok(None);
    }
    let remedy = remedy(config);
    if overflows {
        let message = format!("the result overflowed {dtype}, and has infinite or NaN elements; {remedy}");
        return Ok(Some(OutOfRange { what: "overflow", message }).filter(|_| finite));
    }
    let smallest: f64 = extremes.iter().map(|(_, smallest)| smallest.log2()).sum();
    let elements = if norm == 0.0 { "are 0" } else { "have lost digits" };
    let message = format!("the result underflowed {dtype}, and its elements {elements}; {remedy}");
    Ok(Some(OutOfRange { what: "underflow", message }).filter(|_| norm > 0.0 || smallest < least.log2()))
}

fn extremes_here<T: Element>(operand: &DistTensor<T>) -> [f64; 2] {
    let mut extremes = [0.0, f64::INFINITY];
    for (_, block) in operand.blocks() {
        for element in block {
            let size = element.to_c64().norm();
            if size != 0.0 {
                let largest = if size.is_nan() { f64::INFINITY } else { size };
                extremes = [extremes[0].max(largest), extremes[1].min(size)];
            }
        }
    }
    extremes
}
