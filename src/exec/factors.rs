//! Stores a run's `alpha` and `beta`, independent of the element type.

use num_complex::Complex;

use crate::kernel::Element;

/// The factors `alpha` and `beta` of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    pub alpha: Complex<f64>,
    pub beta: Complex<f64>,
}

impl Factors {
    /// Converts without rounding.
    pub fn new<T: Element>(alpha: T, beta: T) -> Factors {
        Factors { alpha: alpha.to_c64(), beta: beta.to_c64() }
    }
}
