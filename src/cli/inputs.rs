//! What the run starts from: the text of the expression and the headers of files.
//!
//! Deliberately absent: the data; every rank reads its own blocks when the plan has said which.

use std::io::Read;
use std::path::{Path, PathBuf};

use einsum_dist::dtype::Dtype;
use einsum_dist::io::npy::{NpyHeader, read_header};
use einsum_dist::{Error, Result, World};

use super::args::Args;

/// The text of the expression: as typed, of a file (`@FILE`), or of standard input (`-`). Collective: a launcher gives
/// its standard input to rank 0 only.
///
/// # Errors
/// The file cannot be read.
pub fn expression(world: &World, typed: &str) -> Result<String> {
    let from_file = typed == "-" || typed.starts_with('@');
    if !from_file {
        return Ok(typed.to_owned());
    }
    let text = if world.is_root() { read_text(typed) } else { Ok(String::new()) };
    let text = world.agree(text)?;
    let all = world.all_gather(text.as_bytes())?;
    Ok(all.first().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default())
}

fn read_text(typed: &str) -> Result<String> {
    if typed == "@" {
        return Err(Error::Usage("`@` needs the name of a file behind it".to_owned()));
    }
    let mut bytes = Vec::new();
    let (name, read) = match typed.strip_prefix('@') {
        Some(path) => (path, std::fs::read(path).map(|read| bytes = read)),
        None => ("standard input", std::io::stdin().lock().read_to_end(&mut bytes).map(drop)),
    };
    read.map_err(|error| Error::Usage(format!("cannot read the expression from {name}: {error}")))?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Error::Usage(format!("the expression in {name} is not UTF-8 text")))?;
    // Some editors put a byte order mark before a text.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).trim_end().to_owned())
}

/// The headers of all files that are read, on this rank.
#[derive(Debug)]
pub struct Headers {
    pub operands: Vec<NpyHeader>,
    pub accumulate: Option<NpyHeader>,
}

/// Reads the headers.
///
/// # Errors
/// The first file that is missing or damaged.
pub fn headers(args: &Args) -> Result<Headers> {
    let read = |path: &PathBuf| -> Result<NpyHeader> { Ok(read_header(path)?) };
    let operands = args.operands.iter().map(read).collect::<Result<_>>()?;
    let accumulate = args.accumulate.as_ref().map(read).transpose()?;
    Ok(Headers { operands, accumulate })
}

/// The element type of the run: files decide for themselves, `--dtype` for random operands.
///
/// # Errors
/// An unknown type, or an array to accumulate onto that would lose digits.
pub fn dtype(args: &Args, headers: &Headers) -> Result<Dtype> {
    let asked = args.dtype.as_deref().map(parse_dtype).transpose()?;
    let promoted = headers.operands.iter().map(|header| header.dtype).reduce(Dtype::promote);
    let dtype = promoted.or(asked).unwrap_or(Dtype::Float32);
    match (&args.accumulate, &headers.accumulate) {
        (Some(path), Some(header)) if header.dtype.promote(dtype) != dtype => Err(Error::Usage(format!(
            "{} holds {}, which does not fit the result's {dtype}{}",
            Path::display(path),
            header.dtype,
            if promoted.is_none() { format!("; try --dtype {}", header.dtype.promote(dtype)) } else { String::new() }
        ))),
        _ => Ok(dtype),
    }
}

fn parse_dtype(text: &str) -> Result<Dtype> {
    match text {
        "float32" | "f32" => Ok(Dtype::Float32),
        "float64" | "f64" => Ok(Dtype::Float64),
        "complex64" | "c64" => Ok(Dtype::Complex64),
        "complex128" | "c128" => Ok(Dtype::Complex128),
        _ => Err(Error::Usage(format!(
            "--dtype: unknown type `{text}` (known: float32, float64, complex64, complex128, or f32, f64, c64, c128)"
        ))),
    }
}
