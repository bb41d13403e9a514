//! What is summed: numbers with the absolute values that they came from and what a run may be off by, and factors made of them.
//!
//! # Errors of a run
//!
//! In each step numbers get an error of random sign, as large as the worst that roundings up to there could do to the step: gamma of
//! the whole tree times the absolute products of its two operands, or more. Later steps carry it along as they would a real one, so what cancels
//! in the numbers cancels in their errors. This is Monte Carlo arithmetic (D. S. Parker, Monte Carlo Arithmetic, UCLA CSD-970002,
//! 1997), to first order, with two samples: the real and the imaginary part of one complex number.
//!
//! Invariant: the error of an element of the result is at least what the last step may do by itself, whatever the signs.

use einsum_dist::dims::Label;
use num_complex::Complex;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::compensated::ComplexSum;

/// What is added to the square of every error but that of 0, as smaller squares may be lost.
const LEAST_SQUARE: f64 = 1e-290;

/// A number, the sum of the absolute values of the products of operands that it came from, and two samples of what a run may be off by.
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
    /// Divided by a power of two.
    pub fn divided(self, exponent: i32) -> Tracked {
        let by = |number: f64| scaled(number, -exponent);
        Tracked::from(Complex::new(by(self.value.re), by(self.value.im)))
    }

    /// Times a power of two.
    pub fn wanted(self, exponent: i32) -> Wanted {
        let by = |number: f64| scaled(number, exponent);
        let value = Complex::new(by(self.value.re), by(self.value.im));
        Wanted { value, magnitude: by(self.magnitude), spread: by(self.error.norm()) }
    }
}

/// What an element should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    pub value: Complex<f64>,
    /// The sum of the absolute values of the products of operands that it came from.
    pub magnitude: f64,
    /// About what a run may be off by, if rounding errors are what they mostly are.
    pub spread: f64,
}

impl Wanted {
    /// Added onto what was there before, which a run rounds off relatively by so much.
    pub fn onto(self, prior: Complex<f64>, relative: f64) -> Wanted {
        let size = prior.norm();
        Wanted {
            value: self.value + prior,
            magnitude: self.magnitude + size,
            spread: self.spread.hypot(relative * size),
        }
    }
}

/// `number` times a power of two, which may be beyond the range itself.
pub fn scaled(mut number: f64, exponent: i32) -> f64 {
    // As far apart as two numbers are.
    let mut left = exponent.clamp(-2200, 2200);
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        number *= 2f64.powi(step);
        left -= step;
    }
    number
}

/// What a step may round off.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rounding {
    /// Of the square of the error, per square of a product.
    pub relative: f64,
    /// Of the square of the error, by underflow.
    pub absolute: f64,
    /// No other step follows, so no error may make up for another.
    pub is_last: bool,
    /// Its number: signs of different steps have nothing in common.
    pub step: u64,
}

/// A product of numbers in one step, or a sum of products.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summand {
    value: Complex<f64>,
    magnitude: f64,
    /// Of the absolute values of products.
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
    /// The product of nothing.
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

    /// The product; of real numbers where they are not `COMPLEX`, as infinity times an imaginary part of 0 would be none.
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

/// A sum that adds up the rounding errors of its additions.
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

    /// The number that a step makes of it; `place` tells elements apart.
    pub fn rounded(&self, rounding: Rounding, place: usize) -> Tracked {
        let mut number = self.number();
        if self.magnitude != 0.0 {
            let own = (rounding.relative * self.squares + rounding.absolute + LEAST_SQUARE).sqrt();
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

    /// As it is.
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

/// Two random numbers of random sign with an absolute value of about 1, so that few sums of them are 0.
fn signs(step: u64, place: usize) -> Complex<f64> {
    let bits = xxh3_64_with_seed(&place.to_le_bytes(), step);
    let sample = |bits: u64| {
        let size = 0.75 + (bits >> 1 & 0xffff) as f64 / 131_072.0;
        if bits & 1 == 0 { size } else { -size }
    };
    Complex::new(sample(bits), sample(bits >> 32))
}

/// A factor: values, and how far apart they are along each label. A repeated label has the sum of its strides, so that
/// walking along it walks the diagonal.
#[derive(Debug, Clone, Default)]
pub struct Term {
    pub values: Vec<Tracked>,
    strides: Vec<(Label, usize)>,
}

impl Term {
    /// Values in row-major order.
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

    /// Its labels, once each.
    pub fn labels(&self) -> impl Iterator<Item = Label> {
        self.strides.iter().map(|&(label, _)| label)
    }

    pub fn stride(&self, label: Label) -> usize {
        self.strides.iter().find(|(known, _)| *known == label).map_or(0, |&(_, stride)| stride)
    }
}
