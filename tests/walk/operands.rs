//! Generates operands of all element types: files in C and Fortran order, invalid files, and the random operands that
//! the program itself generates.

use std::fmt;
use std::path::Path;

use num_complex::Complex;
use rand_philox::philox4x32_10;

use super::einsum::Array;
use super::rng::Rng;

/// An element type. `part` is the number of bytes of the real part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    pub complex: bool,
    pub part: usize,
}

pub const DTYPES: [Dtype; 4] = [
    Dtype { complex: false, part: 4 },
    Dtype { complex: false, part: 8 },
    Dtype { complex: true, part: 4 },
    Dtype { complex: true, part: 8 },
];

impl Dtype {
    /// The smallest type that can represent the values of both types.
    pub fn promote(self, other: Dtype) -> Dtype {
        Dtype { complex: self.complex || other.complex, part: self.part.max(other.part) }
    }

    fn parts(self) -> usize {
        1 + usize::from(self.complex)
    }

    /// The name in flags and reports.
    pub fn short(self) -> String {
        format!("{}{}", if self.complex { 'c' } else { 'f' }, 8 * self.part * self.parts())
    }

    fn descr(self) -> String {
        format!("<{}{}", if self.complex { 'c' } else { 'f' }, self.part * self.parts())
    }

    /// Largest |got - want| / (sum of |products|) after `roundings` roundings. This is gamma_n from Higham, "Accuracy
    /// and Stability of Numerical Algorithms", section 3.1. Each of the two parts of a complex product has twice the
    /// roundings of a real product, which gives the factor sqrt(8).
    pub fn bound(self, roundings: usize) -> f64 {
        let unit = if self.part == 4 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 };
        let n = roundings as f64 * unit * if self.complex { 8f64.sqrt() } else { 1.0 };
        n / (1.0 - n)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.complex { "complex" } else { "float" }, 8 * self.part * self.parts())
    }
}

/// The kind of numbers in a command's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Numbers in [-1, 1).
    Plain,
    /// Some numbers are infinite, NaN or zero.
    Infinite,
    /// Some numbers are so large that products overflow.
    Huge,
}

/// Random numbers that are rounded to the element type.
pub fn random(rng: &mut Rng, dtype: Dtype, shape: &[usize], numbers: Numbers) -> Array {
    let part = |rng: &mut Rng| {
        let unit = (rng.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        match numbers {
            Numbers::Infinite if rng.one_in(12) => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0][rng.below(4)],
            Numbers::Huge if rng.one_in(3) => unit * if single(dtype) { 1e38 } else { 1e300 },
            _ => unit,
        }
    };
    let count = shape.iter().product();
    let values: Vec<Complex<f64>> = (0..count)
        .map(|_| rounded(dtype, Complex::new(part(rng), if dtype.complex { part(rng) } else { 0.0 })))
        .collect();
    of(shape, values)
}

/// Computes the random operand that the program generates. Element i of operand o is a function of (seed, o, i), which
/// is documented in `src/io/random.rs`.
pub fn seeded(seed: u64, operand: usize, dtype: Dtype, shape: &[usize]) -> Array {
    let element = |at: usize| {
        let words = philox4x32_10([at as u32, 0, 0, operand as u32], [seed as u32, (seed >> 32) as u32]);
        let part = |high: u32, low: u32| match dtype.part {
            4 => f64::from(high >> 8) / f64::from(1 << 23) - 1.0,
            _ => ((u64::from(high) << 32 | u64::from(low)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0,
        };
        Complex::new(part(words[0], words[1]), if dtype.complex { part(words[2], words[3]) } else { 0.0 })
    };
    of(shape, (0..shape.iter().product()).map(element).collect())
}

fn of(shape: &[usize], values: Vec<Complex<f64>>) -> Array {
    let sizes = values.iter().map(|value| value.norm()).collect();
    Array { shape: shape.to_vec(), values, sizes }
}

pub fn single(dtype: Dtype) -> bool {
    dtype.part == 4
}

fn rounded(dtype: Dtype, value: Complex<f64>) -> Complex<f64> {
    if single(dtype) { Complex::new(f64::from(value.re as f32), f64::from(value.im as f32)) } else { value }
}

/// The bytes of a .npy file.
pub fn file(array: &Array, dtype: Dtype, fortran: bool) -> Vec<u8> {
    let mut bytes = header(&dtype.descr(), &array.shape, fortran);
    let count = array.values.len();
    for at in 0..count {
        let value = array.values[if fortran { c_position(&array.shape, at) } else { at }];
        let parts = if dtype.complex { vec![value.re, value.im] } else { vec![value.re] };
        for part in parts {
            if single(dtype) {
                bytes.extend((part as f32).to_le_bytes());
            } else {
                bytes.extend(part.to_le_bytes());
            }
        }
    }
    bytes
}

fn header(descr: &str, shape: &[usize], fortran: bool) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let extents: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({extents}), }}");
    text += &" ".repeat(63 - (10 + text.len()) % 64);
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// The C-order position of the element at a Fortran-order position.
fn c_position(shape: &[usize], mut place: usize) -> usize {
    let mut position = 0;
    for (dim, &extent) in shape.iter().enumerate() {
        position += place % extent * shape[dim + 1..].iter().product::<usize>();
        place /= extent;
    }
    position
}

