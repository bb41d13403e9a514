//! Computes expected results. Products are added in sequence in double precision, step by step in the order of the
//! brackets.
//!
//! This code shares nothing with the library. For every element, this code also computes the sum of the absolute
//! products. Errors are measured relative to this sum.

use num_complex::Complex;

use super::expression::{Index, Node};

/// An array in C order.
#[derive(Clone, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<Complex<f64>>,
    /// Sum of the absolute products for each element.
    pub sizes: Vec<f64>,
}

/// The result, and the maximum number of roundings in any of its elements.
#[derive(Debug)]
pub struct Expected {
    pub array: Array,
    pub roundings: usize,
}

/// A dimension is a label, or one of the dimensions that an ellipsis matches, counted from the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dim {
    Label(usize),
    FromRight(usize),
}

pub fn evaluate(root: &Node, operands: &[Array]) -> Expected {
    let mut expected = Expected { array: Array { shape: vec![], values: vec![], sizes: vec![] }, roundings: 0 };
    let mut next = 0;
    expected.array = step(root, operands, &mut next, &mut expected.roundings);
    expected
}

fn step(node: &Node, operands: &[Array], next: &mut usize, roundings: &mut usize) -> Array {
    if node.inputs.is_empty() {
        *next += 1;
        return operands[*next - 1].clone();
    }
    let inputs: Vec<Array> = node.inputs.iter().map(|input| step(input, operands, next, roundings)).collect();
    let terms: Vec<Vec<Dim>> =
        node.inputs.iter().zip(&inputs).map(|(input, array)| dims(&input.term, array.shape.len())).collect();
    let mut all: Vec<(Dim, usize)> = Vec::new();
    for (dim, extent) in terms.iter().zip(&inputs).flat_map(|(term, array)| term.iter().zip(&array.shape)) {
        match all.iter_mut().find(|(known, _)| known == dim) {
            Some((_, known)) if *known == 1 => *known = *extent,
            Some(_) => {}
            None => all.push((*dim, *extent)),
        }
    }
    let dots = all.iter().filter(|(dim, _)| matches!(dim, Dim::FromRight(_))).count();
    let labels = node.term.iter().filter(|index| **index != Index::Dots).count();
    let has_dots = labels < node.term.len();
    let out = dims(&node.term, labels + if has_dots { dots } else { 0 });
    let extent = |dim: &Dim| all.iter().find(|(known, _)| known == dim).map_or(1, |(_, extent)| *extent);
    let shape: Vec<usize> = out.iter().map(extent).collect();
    let (ranked, summed): (Vec<_>, Vec<_>) = all.iter().partition(|(dim, _)| out.contains(dim));
    // Dimensions of the output in order, followed by the summed dimensions.
    let ordered: Vec<(Dim, usize)> =
        out.iter().map(|dim| (*dim, extent(dim))).chain(summed.iter().copied().copied()).collect();
    assert_eq!(ranked.len(), out.len());
    let points: usize = summed.iter().map(|(_, extent)| extent).product();
    *roundings += points + 2 * inputs.len() + 2;
    contract(&inputs, &terms, &ordered, shape, points)
}

/// Sums over the last dimensions of `ordered`. The product of the extents of these dimensions is `points`.
fn contract(inputs: &[Array], terms: &[Vec<Dim>], ordered: &[(Dim, usize)], shape: Vec<usize>, points: usize) -> Array {
    let elements: usize = shape.iter().product();
    let mut result = Array { shape, values: vec![Complex::new(0.0, 0.0); elements], sizes: vec![0.0; elements] };
    // Strides of each input along each dimension. Strides of a repeated label add up; a dimension of extent 1 has
    // stride 0.
    let strides: Vec<Vec<usize>> = inputs
        .iter()
        .zip(terms)
        .map(|(array, term)| {
            let stride = |dim: &Dim| -> usize {
                let at = |at: usize| array.shape[at + 1..].iter().product::<usize>();
                (0..term.len()).filter(|&place| term[place] == *dim && array.shape[place] != 1).map(at).sum()
            };
            ordered.iter().map(|(dim, _)| stride(dim)).collect()
        })
        .collect();
    let mut point = vec![0usize; ordered.len()];
    for at in 0..elements * points {
        let mut product = Complex::new(1.0, 0.0);
        let mut size = 1.0;
        for (array, strides) in inputs.iter().zip(&strides) {
            let place: usize = strides.iter().zip(&point).map(|(stride, at)| stride * at).sum();
            product *= array.values[place];
            size *= array.sizes[place];
        }
        result.values[at / points] += product;
        result.sizes[at / points] += size;
        for (coordinate, (_, extent)) in point.iter_mut().zip(ordered).rev() {
            *coordinate += 1;
            if *coordinate < *extent {
                break;
            }
            *coordinate = 0;
        }
    }
    result
}

/// The dimensions of a term for an array of `rank` dimensions.
fn dims(term: &[Index], rank: usize) -> Vec<Dim> {
    let labels = term.iter().filter(|index| **index != Index::Dots).count();
    let mut dims = Vec::new();
    for index in term {
        match index {
            Index::Label(label) => dims.push(Dim::Label(*label)),
            Index::Dots => dims.extend((0..rank - labels).rev().map(Dim::FromRight)),
        }
    }
    dims
}
