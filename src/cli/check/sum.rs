//! Sums of products in double precision: one loop over all summed dimensions, without any cleverness.

use einsum_dist::dims::Label;
use einsum_dist::tree::Tree;
use num_complex::Complex;

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

    fn times(self, other: Tracked) -> Tracked {
        Tracked { value: self.value * other.value, magnitude: self.magnitude * other.magnitude }
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

    fn stride(&self, label: Label) -> usize {
        self.strides.iter().find(|(known, _)| *known == label).map_or(0, |&(_, stride)| stride)
    }
}

/// The product of terms, summed over all labels but those of the output.
pub struct Sum<'a> {
    values: Vec<&'a [Tracked]>,
    /// Per term, per label of the output.
    out: Vec<Vec<usize>>,
    extents: Vec<usize>,
    /// Per summed label, per term.
    steps: Vec<Vec<usize>>,
}

impl<'a> Sum<'a> {
    pub fn new(tree: &Tree, terms: &'a [Term], out: &[Label]) -> Sum<'a> {
        let mut summed: Vec<Label> = Vec::new();
        for &(label, _) in terms.iter().flat_map(|term| &term.strides) {
            if !out.contains(&label) && !summed.contains(&label) {
                summed.push(label);
            }
        }
        Sum {
            values: terms.iter().map(|term| term.values.as_slice()).collect(),
            out: terms.iter().map(|term| out.iter().map(|&label| term.stride(label)).collect()).collect(),
            extents: tree.shape(&summed),
            steps: summed.iter().map(|&label| terms.iter().map(|term| term.stride(label)).collect()).collect(),
        }
    }

    /// One element.
    pub fn at(&self, index: &[usize]) -> Tracked {
        let mut total = Tracked::default();
        if self.extents.contains(&0) {
            return total;
        }
        let start = |strides: &Vec<usize>| strides.iter().zip(index).map(|(stride, at)| stride * at).sum::<usize>();
        let mut places: Vec<usize> = self.out.iter().map(start).collect();
        let mut at = vec![0; self.extents.len()];
        loop {
            let factors = self.values.iter().zip(&places).map(|(values, &place)| values[place]);
            total = total.add(factors.reduce(Tracked::times).unwrap_or_default());
            // To the next point, like an odometer.
            let mut dim = 0;
            loop {
                let Some(&extent) = self.extents.get(dim) else { return total };
                at[dim] += 1;
                if at[dim] < extent {
                    places.iter_mut().zip(&self.steps[dim]).for_each(|(place, step)| *place += step);
                    break;
                }
                at[dim] = 0;
                places.iter_mut().zip(&self.steps[dim]).for_each(|(place, step)| *place -= step * (extent - 1));
                dim += 1;
            }
        }
    }
}
