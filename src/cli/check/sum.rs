//! What is summed: numbers with the absolute values that they came from, and factors made of them.

use einsum_dist::dims::Label;
use num_complex::Complex;

use super::super::compensated::ComplexSum;

/// A number and the sum of the absolute values of the products that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tracked {
    pub value: Complex<f64>,
    pub magnitude: f64,
}

impl From<Complex<f64>> for Tracked {
    fn from(value: Complex<f64>) -> Tracked {
        Tracked { value, magnitude: value.norm() }
    }
}

impl Tracked {
    pub fn add(self, other: Tracked) -> Tracked {
        Tracked { value: self.value + other.value, magnitude: self.magnitude + other.magnitude }
    }

    /// The product; of real numbers where they are not `COMPLEX`, as infinity times an imaginary part of 0 would be none.
    #[inline(always)]
    pub fn times<const COMPLEX: bool>(self, other: Tracked) -> Tracked {
        let value = if COMPLEX { self.value * other.value } else { Complex::new(self.value.re * other.value.re, 0.0) };
        Tracked { value, magnitude: self.magnitude * other.magnitude }
    }
}

/// A sum that adds up the rounding errors of its additions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Total {
    value: ComplexSum,
    magnitude: f64,
}

impl Total {
    pub fn add(&mut self, term: Tracked) {
        self.value.add(term.value);
        self.magnitude += term.magnitude;
    }

    pub fn get(&self) -> Tracked {
        Tracked { value: self.value.total(), magnitude: self.magnitude }
    }
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
