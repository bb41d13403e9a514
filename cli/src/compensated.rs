//! Sums as accurate as in twice the precision.
//!
//! Algorithm 4.1 in T. Ogita, S. M. Rump and S. Oishi, Accurate Sum and Dot Product, SIAM J. Sci. Comput. 26 (2005):
//! rounding errors are summed separately and added to the total. With an infinite or NaN term, the total equals the
//! plain sum.

use num_complex::Complex;

#[derive(Debug, Clone, Copy, Default)]
pub struct Compensated {
    sum: f64,
    errors: f64,
}

impl Compensated {
    pub fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        let of_term = sum - self.sum;
        self.errors += (self.sum - (sum - of_term)) + (term - of_term);
        self.sum = sum;
    }

    pub fn total(&self) -> f64 {
        // After an overflow, the rounding errors are infinite or NaN and must not be added.
        if self.sum.is_finite() && self.errors.is_finite() { self.sum + self.errors } else { self.sum }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct ComplexSum {
    re: Compensated,
    im: Compensated,
}

impl ComplexSum {
    pub fn add(&mut self, term: Complex<f64>) {
        self.re.add(term.re);
        self.im.add(term.im);
    }

    pub fn total(&self) -> Complex<f64> {
        Complex::new(self.re.total(), self.im.total())
    }
}

#[cfg(test)]
mod tests;
