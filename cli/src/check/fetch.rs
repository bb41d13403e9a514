//! Generates or reads slices of operands, in double precision.

use std::ops::Range;
use std::path::Path;

use einsum_dist::dims::Label;
use einsum_dist::distribution::{Bounds, Intervals, volume};
use einsum_dist::dtype::Dtype;
use einsum_dist::io::npy::{NpyHeader, read_block, read_header};
use einsum_dist::io::random;
use einsum_dist::memory::{OutOfMemory, room_for};
use num_complex::Complex;

use super::super::Result;
use super::super::config::RunConfig;
use super::super::failure::memory;
use super::select::{Selection, runs};
use super::sum::{Term, Tracked};

pub const CHUNK_ELEMENTS: usize = 1 << 12;

pub enum Source<'a> {
    Random { dtype: Dtype, seed: u64, operand: u32, shape: Vec<usize> },
    File { path: &'a Path, header: NpyHeader },
}

impl<'a> Source<'a> {
    pub fn new(config: &'a RunConfig, operand: usize) -> Result<Source<'a>> {
        match config.args.operands.get(operand) {
            Some(path) => Source::file(path),
            None => Ok(Source::Random {
                dtype: config.plan.dtype,
                seed: config.args.seed,
                operand: operand as u32,
                shape: config.plan.operand_shape(operand),
            }),
        }
    }

    pub fn file(path: &'a Path) -> Result<Source<'a>> {
        Ok(Source::File { path, header: read_header(path)? })
    }

    /// The elements at the selected indices, with labels in the order of `layout`, the last fastest.
    pub fn fetch(&self, labels: &[Label], selection: &Selection, layout: &[Label]) -> Result<Term> {
        let indices: Vec<&Intervals> = labels.iter().map(|&label| selection.of(label)).collect();
        let mut dims: Vec<usize> = (0..labels.len()).collect();
        dims.sort_by_key(|&dim| (layout.iter().position(|&label| label == labels[dim]), dim));
        let mut steps = vec![0; labels.len()];
        let mut elements = 1;
        for &dim in dims.iter().rev() {
            steps[dim] = elements;
            elements *= indices[dim].len();
        }
        let mut values = memory(room_for(elements))?;
        values.resize(elements, Tracked::default());
        let mut bytes = memory(room_for(CHUNK_ELEMENTS.min(elements) * self.dtype().size()))?;
        self.each_box(&indices, &mut |bounds, places| {
            bytes.clear();
            bytes.resize(volume(bounds) * self.dtype().size(), 0);
            self.read(bounds, &mut bytes)?;
            let first: usize = places.iter().zip(&steps).map(|(place, step)| place * step).sum();
            scatter(self.dtype(), &bytes, bounds, &steps, &mut values[first..]);
            Ok(())
        })?;
        let (labels, shape): (Vec<Label>, Vec<usize>) =
            dims.iter().map(|&dim| (labels[dim], indices[dim].len())).unzip();
        Ok(Term::dense(values, &labels, &shape))
    }

    /// Calls `each` with boxes of at most [`CHUNK_ELEMENTS`] selected elements, and their positions.
    fn each_box(&self, indices: &[&Intervals], each: &mut impl FnMut(&Bounds, &[usize]) -> Result<()>) -> Result<()> {
        let runs: Vec<Vec<(usize, Range<usize>)>> = indices.iter().map(|indices| runs(indices).collect()).collect();
        let count: usize = runs.iter().map(Vec::len).product();
        for mut number in 0..count {
            let mut places = vec![0; runs.len()];
            let mut bounds: Bounds = vec![0..0; runs.len()];
            for (dim, runs) in runs.iter().enumerate().rev() {
                (places[dim], bounds[dim]) = runs[number % runs.len()].clone();
                number /= runs.len();
            }
            for piece in pieces(&bounds, CHUNK_ELEMENTS) {
                let at =
                    piece.iter().zip(&bounds).zip(&places).map(|((piece, run), place)| place + piece.start - run.start);
                each(&piece, &at.collect::<Vec<usize>>())?;
            }
        }
        Ok(())
    }

    /// The largest absolute value, or NaN if any element is NaN.
    pub fn largest(&self) -> Result<f64> {
        let Source::File { header, .. } = self else {
            // Parts of random elements are between -1 and 1.
            return Ok(if self.dtype().is_complex() { std::f64::consts::SQRT_2 } else { 1.0 });
        };
        let mut largest = 0.0f64;
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        for bounds in pieces(&header.shape.iter().map(|&extent| 0..extent).collect(), CHUNK_ELEMENTS) {
            let elements = volume(&bounds);
            memory(grow(&mut bytes, elements * header.dtype.size()))?;
            memory(grow(&mut values, elements))?;
            self.read(&bounds, &mut bytes)?;
            let mut steps = vec![1; bounds.len()];
            for dim in (1..bounds.len()).rev() {
                steps[dim - 1] = steps[dim] * bounds[dim].len();
            }
            if elements > 0 {
                scatter(header.dtype, &bytes, &bounds, &steps, &mut values);
            }
            let larger = |largest: f64, value: &Tracked| {
                if largest.is_nan() || value.magnitude.is_nan() { f64::NAN } else { largest.max(value.magnitude) }
            };
            largest = values.iter().fold(largest, larger);
        }
        Ok(largest)
    }

    fn dtype(&self) -> Dtype {
        match self {
            Source::Random { dtype, .. } => *dtype,
            Source::File { header, .. } => header.dtype,
        }
    }

    fn read(&self, bounds: &Bounds, bytes: &mut [u8]) -> Result<()> {
        match self {
            Source::Random { dtype, seed, operand, shape } => {
                random::fill_block(*dtype, *seed, *operand, shape, bounds, bytes);
            }
            Source::File { path, header } => read_block(path, header, bounds, bytes)?,
        }
        Ok(())
    }
}

fn grow<V: Clone + Default>(vector: &mut Vec<V>, length: usize) -> std::result::Result<(), OutOfMemory> {
    if vector.len() < length {
        *vector = room_for(length)?;
    }
    vector.resize(length, V::default());
    Ok(())
}

fn scatter(dtype: Dtype, bytes: &[u8], bounds: &Bounds, steps: &[usize], into: &mut [Tracked]) {
    let singles = bytes.as_chunks().0.iter().map(|real| f64::from(f32::from_le_bytes(*real)));
    let doubles = bytes.as_chunks().0.iter().map(|real| f64::from_le_bytes(*real));
    match dtype {
        Dtype::Float32 => put(singles, false, bounds, steps, into),
        Dtype::Float64 => put(doubles, false, bounds, steps, into),
        Dtype::Complex64 => put(singles, true, bounds, steps, into),
        Dtype::Complex128 => put(doubles, true, bounds, steps, into),
    }
}

fn put(mut reals: impl Iterator<Item = f64>, complex: bool, bounds: &Bounds, steps: &[usize], into: &mut [Tracked]) {
    let (mut at, mut place) = (vec![0; bounds.len()], 0);
    while let Some(re) = reals.next() {
        let im = if complex { reals.next().unwrap_or_default() } else { 0.0 };
        into[place] = Tracked::from(Complex::new(re, im));
        for (dim, range) in bounds.iter().enumerate().rev() {
            at[dim] += 1;
            place += steps[dim];
            if at[dim] < range.len() {
                break;
            }
            place -= steps[dim] * range.len();
            at[dim] = 0;
        }
    }
}

fn pieces(bounds: &Bounds, most: usize) -> Vec<Bounds> {
    let (mut open, mut done) = (vec![bounds.clone()], Vec::new());
    while let Some(bounds) = open.pop() {
        let Some(dim) = bounds.iter().position(|range| range.len() > 1).filter(|_| volume(&bounds) > most) else {
            done.push(bounds);
            continue;
        };
        let Range { start, end } = bounds[dim];
        let middle = usize::midpoint(start, end);
        for half in [start..middle, middle..end] {
            let mut halved = bounds.clone();
            halved[dim] = half;
            open.push(halved);
        }
    }
    done
}
