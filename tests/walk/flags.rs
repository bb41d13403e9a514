//! Generates random valid and invalid values for every flag of the program.
//!
//! Every flag that `--help` lists must be in [`COMPARED`] or have a row in [`FLAGS`]; otherwise the walk fails
//! ([`unknown`]). Rows for flags that this build lacks are skipped.

use einsum_dist::plan::AlgorithmName;

use super::expression::{Expression, Index};
use super::rng::Rng;

/// The expected outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The command succeeds.
    Works,
    /// The command succeeds, or fails with one message.
    Open,
    /// The command is rejected.
    Refused,
}
use Outcome::{Open, Refused, Works};

/// Properties of the command on which the values of its flags depend.
pub struct Context<'a> {
    pub expression: &'a Expression,
    /// Whether a launcher starts the ranks.
    pub launched: bool,
}

/// The value of a flag, or `None` for a flag without a value, and the outcome of a command with this value.
type Value = (Option<String>, Outcome);

pub struct Flag {
    pub name: &'static str,
    /// One in this number of commands has the flag, on average.
    pub one_in: usize,
    pub value: fn(&mut Rng, &Context<'_>) -> Value,
}

const fn flag(name: &'static str, one_in: usize, value: fn(&mut Rng, &Context<'_>) -> Value) -> Flag {
    Flag { name, one_in, value }
}

fn plain(_: &mut Rng, _: &Context<'_>) -> Value {
    (None, Works)
}

/// Flags that affect the comparison of results. [`super::command`] generates them.
pub const COMPARED: [&str; 9] =
    ["--output", "--size", "--dtype", "--seed", "--ranks", "--accumulate", "--json", "--help", "--version"];

pub const FLAGS: [Flag; 41] = [
    flag("--workers", 2, |rng, _| {
        some(rng, &["1", "2", "3"], &[("0", Refused), ("many", Refused), ("5000", Open), (BEYOND, Refused)])
    }),
    flag("--algorithm", 3, algorithm),
    flag("--cut", 10, cut),
    flag("--distribution", 8, distribution),
    flag("--path", 5, path),
    flag("--kernel", 6, |rng, _| {
        let open = ["xsmm", "avx2", "avx512", "neon"].map(|name| (name, Open));
        some(rng, &["auto", "portable", "reference"], &[&open[..], &[("magic", Refused)]].concat())
    }),
    flag("--objective", 6, |rng, _| some(rng, &["time", "bytes"], &[("money", Refused)])),
    flag("--no-layout", 8, plain),
    flag("--no-overlap", 8, plain),
    flag("--idle", 12, plain),
    flag("--reorder", 10, |rng, _| some(rng, &["direct", "greedy", "by-cost", "exhaustive"], &[("random", Refused)])),
    flag("--forbid-redistribution", 12, |_, _| (None, Open)),
    flag("--memory-limit", 8, memory_limit),
    flag("--slice-groups", 12, |rng, _| {
        some(rng, &["1", "2", "3"], &[("0", Refused), ("-1", Refused), (BEYOND, Refused)])
    }),
    flag("--transport", 8, transport),
    flag("--repeat", 8, |rng, _| some(rng, &["1", "2", "3"], &[("0", Refused), ("-1", Refused), (BEYOND, Refused)])),
    flag("--warmup", 8, |rng, _| some(rng, &["0", "1", "2"], &[("-1", Refused), (BEYOND, Refused)])),
    flag("--check", 3, plain),
    flag("--exponent", 25, |_, _| (None, Open)),
    flag("--explain", 10, plain),
    flag("--simulate", 10, plain),
    flag("--trace", 14, |_, _| (Some("t.json".to_owned()), Open)),
    flag("--timeline", 14, |_, _| (Some("t.svg".to_owned()), Open)),
    flag("--machine", 25, |rng, _| (Some(["m.toml", "none.toml"][usize::from(rng.one_in(4))].to_owned()), Open)),
    flag("--timeout", 14, |rng, _| {
        some(rng, &["60", "1e3"], &[("0", Refused), ("nan", Refused), ("1e300", Refused), ("soon", Refused)])
    }),
    flag("--verbose", 12, |_, _| (None, Open)),
    flag("--quiet", 12, |_, _| (None, Open)),
    flag("--completions", 300, |_, _| (Some("bash".to_owned()), Refused)),
    flag("--path-time", 20, |rng, _| some(rng, &["0.01", "0.1"], &[("soon", Refused)])),
    flag("--runs", 20, |rng, _| some(rng, &["1", "100"], &[("x", Refused)])),
    flag("--path-cache", 25, |_, _| (Some("cache".to_owned()), Open)),
    flag("--path-out", 14, |_, _| (Some("p.json".to_owned()), Open)),
    flag("--checkpoint", 25, |_, _| (Some("sums.checkpoint".to_owned()), Open)),
    flag("--checkpoint-every", 60, |rng, _| (Some(["1", "x"][rng.below(2)].to_owned()), Open)),
    flag("--objective", 20, |rng, _| some(rng, &["time", "bytes"], &[("fame", Refused)])),
    flag("--scaling", 30, |rng, _| (Some(["1..8", "1,2,3", "8..1", "x"][rng.below(4)].to_owned()), Open)),
    flag("--weak", 60, |_, _| (Some("a".to_owned()), Open)),
    flag("--csv", 60, |_, _| (Some("t.csv".to_owned()), Open)),
    flag("--noise", 30, |rng, _| (Some(["0.1", "0,5", "x"][rng.below(3)].to_owned()), Open)),
    flag("--strict-ranks", 20, |_, _| (None, Open)),
    flag("--nonsense", 150, |_, _| (None, Refused)),
];

