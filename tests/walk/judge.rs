//! Checks the rules that every command must obey.
//!
//! | subject | rule |
//! |---|---|
//! | exit | within the time limit and not by a signal; code 0, 1 or 2, but 1 only if `--check` finds overflow or non-finite numbers |
//! | promise | a command that must succeed exits with 0; a command that must be rejected exits with 2 |
//! | standard error | one message that starts with `error` after a failure; otherwise at most warnings; never a panic |
//! | standard output | the result; nothing after a failure, except for the object that `--json` prints |
//! | files | operands are unchanged; only requested files are created, and none after a failure |
//! | numbers | errors are within the bound for the element type and the number of roundings; exactly the expected elements are non-finite |

use std::collections::BTreeMap;
use std::path::Path;

use num_complex::Complex;
use serde_json::Value;

use super::command::{Command, Output};
use super::flags::Outcome;
use super::json;
use super::operands::{self, Numbers, single};

/// Exit code and output of a command.
pub struct Ended {
    /// `None` if a signal killed the command.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub in_time: bool,
}

/// Maps the names of files to their contents. The contents of folders are empty.
pub type Files = BTreeMap<String, Vec<u8>>;

pub fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).expect("the folder of the command");
    let read = entries.map(|entry| entry.expect("an entry").path());
    read.map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read(&path).unwrap_or_default())
    })
    .collect()
}

/// Checks that a command which has ended obeyed all rules. `before` contains the files that existed before it ran.
///
/// # Errors
/// If the command violates a rule. The message describes the first violation.
pub fn judge(command: &Command, ended: &Ended, folder: &Path, before: &Files) -> Result<(), String> {
    if !ended.in_time {
        return Err("it did not end in time".to_owned());
    }
    for panic in ["panicked", "RUST_BACKTRACE", "overflow)", " thread "] {
        if ended.err.contains(panic) {
            return Err(format!("`{panic}` on standard error"));
        }
    }
    let Some(code) = ended.code else { return Err("it ended by a signal".to_owned()) };
    let one = command.checks && command.numbers != Numbers::Plain;
    match (code, command.outcome) {
        (0, Outcome::Works | Outcome::Open) | (2, Outcome::Open | Outcome::Refused) => {}
        (1, Outcome::Works | Outcome::Open) if one => {}
        // Exit code 1 is allowed only with `--check` and operands that are not `Plain`, because sums of plain numbers
        // cannot overflow.
        (code, outcome) => return Err(format!("exit code {code}, where the promise is {outcome:?}")),
    }
    let report = streams(command, ended, code)?;
    left_behind(command, code, folder, before)?;
    match &command.result {
        Some(output) if code == 0 => numbers(command, output, folder, report.as_ref()),
        _ => Ok(()),
    }
}

/// Checks both output streams. Returns the report if one was printed.
fn streams(command: &Command, ended: &Ended, code: i32) -> Result<Option<Value>, String> {
    let messages = ended.err.lines().filter(|line| line.starts_with("error")).count();
    if messages != usize::from(code != 0) {
        return Err(format!("exit code {code} with {messages} messages"));
    }
    if code == 0 && command.launched.is_none() && !command.verbose {
        let other = ended.err.lines().find(|line| !line.starts_with("warning:") && !line.is_empty());
        if let Some(line) = other {
            return Err(format!("`{line}` on standard error of a run that is well"));
        }
    }
    match (code, command.json) {
        (0 | 1, true) => json::report(&ended.out).map(Some),
        (0, false) => Ok(None),
        (_, true) => json::error(&ended.out).map(|()| None),
        (1, false) => Ok(None),
        (_, false) if ended.out.is_empty() => Ok(None),
        (_, false) => Err(format!("exit code {code} with `{}` on standard output", ended.out)),
    }
}

fn left_behind(command: &Command, code: i32, folder: &Path, before: &Files) -> Result<(), String> {
    let after = files(folder);
    // A trace or timeline is written even if `--check` rejects the result.
    let shows = |name: &String| code == 1 && ["t.json", "t.svg"].contains(&name.as_str());
    // An order is worth keeping even if the run with it fails.
    let keeps = |name: &String| ["cache", "p.json"].contains(&name.as_str());
    let is_allowed = |name: &String| (code == 0 || shows(name) || keeps(name)) && command.allowed_files.contains(name);
    let new = after.keys().find(|name| !before.contains_key(*name) && !is_allowed(name));
    let changed = before.iter().find(|(name, bytes)| after.get(*name) != Some(bytes) && !is_allowed(name));
    match (new, changed) {
        (Some(name), _) => Err(format!("exit code {code}, and it left `{name}`")),
        (_, Some((name, _))) => Err(format!("exit code {code}, and `{name}` is not what it was")),
        _ => Ok(()),
    }
}

/// Compares the result file and the norm in the report with the expected result.
fn numbers(command: &Command, output: &Output, folder: &Path, report: Option<&Value>) -> Result<(), String> {
    let expected = &output.expected.array;
    let bound = 2.0 * output.dtype.bound(output.expected.roundings + 8);
    let comparable = command.numbers != Numbers::Huge;
    // An empty sum, which is 0, may be multiplied by infinity or NaN. The order of the steps then decides whether the
    // result is 0 or NaN.
    let undefined = command.numbers == Numbers::Infinite && output.sums_nothing;
    if let Some(report) = report {
        let shape: Vec<u64> =
            report["output"]["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        if shape != expected.shape.iter().map(|&n| n as u64).collect::<Vec<_>>()
            || report["dtype"] != output.dtype.to_string()
        {
            return Err(format!(
                "the report has {} of shape {shape:?}, not {} {:?}",
                report["dtype"], output.dtype, expected.shape
            ));
        }
        if comparable && expected.sizes.iter().all(|size| size.is_finite() && !undefined) {
            let squares = |each: &mut dyn Iterator<Item = f64>| each.map(|x| x * x).sum::<f64>().sqrt();
            let want = squares(&mut expected.values.iter().map(|value| value.norm()));
            let off = squares(&mut expected.sizes.iter().map(|size| size * bound)) + 1e-9 * want + f64::MIN_POSITIVE;
            let got = report["output"]["norm"].as_f64();
            if got.is_none_or(|got| (got - want).abs() > off) {
                return Err(format!("the norm is {got:?}, not {want} within {off}"));
            }
        }
    }
    let Some(name) = &output.file else { return Ok(()) };
    let (dtype, shape, values) = operands::read(&folder.join(name))?;
    if dtype != output.dtype || shape != expected.shape {
        return Err(format!("{name} has {dtype} of shape {shape:?}, not {} {:?}", output.dtype, expected.shape));
    }
    if !comparable {
        return Ok(());
    }
    // The file has the elements of `--exponent` without their scale.
    let norm = |values: &[Complex<f64>]| values.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt();
    let scale = (norm(&expected.values) / norm(&values)).log2().round();
    let scale = if command.exponent && scale.is_finite() { scale.exp2() } else { 1.0 };
    let values: Vec<Complex<f64>> = values.iter().map(|value| value * scale).collect();
    let tiny = if single(dtype) { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    for (at, ((got, want), size)) in values.iter().zip(&expected.values).zip(&expected.sizes).enumerate() {
        let finite = |value: &Complex<f64>| value.re.is_finite() && value.im.is_finite();
        let fine = if size.is_finite() {
            (got - want).norm() <= bound * size + tiny || (undefined && !finite(got))
        } else {
            !finite(got)
        };
        if !fine {
            return Err(format!("element {at} of {name} is {got}, not {want} within {:e}", bound * size));
        }
    }
    Ok(())
}
