//! Parses numbers with units from flags, and formats them for people.

pub use einsum_dist::tree::counted;

/// Parses a number of bytes, such as `512`, `4GiB`, `1.5 GB` or `100k`.
///
/// # Errors
/// If the text is not a number of bytes that fits 64 bits, with the mistake.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    // Exponents are part of the number.
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c: char| !digit(c)).unwrap_or(text.len());
    let exponent = text[end..].strip_prefix(['e', 'E']).map(|rest| rest.strip_prefix('+').unwrap_or(rest));
    let end = match exponent {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let start = text.len() - rest.len();
            start + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
        }
        _ => end,
    };
    let (number, unit) = text.split_at(end);
    let unknown = || format!("`{text}` is no number of bytes (try 500MB or 4GiB)");
    let unit = unit.trim().to_ascii_lowercase();
    let factor: u64 = match unit.strip_suffix('b').unwrap_or(&unit) {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        _ => return Err(unknown()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(|| format!("`{text}` is more than 64 bits hold"));
    }
    let number: f64 = number.parse().map_err(|_| unknown())?;
    let bytes = number * factor as f64;
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(format!("`{text}` is more than 64 bits hold")) }
}

pub fn bytes(bytes: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|&(size, _)| bytes >= size) {
        Some((size, unit)) => format!("{} {unit}", digits(bytes / size)),
        None => format!("{bytes:.0} B"),
    }
}

pub fn seconds(seconds: f64) -> String {
    // Shorter times would be shown as `0.000 ns`.
    if seconds < 5e-13 {
        return "0 s".to_owned();
    }
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let (size, unit) = units.into_iter().find(|&(size, _)| seconds >= size).unwrap_or((1e-9, "ns"));
    format!("{} {unit}", digits(seconds / size))
}

/// Formats numbers from 1 on with at least four digits, and smaller ones with three decimals.
pub fn digits(number: f64) -> String {
    let places = if number >= 1000.0 {
        0
    } else if number >= 100.0 {
        1
    } else if number >= 10.0 {
        2
    } else {
        3
    };
    format!("{number:.places$}")
}

#[cfg(test)]
mod tests;
