//! Numbers with the sum of their absolute products and samples of a run's error, and their sums and tensors.
//!
//! The two error samples are the parts of one complex number (`docs/check.md`). Invariant: whatever the signs, a result
//! element's error is at least that of the last step alone.

use einsum_dist::dims::Label;
use num_complex::Complex;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::compensated::ComplexSum;
use super::super::norm::scaled;

/// Added to a step's squared error for parts that underflow, unless all products are 0.
const MIN_SQUARE: f64 = 1e-290;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tracked {
    pub value: Complex<f64>,
    pub magnitude: f64,
    pub error: Complex<f64>,
}

impl From<Complex<f64>> for Tracked {
    fn from(value: Complex<f64>) -> Tracked {
        Tracked { value, magnitude: value.norm(), error: Complex::default() }
    }
}

impl Tracked {
    pub fn scaled(self, exponent: i32) -> Tracked {
        let by = |number: f64| scaled(number, exponent.into());
        let both = |number: Complex<f64>| Complex::new(by(number.re), by(number.im));
        Tracked { value: both(self.value), magnitude: by(self.magnitude), error: both(self.error) }
    }

    /// The reference, times 2^`exponent`.
    pub fn reference(self, exponent: i32) -> Reference {
        let Tracked { value, magnitude, error } = self.scaled(exponent);
        Reference { value, magnitude, spread: error.norm() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    pub value: Complex<f64>,
    /// The sum of the value's absolute operand products.
    pub magnitude: f64,
    /// A typical run's approximate error.
    pub spread: f64,
}

impl Reference {
    /// Adds the value to which the run added the element, with a relative rounding error.
    pub fn with_prior(self, prior: Complex<f64>, relative: f64) -> Reference {
        let size = prior.norm();
        Reference {
            value: self.value + prior,
            magnitude: self.magnitude + size,
            spread: self.spread.hypot(relative * size),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rounding {
    /// The squared error, divided by the sum of the squared products.
    pub relative: f64,
    /// The squared error due to underflow.
    pub absolute: f64,
    /// Whether this is the last step, whose error must not cancel earlier ones.
    pub is_last: bool,
    /// Seeds the step's independent random signs.
    pub step: u64,
}

/// A product in one step, or a sum of products.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summand {
    value: Complex<f64>,
    magnitude: f64,
    /// The products' sum of squared absolute values.
    squares: f64,
    error: Complex<f64>,
}

impl From<Tracked> for Summand {
    #[inline(always)]
    fn from(Tracked { value, magnitude, error }: Tracked) -> Summand {
        Summand { value, magnitude, squares: value.norm_sqr(), error }
    }
}

impl Summand {
    pub fn one() -> Summand {
        Tracked::from(Complex::new(1.0, 0.0)).into()
    }

    #[inline(always)]
    pub fn add(self, other: Summand) -> Summand {
        Summand {
            value: self.value + other.value,
            magnitude: self.magnitude + other.magnitude,
            squares: self.squares + other.squares,
            error: self.error + other.error,
        }
    }

    /// The product, only of real parts without `COMPLEX`, because infinity times 0 is NaN.
    #[inline(always)]
    pub fn times<const COMPLEX: bool>(self, other: Summand) -> Summand {
        let (value, error) = if COMPLEX {
            (self.value * other.value, self.error * other.value + other.error * self.value)
        } else {
            let (left, right) = (self.value.re, other.value.re);
            (Complex::new(left * right, 0.0), self.error * right + other.error * left)
        };
        Summand { value, magnitude: self.magnitude * other.magnitude, squares: self.squares * other.squares, error }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Total {
    value: ComplexSum,
    magnitude: f64,
    squares: f64,
    error: Complex<f64>,
}

impl Total {
    pub fn add(&mut self, term: Summand) {
        self.value.add(term.value);
        self.magnitude += term.magnitude;
        self.squares += term.squares;
        self.error += term.error;
    }

    /// The sum with a step's rounding error, whose signs depend on `place`.
    pub fn rounded(&self, rounding: Rounding, place: usize) -> Tracked {
        let mut number = self.number();
        if self.magnitude != 0.0 {
            let own = (rounding.relative * self.squares + rounding.absolute + MIN_SQUARE).sqrt();
            if rounding.is_last {
                number.error = Complex::new(number.error.norm().hypot(own), 0.0);
            } else {
                number.error += own * signs(rounding.step, place);
            }
        }
        number
    }

    pub fn number(&self) -> Tracked {
        Tracked { value: self.value.total(), magnitude: self.magnitude, error: self.error }
    }

    pub fn summand(&self) -> Summand {
        let &Total { magnitude, squares, error, .. } = self;
        Summand { value: self.value.total(), magnitude, squares, error }
    }
}

impl From<Tracked> for Total {
    fn from(number: Tracked) -> Total {
        let mut total = Total::default();
        total.add(number.into());
        total
    }
}

/// Two numbers of random signs and absolute values of about 1, of which few sums are 0.
fn signs(step: u64, place: usize) -> Complex<f64> {
    let bits = xxh3_64_with_seed(&place.to_le_bytes(), step);
    let sample = |bits: u64| {
        let size = 0.75 + (bits >> 1 & 0xffff) as f64 / 131_072.0;
        if bits & 1 == 0 { size } else { -size }
    };
    Complex::new(sample(bits), sample(bits >> 32))
}

/// A factor, with its stride along each label: the sum over a repeated label's dimensions (the diagonal).
#[derive(Debug, Clone, Default)]
pub struct Term {
    pub values: Vec<Tracked>,
    strides: Vec<(Label, usize)>,
}

impl Term {
    /// A factor with values in row-major order.
    pub fn dense(values: Vec<Tracked>, labels: &[Label], shape: &[usize]) -> Term {
        let mut strides: Vec<(Label, usize)> = Vec::new();
        let mut step = 1;
        for (&label, &extent) in labels.iter().zip(shape).rev() {
            match strides.iter_mut().find(|(known, _)| *known == label) {
                Some((_, stride)) => *stride += step,
                None => strides.push((label, step)),
            }
            step *= extent;
        }
        Term { values, strides }
    }

    pub fn labels(&self) -> impl Iterator<Item = Label> {
        self.strides.iter().map(|&(label, _)| label)
    }

    pub fn stride(&self, label: Label) -> usize {
        self.strides.iter().find(|(known, _)| *known == label).map_or(0, |&(_, stride)| stride)
    }
}
