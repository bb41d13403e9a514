//! `machine probe`: measures this world's machine, and describes it for `--machine`.

use std::collections::BTreeSet;

use einsum_dist::api::{host, start_threads};
use einsum_dist::io::output::display_path;
use einsum_dist::{Machine, World};
use serde_json::{Value, json};

use super::args::Args;
use super::start::{agree, check_flags, usage};
use super::units::counted;
use super::{Result, paths, validate};

/// Writes `--output`, if given. Returns the text for standard output, on rank 0. Collective.
pub fn probe(world: &World, args: &Args) -> Result<Option<String>> {
    agree(world, check_flags(args).and_then(|()| paths::check(world, args)))?;
    paths::tidy(world, args);
    let workers = args.workers.map_or_else(|| world.default_workers(), |workers| Ok(workers.into()))?;
    validate::warn_if_starved(world, args)?;
    world.place(workers)?;
    world.agree(start_threads(workers))?;
    let measured = serde_json::to_value(world.calibrate(workers)?).map(rounded).and_then(serde_json::from_value);
    let machine: Machine = agree(world, measured.map_err(|error| usage(error.to_string())))?;
    let text = comments(world, &machine)? + &machine.to_toml();
    if let Some(path) = &args.output {
        world.write_text(path, &text)?;
    }
    Ok(match &args.output {
        _ if !world.is_root() => None,
        _ if args.json => Some(format!("{}\n", json!({ "schema": 1, "machine": machine }))),
        Some(_) if args.quiet => None,
        Some(path) => Some(format!("written     {}\n", display_path(path))),
        None => Some(text),
    })
}

fn comments(world: &World, machine: &Machine) -> Result<String> {
    let all = |mine: String| -> Result<BTreeSet<String>> {
        let all = world.all_gather(mine.as_bytes())?;
        Ok(all.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
    };
    let (hosts, processors) = (all(host::name())?, all(processor())?);
    let links = match machine {
        Machine { ranks: 1, .. } => "one rank has no links: rates of links, and interference, are defaults",
        Machine { ranks_per_node: 1, .. } => "all links are from each rank to the next",
        Machine { node_link_bandwidth: Some(_), .. } => {
            "link_ is of one rank between hosts, node_link_ of all on one, and other node_ within one"
        }
        _ => "link_ is between hosts, and node_ within one",
    };
    let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let version = env!("CARGO_PKG_VERSION");
    let (ranks, workers, transport) =
        (counted(machine.ranks, "rank"), counted(machine.workers, "worker"), world.transport());
    Ok(format!(
        "# Measured by einsum-dist {version} with {ranks}, {workers} each, transport {transport}.\n\
         # Hosts: {}\n# Processors: {}\n# Links: {links}.\n\n",
        list(hosts),
        list(processors)
    ))
}

fn rounded(value: Value) -> Value {
    match value {
        Value::Number(rate) if rate.is_f64() => {
            format!("{:.3e}", rate.as_f64().unwrap_or(0.0)).parse::<f64>().ok().into()
        }
        Value::Array(values) => values.into_iter().map(rounded).collect(),
        Value::Object(entries) => entries.into_iter().map(|(name, value)| (name, rounded(value))).collect(),
        other => other,
    }
}

/// As named by Linux, or the architecture.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_owned()
}
