//! Reads `.npy` headers as NumPy does, checks them against the file's length, and writes them.
//!
//! Guarantees: sizes are checked before memory is allocated, and no message suggests overwriting an existing file.

use super::NpyError;
use super::descr::Elements;
use super::literal::Literal;
use crate::dtype::Dtype;
use crate::io::output::FileError;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Before the text in version 1.
const PREFIX: usize = 10;

/// Against damaged length fields; NumPy's default is 10,000.
const MAX_TEXT: usize = 1 << 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// Whether the first dimension is contiguous.
    pub fortran: bool,
    /// Bytes from the start of the file to the first element.
    pub data_offset: u64,
}

impl NpyHeader {
    /// Bytes in the whole file, or `None` if no file can be that large.
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

/// Reads the header; checks the element type and the file's length.
///
/// # Errors
/// If `path` is not a regular file, or if NumPy would not read it as an array of a type in [`Dtype`].
pub fn read_header(path: &Path) -> Result<NpyHeader, NpyError> {
    let found = fs::metadata(path).map_err(NpyError::io(path, "open"))?;
    // A directory can be opened but not read, and opening a pipe would block.
    if found.is_dir() {
        return Err(FileError::IsDirectory { path: path.to_path_buf() }.into());
    }
    if !found.is_file() {
        return Err(FileError::NotRegular { path: path.to_path_buf() }.into());
    }
    read_header_from(path, File::open(path).map_err(NpyError::io(path, "open"))?, found.len())
}

/// `path` is for messages. Cost: O(length of the header), which is bounded.
///
/// # Errors
/// Those of [`read_header`].
pub fn read_header_from(path: &Path, file: impl Read, length: u64) -> Result<NpyHeader, NpyError> {
    let (text, data_offset) = read_text(path, file, length)?;
    let Dictionary { descr, fortran, shape } = Dictionary::of(&text).map_err(|problem| damaged(path, problem))?;
    let too_large =
        |dtype: &str| NpyError::TooLarge { path: path.to_path_buf(), dtype: dtype.to_owned(), shape: shape.clone() };
    data_bytes(&shape, 1).ok_or_else(|| too_large("an array"))?;
    let dtype = accept(path, &descr)?;
    let extents = shape.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>();
    let shape = extents.map_err(|_| too_large(dtype.name()))?;
    let header = NpyHeader { dtype, shape, fortran, data_offset };
    let expected = header.file_bytes().ok_or_else(|| header.too_large(path))?;
    if length < expected {
        return Err(NpyError::Truncated { path: path.to_path_buf(), expected, found: length });
    }
    Ok(header)
}

/// Creates or truncates the file, with a C-order header and zeros.
pub fn create(path: &Path, dtype: Dtype, shape: &[usize]) -> Result<NpyHeader, NpyError> {
    let (text, header) = compose(path, dtype, shape)?;
    let file = File::create(path).map_err(NpyError::io(path, "create"))?;
    lay_out(path, &file, &text, &header)?;
    Ok(header)
}

pub(super) fn compose(path: &Path, dtype: Dtype, shape: &[usize]) -> Result<(Vec<u8>, NpyHeader), NpyError> {
    let mut header = NpyHeader { dtype, shape: shape.to_vec(), fortran: false, data_offset: 0 };
    header.file_bytes().ok_or_else(|| header.too_large(path))?;
    let descr = match dtype {
        Dtype::Float32 => "<f4",
        Dtype::Float64 => "<f8",
        Dtype::Complex64 => "<c8",
        Dtype::Complex128 => "<c16",
    };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    // Makes the offset of the first element a multiple of 64.
    let offset = (PREFIX + dictionary.len() + 1).next_multiple_of(64);
    let bytes = u16::try_from(offset - PREFIX).map_err(|_| header.too_large(path))?;
    let mut text = b"\x93NUMPY\x01\x00".to_vec();
    text.extend(bytes.to_le_bytes());
    text.extend(format!("{dictionary:<width$}\n", width = offset - PREFIX - 1).bytes());
    header.data_offset = text.len() as u64;
    header.file_bytes().ok_or_else(|| header.too_large(path))?;
    Ok((text, header))
}

pub(super) fn lay_out(path: &Path, mut file: &File, text: &[u8], header: &NpyHeader) -> Result<(), NpyError> {
    let bytes = header.file_bytes().ok_or_else(|| header.too_large(path))?;
    file.write_all(text).map_err(NpyError::io(path, "write the header"))?;
    file.set_len(bytes).map_err(NpyError::io(path, "reserve its space"))
}

fn read_text(path: &Path, mut file: impl Read, length: u64) -> Result<(String, u64), NpyError> {
    let mut raw = Vec::new();
    file.by_ref().take(12).read_to_end(&mut raw).map_err(NpyError::io(path, "read"))?;
    if raw.starts_with(b"PK\x03\x04") {
        return Err(NpyError::IsArchive { path: path.to_path_buf(), saved: unused(path, "NAME") });
    }
    if !raw.starts_with(b"\x93NUMPY") {
        return Err(NpyError::NotNpy { path: path.to_path_buf() });
    }
    let truncated = |expected| NpyError::Truncated { path: path.to_path_buf(), expected, found: length };
    if raw.len() < 12 {
        return Err(truncated(12));
    }
    let (prefix, bytes) = match (raw[6], raw[7]) {
        (1, 0) => (PREFIX, usize::from(u16::from_le_bytes([raw[8], raw[9]]))),
        (2 | 3, 0) => (12, u32::from_le_bytes([raw[8], raw[9], raw[10], raw[11]]) as usize),
        (major, minor) => return Err(NpyError::Version { path: path.to_path_buf(), major, minor }),
    };
    if bytes > MAX_TEXT {
        return Err(damaged(path, format!("it claims to be {bytes} bytes long")));
    }
    let total = prefix + bytes;
    if length < total as u64 {
        return Err(truncated(total as u64));
    }
    let rest = total.saturating_sub(raw.len()) as u64;
    file.take(rest).read_to_end(&mut raw).map_err(NpyError::io(path, "read"))?;
    if raw.len() < total {
        return Err(truncated(total as u64));
    }
    // Up to version 2, the text is in Latin-1.
    let text = match raw[6] {
        3 => String::from_utf8(raw[prefix..total].to_vec()).map_err(|_| damaged(path, "it is not UTF-8".into()))?,
        _ => raw[prefix..total].iter().map(|&byte| char::from(byte)).collect(),
    };
    Ok((text, total as u64))
}

struct Dictionary {
    descr: Literal,
    fortran: bool,
    shape: Vec<u64>,
}

impl Dictionary {
    /// Accepts exactly the keys `descr`, `fortran_order` and `shape`, as NumPy does.
    fn of(text: &str) -> Result<Dictionary, String> {
        let Literal::Dict(entries) = Literal::parse(text)? else { return Err("it is not a Python dictionary".into()) };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        for (key, value) in entries {
            match (key, value) {
                (Literal::Text(key), value) if key == "descr" => descr = Some(value),
                (Literal::Text(key), Literal::Bool(value)) if key == "fortran_order" => fortran = Some(value),
                (Literal::Text(key), _) if key == "fortran_order" => {
                    return Err("its fortran_order is neither True nor False".into());
                }
                (Literal::Text(key), Literal::Tuple(extents)) if key == "shape" => {
                    let extents = extents.into_iter().map(|n| if let Literal::Whole(n) = n { n } else { None });
                    shape = Some(extents.collect::<Option<Vec<u64>>>().ok_or(NO_SHAPE)?);
                }
                (Literal::Text(key), _) if key == "shape" => return Err(NO_SHAPE.into()),
                _ => return Err("it has another key than descr, fortran_order and shape".into()),
            }
        }
        let missing = |key: &str| format!("it has no {key}");
        Ok(Dictionary {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }
}

const NO_SHAPE: &str = "its shape is not a tuple of extents";

/// `None` on overflow, as in NumPy even beside an extent of 0, because strides must be representable too.
fn data_bytes(shape: &[u64], size: u64) -> Option<u64> {
    let bytes = shape.iter().filter(|&&n| n > 0).try_fold(size, |product, &n| product.checked_mul(n))?;
    Some(if shape.contains(&0) { 0 } else { bytes })
}

fn accept(path: &Path, descr: &Literal) -> Result<Dtype, NpyError> {
    let not_numbers = |found: String| NpyError::NotNumbers { path: path.to_path_buf(), found };
    let text = match descr {
        Literal::Text(text) => text,
        Literal::List(fields) => return Err(structured(path, fields)),
        Literal::Tuple(_) => return Err(not_numbers("arrays as elements".into())),
        _ => return Err(damaged(path, "its descr is no element type".into())),
    };
    let shown = text.escape_debug();
    match Elements::parse(text) {
        Some(Elements::Supported(dtype)) => Ok(dtype),
        Some(Elements::Other { name, to, loss }) => {
            let (saved, found) = (unused(path, to.name()).into(), name.into());
            Err(NpyError::Convert { path: path.to_path_buf(), found, to, saved, loss })
        }
        Some(Elements::NotNumbers(what)) => Err(not_numbers(format!("{what} ({shown})"))),
        // NumPy also accepts types such as `f8,f8` and `(2,)f8`.
        None if text.contains([',', '(']) => Err(not_numbers(format!("records or arrays as elements ({shown})"))),
        None => Err(damaged(path, format!("its descr `{shown}` is no element type"))),
    }
}

fn structured(path: &Path, fields: &[Literal]) -> NpyError {
    let name = |field: &Literal| match field {
        Literal::Tuple(parts) | Literal::List(parts) => match parts.first()? {
            Literal::Text(name) => Some(name.clone()),
            // A field's name may be a tuple of a title and a name.
            Literal::Tuple(names) => match names.last()? {
                Literal::Text(name) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    match fields.iter().map(name).collect::<Option<Vec<String>>>() {
        Some(fields) if !fields.is_empty() => {
            let saved = unused(path, &fields[0]);
            NpyError::Structured { path: path.to_path_buf(), fields, saved }
        }
        _ => damaged(path, "its descr is no list of fields".into()),
    }
}

fn unused(path: &Path, what: &str) -> PathBuf {
    let mut stem = path.file_stem().unwrap_or_default().to_owned();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    stem.push(format!("-{}", what.chars().map(plain).collect::<String>()));
    let mut names = (1u32..).map(|number| {
        let mut name = stem.clone();
        name.push(if number == 1 { ".npy".to_owned() } else { format!("-{number}.npy") });
        path.with_file_name(name)
    });
    names.find(|name| !name.exists()).unwrap_or_else(|| path.with_extension("converted.npy"))
}

fn damaged(path: &Path, problem: String) -> NpyError {
    NpyError::Header { path: path.to_path_buf(), problem }
}