/// The long flags in a help text.
pub fn listed(help: &str) -> Vec<String> {
    let named = |line: &str| -> Option<String> {
        let line = line.trim_start();
        let line = line
            .strip_prefix("--")
            .or_else(|| line.get(2..)?.strip_prefix(", --").filter(|_| line.starts_with('-')))?;
        let name: String = line.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        (!name.is_empty()).then(|| format!("--{name}"))
    };
    let mut names: Vec<String> = help.lines().filter_map(named).collect();
    names.sort();
    names.dedup();
    names
}

/// The flags in `listed` for which the walk generates no values.
pub fn unknown(listed: &[String]) -> Vec<&String> {
    let known = |name: &str| COMPARED.contains(&name) || FLAGS.iter().any(|flag| flag.name == name);
    listed.iter().filter(|name| !known(name)).collect()
}

/// The smallest number that exceeds 64 bits.
const BEYOND: &str = "18446744073709551616";

/// Numbers of ranks whose products and sums overflow.
const LARGE: [&str; 4] = ["4294967296", "9223372036854775807", "18446744073709551615", BEYOND];

/// Returns a valid value, or sometimes one of `others`.
fn some(rng: &mut Rng, valid: &[&str], others: &[(&str, Outcome)]) -> Value {
    if rng.one_in(9) {
        let (value, outcome) = others[rng.below(others.len())];
        return (Some(value.to_owned()), outcome);
    }
    (Some(valid[rng.below(valid.len())].to_owned()), Works)
}

fn algorithm(rng: &mut Rng, _: &Context<'_>) -> Value {
    let open = AlgorithmName::ALL.map(AlgorithmName::name);
    match rng.below(30) {
        0 => (Some("magic".to_owned()), Refused),
        1..=4 => (Some("auto".to_owned()), Works),
        _ => (Some(open[rng.below(open.len())].to_owned()), Open),
    }
}

fn label(rng: &mut Rng, context: &Context<'_>) -> String {
    let names = &context.expression.names;
    if rng.one_in(20) { "w".to_owned() } else { names[rng.below(names.len())].clone() }
}

fn cut(rng: &mut Rng, context: &Context<'_>) -> Value {
    let one = label(rng, context);
    let value = match rng.below(8) {
        0 => format!("{one},{},{one}", label(rng, context)),
        1 => format!("{one},"),
        2 | 3 => format!("{one},{}", label(rng, context)),
        _ => one,
    };
    (Some(value), Open)
}

