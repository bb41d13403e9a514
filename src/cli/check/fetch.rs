//! Slices of operands in double precision, made or read where they are needed.

use std::ops::Range;
use std::path::Path;

use einsum_dist::Result;
use einsum_dist::dims::Label;
use einsum_dist::dist::volume;
use einsum_dist::dtype::Dtype;
use einsum_dist::io::npy::{NpyHeader, read_block, read_header};
use einsum_dist::io::random;
use num_complex::Complex;

use super::super::config::RunConfig;
use super::sum::{Term, Tracked};

/// Where an operand comes from.
pub enum Source<'a> {
    Random { dtype: Dtype, seed: u64, operand: u32, shape: Vec<usize> },
    File { path: &'a Path, header: NpyHeader },
}

impl<'a> Source<'a> {
    /// The source of an operand; reads the header of a file.
    pub fn new(config: &'a RunConfig, operand: usize) -> super::Result<Source<'a>> {
        match config.operands.get(operand) {
            Some(path) => Source::file(path),
            None => Ok(Source::Random {
                dtype: config.plan.dtype,
                seed: config.seed,
                operand: operand as u32,
                shape: config.plan.operand_shape(operand),
            }),
        }
    }

    /// A file; reads its header.
    pub fn file(path: &'a Path) -> super::Result<Source<'a>> {
        Ok(Source::File { path, header: read_header(path)? })
    }

    fn shape(&self) -> &[usize] {
        match self {
            Source::Random { shape, .. } => shape,
            Source::File { header, .. } => &header.shape,
        }
    }

    pub fn elements(&self) -> usize {
        self.shape().iter().product()
    }

    /// The part with these indices of each label, as a term of the labels that have not just one.
    pub fn fetch(&self, labels: &[Label], indices: impl Fn(Label) -> Range<usize>) -> Result<Term> {
        let ranges: Vec<Range<usize>> = labels.iter().map(|&label| indices(label)).collect();
        let free = labels.iter().zip(&ranges).filter(|(_, range)| range.len() != 1);
        let (free, shape): (Vec<Label>, Vec<usize>) = free.map(|(&label, range)| (label, range.len())).unzip();
        Ok(Term::dense(self.read(&ranges)?, &free, &shape))
    }

    /// A box of elements in row-major order.
    pub fn read(&self, ranges: &[Range<usize>]) -> Result<Vec<Tracked>> {
        let dtype = match self {
            Source::Random { dtype, .. } => *dtype,
            Source::File { header, .. } => header.dtype,
        };
        let mut bytes = vec![0; volume(ranges) * dtype.size()];
        match self {
            Source::Random { dtype, seed, operand, shape } => {
                random::fill_block(*dtype, *seed, *operand, shape, ranges, &mut bytes);
            }
            Source::File { path, header } => read_block(path, header, ranges, &mut bytes)?,
        }
        Ok(decode(dtype, &bytes))
    }
}

fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<Tracked> {
    let single = |bytes: &[u8; 4]| f64::from(f32::from_le_bytes(*bytes));
    let double = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
    let (singles, doubles) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
    let real = |value: f64| Tracked::from(Complex::new(value, 0.0));
    match dtype {
        Dtype::Float32 => singles.iter().map(|re| real(single(re))).collect(),
        Dtype::Float64 => doubles.iter().map(|re| real(double(re))).collect(),
        Dtype::Complex64 => {
            let pairs = singles.as_chunks::<2>().0.iter();
            pairs.map(|[re, im]| Tracked::from(Complex::new(single(re), single(im)))).collect()
        }
        Dtype::Complex128 => {
            let pairs = doubles.as_chunks::<2>().0.iter();
            pairs.map(|[re, im]| Tracked::from(Complex::new(double(re), double(im)))).collect()
        }
    }
}
