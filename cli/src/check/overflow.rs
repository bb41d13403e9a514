//! Composes the message about an overflow: an element, its size and a remedy.

use einsum_dist::Dtype;

use super::super::config::RunConfig;
use super::super::units::counted;
use super::limits::Limits;
use super::verdict::Tally;

#[derive(Debug, Clone, PartialEq)]
pub struct Overflow {
    /// The message with the remedy, without a full stop.
    pub message: String,
    /// Whether the result is infinite exactly where the reference exceeds the type; otherwise it is meaningless.
    pub is_right: bool,
}

impl Overflow {
    pub fn new(config: &RunConfig, tally: &Tally, limits: &Limits) -> Option<Overflow> {
        let is_right = tally.overflowed_sums == 0;
        if tally.overflowed_sums + tally.overflowed == 0 || tally.unexplained > 0 {
            return None;
        }
        let dtype = config.plan.dtype;
        let place = tally.place.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let largest = match tally.largest {
            largest if largest.is_finite() && largest > 0.0 => format!("{largest:.1e}"),
            _ => "more than that".to_owned(),
        };
        let what = if is_right {
            let elements = counted(tally.overflowed as usize, "element");
            format!("{elements} of the result overflowed {dtype} and became infinite: [{place}] is {largest}")
        } else {
            let elements = counted(tally.overflowed_sums as usize, "element");
            format!(
                "sums overflowed {dtype} on the way to {elements} of the result, which are no numbers: those of \
                 absolute products before [{place}] may be {largest}"
            )
        };
        let advice = remedy(config);
        Some(Overflow { message: format!("{what}, the largest number is {:.1e}; {advice}", limits.largest), is_right })
    }
}

/// What to do about a result outside the range of its type.
pub fn remedy(config: &RunConfig) -> String {
    let scaled = if config.exponent { "" } else { "use --exponent, which keeps a scale apart" };
    let wider = match config.plan.dtype {
        Dtype::Float32 => "float64",
        Dtype::Complex64 => "complex128",
        Dtype::Float64 | Dtype::Complex128 if config.exponent => return "scale the operands differently".to_owned(),
        Dtype::Float64 | Dtype::Complex128 => return scaled.to_owned(),
    };
    let wider = match config.operands.first() {
        None => format!("use --dtype {wider}"),
        Some(path) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            format!(
                "convert the operands to {wider}, as --dtype {wider} is for random ones only: \
                 np.save(\"{name}-{wider}.npy\", np.load(\"{name}.npy\").astype(np.{wider}))"
            )
        }
    };
    if config.exponent { wider } else { format!("{scaled}, or {wider}") }
}