fn distribution(rng: &mut Rng, context: &Context<'_>) -> Value {
    let mut terms = context.expression.leaves();
    terms.push(&context.expression.root.term);
    let entries: Vec<String> = terms.iter().map(|term| entry(rng, context, term)).collect();
    let count = entries.len() + usize::from(rng.one_in(20)) - usize::from(rng.one_in(6));
    let entries: Vec<String> = entries.into_iter().cycle().take(count).collect();
    (Some(entries.join(if rng.one_in(3) { ";" } else { "; " })), Open)
}

/// A random value of `--distribution` for one tensor.
fn entry(rng: &mut Rng, context: &Context<'_>, term: &[Index]) -> String {
    if rng.one_in(3) {
        return ["*", "one", ""][rng.below(3)].to_owned();
    }
    let mut axes = Vec::new();
    for _ in 0..1 + rng.below(2) {
        let parts = 1 + rng.below(3);
        let name = match term.get(rng.below(term.len().max(1))) {
            Some(Index::Label(label)) => context.expression.names[*label].clone(),
            _ => label(rng, context),
        };
        axes.push(match rng.below(8) {
            _ if rng.one_in(40) => format!("{name}:{}", LARGE[rng.below(LARGE.len())]),
            0 => format!("x{parts}"),
            1 => format!("{name}:cyclic({},{parts})", 1 + rng.below(4)),
            2 => format!("{name}:at({},{})", rng.below(3), 2 + rng.below(4)),
            3 if rng.one_in(4) => format!("{name}:"),
            _ => format!("{name}:{parts}"),
        });
    }
    let owners = match rng.below(8) {
        0 => " @1".to_owned(),
        1 => " @(1,0)".to_owned(),
        2 if rng.one_in(4) => format!(" @{}", LARGE[rng.below(LARGE.len())]),
        _ => String::new(),
    };
    axes.join(if rng.one_in(2) { " " } else { "," }) + &owners
}

fn path(rng: &mut Rng, context: &Context<'_>) -> Value {
    if rng.one_in(3) {
        return explicit(rng, context);
    }
    some(
        rng,
        &["auto", "greedy", "optimal", "anneal", "left-to-right"],
        &[("best", Refused), ("(0,1", Refused), ("()", Refused)],
    )
}

/// Pairs of positions that form a path for a list of operands without brackets, or an almost valid path.
fn explicit(rng: &mut Rng, context: &Context<'_>) -> Value {
    let mut left = context.expression.leaves().len();
    let mut outcome = if context.expression.is_flat() && left > 1 { Works } else { Open };
    let mut steps = Vec::new();
    while left > 1 || steps.is_empty() {
        let one = rng.below(left.max(1));
        let other = rng.below(left.max(1));
        if one == other {
            if left > 1 {
                continue;
            }
            steps.push(format!("({one},)"));
            break;
        }
        steps.push(format!("({one},{other})"));
        left -= 1;
    }
    if rng.one_in(10) {
        steps.push("(0,9)".to_owned());
        outcome = Refused;
    }
    (Some(steps.join(",")), outcome)
}

fn memory_limit(rng: &mut Rng, _: &Context<'_>) -> Value {
    match rng.below(6) {
        0 => (Some(["much", "-1", "4 parsecs", "1e30", "99999999999999999999"][rng.below(5)].to_owned()), Refused),
        1 => (Some("1GiB".to_owned()), Works),
        _ => (Some(format!("{}", 50 + rng.below(20_000))), Open),
    }
}

fn transport(rng: &mut Rng, context: &Context<'_>) -> Value {
    let (inside, between) = if context.launched { (Refused, Open) } else { (Works, Refused) };
    let (value, outcome) = [
        ("auto", Works),
        ("shared", if context.launched { Open } else { Works }),
        ("message", between),
        ("rma", between),
        ("throttled:100MB", inside),
        ("throttled", Refused),
        ("throttled:0", Refused),
        ("pigeon", Refused),
    ][rng.below(8)];
    (Some(value.to_owned()), outcome)
}
