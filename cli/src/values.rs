//! Parses flags' values. Error messages name the flag, the value and the allowed values.
//!
//! A flag consumes the next argument even if it begins with a hyphen, so that `-5` or another flag is refused as a
//! value.

use std::ffi::OsStr;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};
use clap_complete::Shell;
use einsum_dist::machine::MAX_RANKS;
use einsum_dist::plan::Noise;

/// Maximum timed and untimed runs. More are assumed to be a mistake.
const MAX_RUNS: u32 = 1_000_000_000;

const END_CHARACTERS: usize = 40;

#[derive(Clone)]
pub struct Reader<T> {
    read: fn(&OsStr) -> Result<T, String>,
    known: fn() -> Vec<PossibleValue>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Reader<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let bytes = value.as_encoded_bytes();
        let like_a_flag = matches!(bytes, [b'-', next, ..] if !next.is_ascii_digit() && *next != b'.' && *next != b'>');
        let read = if bytes.iter().all(u8::is_ascii_whitespace) {
            Err("the value is empty".to_owned())
        } else if like_a_flag {
            Err("it looks like a flag; is the value missing?".to_owned())
        } else {
            (self.read)(value)
        };
        read.map_err(|why| {
            let flag = flag.map(Arg::to_string).unwrap_or_default();
            let message = format!("invalid value '{}' for '{flag}': {why}", shortened(&value.to_string_lossy()));
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let known = (self.known)();
        if known.is_empty() { None } else { Some(Box::new(known.into_iter())) }
    }
}

fn reader<T>(read: fn(&OsStr) -> Result<T, String>) -> Reader<T> {
    Reader { read, known: Vec::new }
}

pub fn text() -> Reader<String> {
    reader(|value| Ok(utf8(value)?.to_owned()))
}

pub fn file() -> Reader<PathBuf> {
    reader(|value| match value.as_encoded_bytes() {
        // `paths` refuses `-` later.
        [b'-'] => Ok(PathBuf::from(value)),
        // `args` puts a space before an arrow, which may begin an expression.
        [b'-', ..] | [b' ', b'-', b'>', ..] => {
            Err("a file whose name begins with a hyphen is written ./-name".to_owned())
        }
        _ => Ok(PathBuf::from(value)),
    })
}

/// Parses a number of ranks or workers, with the upper limit checked later.
pub fn count() -> Reader<NonZero<usize>> {
    reader(|value| {
        let count = usize::try_from(whole(value, 1..=u64::MAX)?).ok().and_then(NonZero::new);
        count.ok_or_else(|| "no machine counts that far".to_owned())
    })
}

pub fn repeat() -> Reader<NonZero<u32>> {
    reader(|value| {
        let runs = whole(value, 1..=u64::from(MAX_RUNS))?;
        NonZero::new(runs as u32).ok_or_else(|| "there is at least one run".to_owned())
    })
}

pub fn warmup() -> Reader<u32> {
    reader(|value| Ok(whole(value, 0..=u64::from(MAX_RUNS))? as u32))
}

pub fn seed() -> Reader<u64> {
    reader(|value| whole(value, 0..=u64::MAX))
}

pub fn seconds() -> Reader<f64> {
    reader(|value| {
        let seconds = utf8(value)?.parse().ok().filter(|seconds| (1e-3..=1e9).contains(seconds));
        seconds.ok_or_else(|| "expected seconds, at least 0.001 and at most 1e9".to_owned())
    })
}

/// Distinct numbers of ranks, ascending.
#[derive(Debug, Clone)]
pub struct RankCounts(pub Vec<usize>);

/// Parses numbers and ranges, which have their ends and the powers of two between them.
pub fn rank_counts() -> Reader<RankCounts> {
    reader(|value| {
        let mut counts = Vec::new();
        for item in utf8(value)?.split(',') {
            let (first, last) = item.split_once("..").unwrap_or((item, item));
            let whole = |text: &str| whole(OsStr::new(text.trim()), 1..=MAX_RANKS as u64).map(|count| count as usize);
            let [first, last] = [whole(first)?, whole(last)?];
            if first > last {
                return Err(format!("the range {first}..{last} is empty; the smaller number comes first"));
            }
            let between = (0..usize::BITS).map(|power| 1 << power).filter(|count| (first..last).contains(count));
            counts.extend([first, last].into_iter().chain(between));
        }
        counts.sort_unstable();
        counts.dedup();
        Ok(RankCounts(counts))
    })
}

pub fn noise() -> Reader<Noise> {
    reader(|value| {
        let (mean, seed) = utf8(value)?.split_once(',').unwrap_or((utf8(value)?, "0"));
        let mean = mean.trim().parse().ok().filter(|mean| (0.0..=1e3).contains(mean));
        let mean = mean.ok_or("expected a mean delay relative to a task's time, such as 0.05, and at most 1000")?;
        Ok(Noise { mean, seed: whole(OsStr::new(seed.trim()), 0..=u64::MAX)? })
    })
}

pub fn shell() -> Reader<Shell> {
    let known = || Shell::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
    let read = |value: &OsStr| {
        Shell::from_str(utf8(value)?, true).map_err(|_| {
            let names: Vec<String> = Shell::value_variants().iter().map(Shell::to_string).collect();
            format!("no such shell is known (known: {})", names.join(", "))
        })
    };
    Reader { read, known }
}

fn utf8(value: &OsStr) -> Result<&str, String> {
    value.to_str().ok_or_else(|| "it is no UTF-8 text".to_owned())
}

fn whole(value: &OsStr, range: RangeInclusive<u64>) -> Result<u64, String> {
    let text = utf8(value)?;
    let (least, most) = (range.start(), range.end());
    match text.parse::<u64>() {
        Ok(_) if text.starts_with('+') => Err(format!("expected a whole number from {least} to {most}")),
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(number) if number < *least => Err(format!("number too small, it may be {least} to {most}")),
        // Digits that do not fit 64 bits are too large, not malformed.
        Err(_) if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("expected a whole number from {least} to {most}"))
        }
        Ok(_) | Err(_) => Err(format!("number too large, it may be {least} to {most}")),
    }
}

/// The text on one line, shortened if long.
pub fn shortened(text: &str) -> String {
    let shown = |part: &mut dyn Iterator<Item = char>| -> String {
        part.map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
    };
    let count = text.chars().count();
    if count <= 2 * END_CHARACTERS {
        return shown(&mut text.chars());
    }
    let (head, tail) =
        (shown(&mut text.chars().take(END_CHARACTERS)), shown(&mut text.chars().skip(count - END_CHARACTERS)));
    format!("{head}...{tail}")
}

#[cfg(test)]
mod tests;