/// Kinds of invalid files, or of files that do not match the expression.
pub const DAMAGES: [&str; 6] = ["missing", "short", "empty", "text", "directory", "rank"];

/// Element types that the program either converts or rejects with a message that contains a NumPy command for the
/// conversion.
pub const FOREIGN: [&str; 4] = ["<i8", ">f4", "|b1", "<f2"];

/// Creates an invalid operand of this shape at the path.
pub fn damaged(path: &Path, damage: &str, shape: &[usize]) {
    let zeros =
        |shape: &[usize]| file(&of(shape, vec![Complex::new(0.0, 0.0); shape.iter().product()]), DTYPES[0], false);
    let bytes = match damage {
        "missing" => return,
        "directory" => return std::fs::create_dir(path).expect("a directory"),
        "empty" => Vec::new(),
        "text" => b"1.0, 2.0\n".to_vec(),
        "rank" => zeros(&[shape, &[1, 2]].concat()),
        _ => {
            let mut bytes = zeros(&[shape, &[3]].concat());
            bytes.truncate(bytes.len() - 2);
            // An array without elements cannot be too short.
            if shape.contains(&0) { b"\x93NUM".to_vec() } else { bytes }
        }
    };
    std::fs::write(path, bytes).expect("a damaged file");
}

/// Contents of a file of zeros with an element type that the program must convert or reject. `descr` ends with the
/// number of bytes per element.
pub fn foreign(descr: &str, shape: &[usize]) -> Vec<u8> {
    let size: usize = descr[2..].parse().expect("a type ends in its bytes");
    let mut bytes = header(descr, shape, false);
    bytes.resize(bytes.len() + size * shape.iter().product::<usize>(), 0);
    bytes
}

/// The type, the shape and the numbers (in C order) in a file.
pub type Contents = (Dtype, Vec<usize>, Vec<Complex<f64>>);

/// Reads a file that the program wrote. Its element type must be one of [`DTYPES`].
///
/// # Errors
/// If the file does not have the form that NumPy writes.
pub fn read(path: &Path) -> Result<Contents, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = bytes.get(10..).and_then(|rest| rest.split(|byte| *byte == b'\n').next()).unwrap_or_default();
    let (start, text) = (10 + text.len() + 1, String::from_utf8_lossy(text).into_owned());
    let dtype = DTYPES.into_iter().find(|dtype| text.contains(&format!("'{}'", dtype.descr())));
    let inside = text.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
    let (Some(dtype), Some((inside, _)), true) = (dtype, inside, bytes.starts_with(b"\x93NUMPY\x01\x00")) else {
        return Err(format!("{} has the header {text:?}", path.display()));
    };
    let extents = inside.split(',').map(str::trim).filter(|extent| !extent.is_empty()).map(str::parse);
    let shape: Vec<usize> = extents.collect::<Result<_, _>>().map_err(|error| format!("({inside}): {error}"))?;
    let data = &bytes[start.min(bytes.len())..];
    if text.contains("True")
        || start % 64 != 0
        || data.len() != shape.iter().product::<usize>() * dtype.part * dtype.parts()
    {
        return Err(format!("{} has {} bytes behind the header {text:?}", path.display(), data.len()));
    }
    let parts: Vec<f64> = if single(dtype) {
        data.as_chunks::<4>().0.iter().map(|part| f64::from(f32::from_le_bytes(*part))).collect()
    } else {
        data.as_chunks::<8>().0.iter().map(|part| f64::from_le_bytes(*part)).collect()
    };
    let values = if dtype.complex {
        parts.as_chunks::<2>().0.iter().map(|[re, im]| Complex::new(*re, *im)).collect()
    } else {
        parts.iter().map(|re| Complex::new(*re, 0.0)).collect()
    };
    Ok((dtype, shape, values))
}
