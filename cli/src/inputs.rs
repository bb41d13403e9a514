//! Reads the expression and the headers of input files; every rank reads its own blocks later.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use einsum_dist::dtype::Dtype;
use einsum_dist::io::npy::{NpyHeader, read_header};
use einsum_dist::io::output::{display_path, without_code};
use einsum_dist::{Error, Result, World};

use super::args::Args;

/// Enough for a million operands with dozens of labels.
const MAX_EXPRESSION_MIB: u64 = 64;

/// The expression, from the command line, a file (`@FILE`) or standard input (`-`). Collective, because only rank 0 has
/// standard input.
pub fn expression(world: &World, typed: &str) -> Result<String> {
    if typed == "-" { shared(world, typed, "the expression") } else { text(world, typed, "the expression") }
}

/// Text of the command line, or of a file for `@FILE`; errors call it `what`. Collective.
pub fn text(world: &World, typed: &str, what: &str) -> Result<String> {
    if typed.starts_with('@') { shared(world, typed, what) } else { Ok(typed.to_owned()) }
}

fn shared(world: &World, typed: &str, what: &str) -> Result<String> {
    let text = if world.is_root() { read_text(typed, what) } else { Ok(String::new()) };
    let text = world.agree(text)?;
    let all = world.all_gather(text.as_bytes())?;
    Ok(all.first().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default())
}

fn read_text(typed: &str, what: &str) -> Result<String> {
    if typed == "@" {
        return Err(Error::Usage("`@` needs the name of a file behind it".to_owned()));
    }
    let (name, text) = match typed.strip_prefix('@') {
        Some(path) => (display_path(Path::new(path)).to_string(), text_of(Path::new(path), MAX_EXPRESSION_MIB)),
        None => ("standard input".to_owned(), text_from(std::io::stdin().lock(), MAX_EXPRESSION_MIB)),
    };
    let text = text.map_err(|why| Error::Usage(format!("cannot read {what} from {name}: {why}")))?;
    Ok(text.trim_end().to_owned())
}

/// Reads a text file of at most `most` MiB. Blocks on a pipe whose writer has not finished.
///
/// # Errors
/// If the file cannot be read, with a reason that can follow its name.
pub fn text_of(path: &Path, most: u64) -> std::result::Result<String, String> {
    text_from(File::open(path).map_err(|error| without_code(&error))?, most)
}

fn text_from(file: impl Read, most: u64) -> std::result::Result<String, String> {
    let mut bytes = Vec::new();
    file.take((most << 20) + 1).read_to_end(&mut bytes).map_err(|error| without_code(&error))?;
    if bytes.len() as u64 > most << 20 {
        return Err(format!("it is longer than {most} MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    // Some editors write a byte order mark.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[derive(Debug)]
pub struct Headers {
    pub operands: Vec<NpyHeader>,
    pub accumulate: Option<NpyHeader>,
}

pub fn headers(args: &Args) -> Result<Headers> {
    let read = |path: &PathBuf| -> Result<NpyHeader> { Ok(read_header(path)?) };
    let operands = args.operands.iter().map(read).collect::<Result<_>>()?;
    let accumulate = args.accumulate.as_ref().map(read).transpose()?;
    Ok(Headers { operands, accumulate })
}

/// The files' promoted type or, for random operands, `--dtype`.
///
/// # Errors
/// If the type is unknown, or cannot represent the array of `--accumulate` without loss.
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

#[cfg(test)]
mod tests;
