//! The header of an `.npy` file: read, checked against the file's length, written.
//!
//! npyz parses the dictionary, but multiplies extents without a check and allocates whatever length a damaged file
//! claims; what it is given is therefore bounded first.

use super::NpyError;
use crate::dtype::Dtype;
use npyz::{DType, Endianness, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

/// Longer than any header of plain numbers; bounds the memory that a damaged length can ask for.
const MAX_TEXT: usize = 1 << 16;

/// Deeper than any header nests; bounds the parser's recursion on a damaged one.
const MAX_DEPTH: usize = 64;

/// What an `.npy` file says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// The first dimension is the contiguous one.
    pub fortran: bool,
    /// Where the first element begins, in bytes from the start of the file.
    pub data_offset: u64,
}

impl NpyHeader {
    /// Bytes of the whole file, or nothing where no file can be that long.
    pub fn file_bytes(&self) -> Option<u64> {
        let shape: Vec<u64> = self.shape.iter().map(|&n| n as u64).collect();
        let end = self.data_offset.checked_add(data_bytes(&shape, self.dtype.size() as u64)?)?;
        i64::try_from(end).is_ok().then_some(end)
    }

    pub(super) fn too_large(&self, path: &Path) -> NpyError {
        NpyError::TooLarge {
            path: path.to_path_buf(),
            dtype: self.dtype.to_string(),
            shape: self.shape.iter().map(|&n| n as u64).collect(),
        }
    }
}

/// Reads and checks the header: the element type is one of [`Dtype`], and the file is as long as its shape needs.
pub fn read_header(path: &Path) -> Result<NpyHeader, NpyError> {
    let found = fs::metadata(path).map_err(NpyError::io(path, "open"))?;
    // A directory opens but does not read, and opening a pipe would wait for its writer.
    if found.is_dir() {
        return Err(NpyError::IsDirectory { path: path.to_path_buf() });
    }
    if !found.is_file() {
        return Err(NpyError::NotRegular { path: path.to_path_buf() });
    }
    let mut file = File::open(path).map_err(NpyError::io(path, "open"))?;
    let raw = read_raw(path, &mut file, found.len())?;
    let parsed = npyz::NpyHeader::from_reader(&raw[..]).map_err(|e| damaged(path, in_one_line(&e)))?;
    let dtype = accept(path, &parsed.dtype())?;
    let shape = parsed.shape().iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>();
    let too_large =
        || NpyError::TooLarge { path: path.to_path_buf(), dtype: dtype.to_string(), shape: parsed.shape().to_vec() };
    let header = NpyHeader {
        dtype,
        shape: shape.map_err(|_| too_large())?,
        fortran: parsed.order() == Order::Fortran,
        data_offset: raw.len() as u64,
    };
    let expected = header.file_bytes().ok_or_else(too_large)?;
    if found.len() < expected {
        return Err(NpyError::Truncated { path: path.to_path_buf(), expected, found: found.len() });
    }
    Ok(header)
}

/// Creates or empties the file, writes the header of a C-order array and extends the file to its final length. The
/// elements are zero until they are written.
pub fn create(path: &Path, dtype: Dtype, shape: &[usize]) -> Result<NpyHeader, NpyError> {
    let (text, header) = compose(path, dtype, shape)?;
    let file = File::create(path).map_err(NpyError::io(path, "create"))?;
    lay_out(path, &file, &text, &header)?;
    Ok(header)
}

/// The bytes before the first element, and what they say.
pub(super) fn compose(path: &Path, dtype: Dtype, shape: &[usize]) -> Result<(Vec<u8>, NpyHeader), NpyError> {
    let mut header = NpyHeader { dtype, shape: shape.to_vec(), fortran: false, data_offset: 0 };
    header.file_bytes().ok_or_else(|| header.too_large(path))?;
    let descr = match dtype {
        Dtype::Float32 => "<f4",
        Dtype::Float64 => "<f8",
        Dtype::Complex64 => "<c8",
        Dtype::Complex128 => "<c16",
    };
    let descr: TypeStr = descr.parse().expect("each of the four above is a type string");
    let extents: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut text = Vec::new();
    WriteOptions::new_header_only()
        .dtype(DType::Plain(descr))
        .shape(&extents)
        .writer(&mut text)
        .write_header_only()
        .map_err(NpyError::io(path, "write the header"))?;
    header.data_offset = text.len() as u64;
    header.file_bytes().ok_or_else(|| header.too_large(path))?;
    Ok((text, header))
}

/// Gives an empty file its header and its final length.
pub(super) fn lay_out(path: &Path, mut file: &File, text: &[u8], header: &NpyHeader) -> Result<(), NpyError> {
    let bytes = header.file_bytes().ok_or_else(|| header.too_large(path))?;
    file.write_all(text).map_err(NpyError::io(path, "write the header"))?;
    file.set_len(bytes).map_err(NpyError::io(path, "reserve its space"))
}

