//! Checks the object that `--json` prints. It must have the keys that scripts rely on, with values of the right types.

use serde_json::Value;

/// The type of a value.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Count,
    /// A number, or null if nothing was measured.
    Number,
    Object,
    List,
}
use Kind::{Count, List, Number, Object, Text};

const REPORT: &[(&str, Kind)] = &[
    ("schema", Count),
    ("expression", Text),
    ("dtype", Text),
    ("ranks", Count),
    ("workers", Count),
    ("kernel", Text),
    ("plan_fingerprint", Text),
    ("slices", Count),
    ("slice_groups", Count),
    ("memory_limit", Number),
    ("path", List),
    ("path_search", Object),
    ("dims", Object),
    ("nodes", List),
    ("per_rank", List),
    ("plan_seconds", Number),
    ("compile_seconds", Number),
    ("gflops", Number),
    ("peak_bytes", Object),
    ("output", Object),
];

const NODE: &[(&str, Kind)] = &[
    ("expression", Text),
    ("op", Text),
    ("kinds", Object),
    ("grid", Object),
    ("gflop", Number),
    ("seconds", Number),
    ("bytes_received", Object),
    ("lower_bound_bytes", Number),
    ("predicted_seconds", Number),
];

const RANK: &[(&str, Kind)] =
    &[("bytes_received", Object), ("peak_bytes", Object), ("idle_seconds", Number), ("hidden_share", Number)];

/// Parses the report of a run and checks its keys.
///
/// # Errors
/// If a key is missing or its value has the wrong type.
pub fn report(text: &str) -> Result<Value, String> {
    let value = object(text)?;
    has("the report", &value, REPORT)?;
    for (list, keys) in [("nodes", NODE), ("per_rank", RANK)] {
        value[list].as_array().into_iter().flatten().try_for_each(|each| has(list, each, keys))?;
    }
    if value["per_rank"].as_array().is_none_or(|ranks| ranks.len() > 64) {
        return Err("per_rank lists more than 64 ranks".to_owned());
    }
    if !(value["check"].is_null() || value["check"]["ok"].is_boolean()) || value.get("error").is_some() {
        return Err("check or error is not as it should be".to_owned());
    }
    Ok(value)
}

/// Checks the keys of the object that describes an error.
///
/// # Errors
/// If a key is missing or its value has the wrong type.
pub fn error(text: &str) -> Result<(), String> {
    let value = object(text)?;
    has("the error", &value["error"], &[("kind", Text), ("message", Text)])?;
    match value.as_object().map(|keys| keys.len()) {
        Some(2) if value["schema"] == 1 => Ok(()),
        _ => Err(format!("an error stands alone with its schema: {text}")),
    }
}

fn object(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}: {text:?}"))?;
    if value["schema"] == 1 { Ok(value) } else { Err(format!("no schema 1: {text}")) }
}

fn has(what: &str, value: &Value, keys: &[(&str, Kind)]) -> Result<(), String> {
    for (key, kind) in keys {
        let Some(found) = value.get(key) else { return Err(format!("{what} lacks `{key}`")) };
        let fine = match kind {
            Text => found.is_string(),
            Count => found.is_u64(),
            Number => found.is_number() || found.is_null(),
            Object => found.is_object(),
            List => found.is_array(),
        };
        if !fine {
            return Err(format!("`{key}` of {what} is {found}"));
        }
    }
    Ok(())
}
