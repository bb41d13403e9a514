//! Parses element types as NumPy spells them, such as `<f8`, `=f8`, `f8`, `d` and `float64`.
//!
//! Guarantee: NumPy 2's `dtype()` returns the same for every accepted spelling. Fields, subarrays and unusual spellings
//! such as `1f8` give `None`, like those that NumPy rejects.

use crate::dtype::Dtype;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Elements {
    Supported(Dtype),
    /// Numbers of an unsupported type or byte order.
    Other {
        name: String,
        /// The supported type to which NumPy can convert them.
        to: Dtype,
        loss: Option<&'static str>,
    },
    /// The text names their kind, for example strings.
    NotNumbers(&'static str),
}

const LARGE_INTEGERS_ROUNDED: &str = "whole numbers beyond 2^53 are rounded";
const EXTENDED_DIGITS_LOST: &str = "digits beyond double precision are lost";

impl Elements {
    pub fn parse(text: &str) -> Option<Elements> {
        let (order, rest) = match text.chars().next()? {
            order @ ('<' | '>' | '=' | '|') => (Some(order), &text[1..]),
            _ => (None, text),
        };
        let (letter, size) = letter_and_size(rest).or_else(|| order.is_none().then(|| word(rest)).flatten())?;
        let swapped = match order {
            Some('>') => cfg!(target_endian = "little"),
            Some('<') => cfg!(target_endian = "big"),
            _ => false,
        };
        Elements::of(letter, size, swapped && size > 1)
    }

    fn of(letter: char, size: u64, swapped: bool) -> Option<Elements> {
        let bits = size.saturating_mul(8);
        let (name, to, loss) = match (letter, size) {
            ('f', 4) => ("float32".into(), Dtype::Float32, None),
            ('f', 8) => ("float64".into(), Dtype::Float64, None),
            ('c', 8) => ("complex64".into(), Dtype::Complex64, None),
            ('c', 16) => ("complex128".into(), Dtype::Complex128, None),
            ('f', 2) => ("float16".into(), Dtype::Float32, None),
            ('f', 16) => ("float128".into(), Dtype::Float64, Some(EXTENDED_DIGITS_LOST)),
            ('c', 32) => ("complex256".into(), Dtype::Complex128, Some(EXTENDED_DIGITS_LOST)),
            ('b', 1) => ("bool".into(), Dtype::Float64, None),
            ('i', 1 | 2 | 4) => (format!("int{bits}"), Dtype::Float64, None),
            ('u', 1 | 2 | 4) => (format!("uint{bits}"), Dtype::Float64, None),
            ('i', 8) => ("int64".into(), Dtype::Float64, Some(LARGE_INTEGERS_ROUNDED)),
            ('u', 8) => ("uint64".into(), Dtype::Float64, Some(LARGE_INTEGERS_ROUNDED)),
            ('m' | 'M', 8) => return Some(Elements::NotNumbers("dates or times")),
            ('S' | 'U' | 'a', _) => return Some(Elements::NotNumbers("strings")),
            ('O', _) => return Some(Elements::NotNumbers("Python objects")),
            ('V', _) => return Some(Elements::NotNumbers("raw bytes")),
            _ => return None,
        };
        if !swapped && name == to.name() {
            return Some(Elements::Supported(to));
        }
        let foreign = if cfg!(target_endian = "little") { "big-endian " } else { "little-endian " };
        Some(Elements::Other { name: if swapped { format!("{foreign}{name}") } else { name }, to, loss })
    }
}

fn letter_and_size(text: &str) -> Option<(char, u64)> {
    let mut chars = text.chars();
    let letter = chars.next()?;
    let rest = chars.as_str();
    if rest.is_empty() {
        return spelt(|row| row.2.contains(letter));
    }
    if !matches!(letter, 'f' | 'c' | 'b' | 'i' | 'u' | 'm' | 'M' | 'S' | 'U' | 'a' | 'O' | 'V') {
        return None;
    }
    // Removes the unit of a date or time, such as `[ns]` in `M8[ns]`.
    let digits = match rest.split_once('[') {
        Some((digits, unit)) if matches!(letter, 'm' | 'M') && unit.ends_with(']') => digits,
        _ => rest,
    };
    let size = digits.chars().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())??;
    Some((letter, size))
}

fn word(text: &str) -> Option<(char, u64)> {
    // NumPy's own types with these names end in an underscore.
    const PYTHON_TYPES: [&str; 5] = ["bool", "int", "str", "bytes", "object"];
    let text = text.strip_suffix('_').filter(|name| PYTHON_TYPES.contains(name)).unwrap_or(text);
    spelt(|row| row.3.split_whitespace().any(|name| name == text)).or_else(|| {
        let names = [("complex", 'c'), ("float", 'f'), ("uint", 'u'), ("int", 'i')];
        let (letter, bits) = names.into_iter().find_map(|(name, letter)| Some((letter, text.strip_prefix(name)?)))?;
        let plain = bits.bytes().all(|c| c.is_ascii_digit()) && !bits.starts_with('0');
        let bits: u64 = bits.parse().ok().filter(|bits| plain && bits % 8 == 0)?;
        Some((letter, bits / 8))
    })
}

type Row = (char, u64, &'static str, &'static str);

/// A letter with a size in bytes, and other letters and names for the same.
const SPELLINGS: &[Row] = &[
    ('f', 2, "e", "half"),
    ('f', 4, "f", "single"),
    ('f', 8, "d", "double float"),
    ('f', 16, "g", "longdouble"),
    ('c', 8, "F", "csingle"),
    ('c', 16, "D", "cdouble complex"),
    ('c', 32, "G", "clongdouble"),
    ('b', 1, "?", "bool"),
    ('i', 1, "b", "byte"),
    ('u', 1, "B", "ubyte"),
    ('i', 2, "h", "short"),
    ('u', 2, "H", "ushort"),
    ('i', 4, "i", "intc"),
    ('u', 4, "I", "uintc"),
    ('i', 8, "lqpn", "int intp long longlong"),
    ('u', 8, "LQPN", "uint uintp ulong ulonglong"),
    ('O', 0, "O", "object"),
    ('S', 0, "S", "bytes"),
    ('S', 1, "c", ""),
    ('U', 0, "U", "str"),
    ('V', 0, "V", "void"),
    ('a', 0, "a", ""),
    ('M', 8, "", "datetime64"),
    ('m', 8, "", "timedelta64"),
];

fn spelt(is: impl Fn(&Row) -> bool) -> Option<(char, u64)> {
    SPELLINGS.iter().find(|row| is(row)).map(|row| (row.0, row.1))
}

#[cfg(test)]
mod tests;