/// The bytes before the first element, safe to hand to npyz.
fn read_raw(path: &Path, file: &mut File, length: u64) -> Result<Vec<u8>, NpyError> {
    let mut raw = Vec::new();
    file.take(12).read_to_end(&mut raw).map_err(NpyError::io(path, "read"))?;
    if raw.starts_with(b"PK\x03\x04") {
        return Err(NpyError::IsArchive { path: path.to_path_buf() });
    }
    if !raw.starts_with(b"\x93NUMPY") {
        return Err(NpyError::NotNpy { path: path.to_path_buf() });
    }
    let truncated = |expected| NpyError::Truncated { path: path.to_path_buf(), expected, found: length };
    if raw.len() < 12 {
        return Err(truncated(12));
    }
    let (prefix, text) = match (raw[6], raw[7]) {
        (1, 0) => (10, usize::from(u16::from_le_bytes([raw[8], raw[9]]))),
        (2 | 3, 0) => (12, u32::from_le_bytes([raw[8], raw[9], raw[10], raw[11]]) as usize),
        (major, minor) => return Err(NpyError::Version { path: path.to_path_buf(), major, minor }),
    };
    if text > MAX_TEXT {
        return Err(damaged(path, format!("it claims to be {text} bytes long")));
    }
    let total = prefix + text;
    if length < total as u64 {
        return Err(truncated(total as u64));
    }
    let rest = total.saturating_sub(raw.len()) as u64;
    file.take(rest).read_to_end(&mut raw).map_err(NpyError::io(path, "read"))?;
    if raw.len() < total {
        return Err(truncated(total as u64));
    }
    raw.truncate(total);
    bound(path, &String::from_utf8_lossy(&raw[prefix..]))?;
    Ok(raw)
}

/// Refuses nesting that would exhaust the parser's stack and extents whose product npyz would overflow.
fn bound(path: &Path, text: &str) -> Result<(), NpyError> {
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(damaged(path, "it nests too deeply".into()));
        }
    }
    // A structured array may have a field of this name, but only the key of the dictionary is followed by a colon.
    for quoted in ["'shape'", "\"shape\""] {
        for (at, _) in text.match_indices(quoted) {
            let Some(value) = text[at + quoted.len()..].trim_start().strip_prefix(':') else { continue };
            let inner = value.trim_start().strip_prefix(['(', '[']).and_then(|v| v.split([')', ']']).next());
            let extents = inner.map(|v| v.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::parse::<u64>));
            let Some(Ok(extents)) = extents.map(Iterator::collect::<Result<Vec<_>, _>>) else {
                return Err(damaged(path, "its shape is not a tuple of extents".into()));
            };
            if data_bytes(&extents, 1).is_none() {
                return Err(NpyError::TooLarge { path: path.to_path_buf(), dtype: "an array".into(), shape: extents });
            }
        }
    }
    Ok(())
}

/// Bytes of the elements. Like NumPy's own check, an extent of 0 does not hide an overflow of the others: strides must
/// be representable too.
fn data_bytes(shape: &[u64], size: u64) -> Option<u64> {
    let bytes = shape.iter().filter(|&&n| n > 0).try_fold(size, |product, &n| product.checked_mul(n))?;
    Some(if shape.contains(&0) { 0 } else { bytes })
}

/// The element type, where it is one of ours.
fn accept(path: &Path, dtype: &DType) -> Result<Dtype, NpyError> {
    let plain = match dtype {
        DType::Plain(plain) => plain,
        DType::Record(fields) => {
            let field = fields.first().map_or("0".into(), |f| format!("\"{}\"", f.name));
            return Err(NpyError::Structured { path: path.to_path_buf(), field });
        }
        DType::Array(..) => {
            return Err(NpyError::NotNumbers { path: path.to_path_buf(), found: "arrays as elements".into() });
        }
    };
    let bits = plain.size_field().saturating_mul(8);
    let (name, to) = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Float, 4) => ("float32".into(), Dtype::Float32),
        (TypeChar::Float, 8) => ("float64".into(), Dtype::Float64),
        (TypeChar::Complex, 8) => ("complex64".into(), Dtype::Complex64),
        (TypeChar::Complex, 16) => ("complex128".into(), Dtype::Complex128),
        (TypeChar::Float, 2) => ("float16".into(), Dtype::Float32),
        (TypeChar::Float, _) => (format!("float{bits}"), Dtype::Float64),
        (TypeChar::Complex, _) => (format!("complex{bits}"), Dtype::Complex128),
        (TypeChar::Bool, _) => ("bool".into(), Dtype::Float64),
        (TypeChar::Int, _) => (format!("int{bits}"), Dtype::Float64),
        (TypeChar::Uint, _) => (format!("uint{bits}"), Dtype::Float64),
        (other, _) => {
            let what = match other {
                TypeChar::TimeDelta | TypeChar::DateTime => "dates or times",
                TypeChar::ByteStr | TypeChar::UnicodeStr => "strings",
                TypeChar::Object => "Python objects",
                _ => "raw bytes",
            };
            return Err(NpyError::NotNumbers { path: path.to_path_buf(), found: format!("{what} ({plain})") });
        }
    };
    let big = plain.endianness() == Endianness::Big;
    if !big && name == to.name() {
        return Ok(to);
    }
    let found = if big { format!("big-endian {name}") } else { name };
    Err(NpyError::Convert { path: path.to_path_buf(), found, to })
}

/// npyz's complaint; the parser's drawing of the place would show a text that the user has never seen.
fn in_one_line(error: &std::io::Error) -> String {
    let text = error.to_string();
    if text.contains('\n') { "it is not a Python dictionary".into() } else { text }
}

fn damaged(path: &Path, problem: String) -> NpyError {
    NpyError::Header { path: path.to_path_buf(), problem }
}
