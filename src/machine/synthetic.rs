//! Parses and prints regular topologies in hwloc's synthetic format: levels with counts per element of the one above.
//!
//! `docs/machines.md` lists the levels. Units, domains and sockets are numbered in order. Printing and parsing are
//! inverse.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::topology::{Cache, Domain, Topology};

/// Eight times Linux's; more is likely a mistake.
const MAX_UNITS: usize = 1 << 16;

/// Placing ranks takes superlinear time.
const MAX_DOMAINS: usize = 512;

/// Of a cache, or of a domain's memory (1 PiB).
const MAX_BYTES: u64 = 1 << 50;

/// A regular topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Synthetic(Vec<Level>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Level {
    kind: Kind,
    /// Per element of the level above.
    count: usize,
    /// Of a cache, or of a domain's memory; 0 if not given.
    bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Socket,
    Group,
    Domain,
    Cache(usize),
    Core,
    Unit,
}

impl Kind {
    fn parse(name: &str) -> Option<Kind> {
        let name = name.to_ascii_lowercase();
        Some(match name.as_str() {
            "pack" | "package" | "socket" => Kind::Socket,
            "die" | "group" => Kind::Group,
            "numa" | "numanode" | "node" => Kind::Domain,
            "core" => Kind::Core,
            "pu" => Kind::Unit,
            _ => {
                let level = name.strip_prefix('l')?;
                let level = level.strip_suffix("cache").unwrap_or(level);
                let level = level.strip_suffix('d').unwrap_or(level);
                Kind::Cache(level.parse().ok().filter(|level| (1..=5).contains(level))?)
            }
        })
    }

    fn attribute(self) -> Option<&'static str> {
        match self {
            Kind::Domain => Some("memory"),
            Kind::Cache(_) => Some("size"),
            Kind::Socket | Kind::Group | Kind::Core | Kind::Unit => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Socket => f.write_str("pack"),
            Kind::Group => f.write_str("group"),
            Kind::Domain => f.write_str("numa"),
            Kind::Cache(level) => write!(f, "l{level}"),
            Kind::Core => f.write_str("core"),
            Kind::Unit => f.write_str("pu"),
        }
    }
}

impl Synthetic {
    /// The described topology.
    pub fn topology(&self) -> Topology {
        let (sockets, domains) = (self.until(Kind::Socket), self.until(Kind::Domain));
        let (cores, units) = (self.until(Kind::Core), self.until(Kind::Unit).max(self.until(Kind::Core)));
        let core = |core: usize| (core * (units / cores)..(core + 1) * (units / cores)).collect();
        let of = |domain: usize| domain * (cores / domains)..(domain + 1) * (cores / domains);
        let memory = self.0.iter().filter(|level| level.kind == Kind::Domain).map(|level| level.bytes).sum();
        let domains = (0..domains).map(|number| {
            let socket = number * sockets / domains;
            Domain { number, socket, memory, cores: of(number).map(core).collect() }
        });
        let cache = |level: &Level| match level.kind {
            Kind::Cache(number) if level.bytes > 0 => Some(Cache { level: number, bytes: level.bytes }),
            _ => None,
        };
        let mut caches: Vec<Cache> = self.0.iter().filter_map(cache).collect();
        caches.sort_by_key(|cache| cache.level);
        Topology { domains: domains.collect(), caches }
    }

    /// This kind's elements on the host; 1 without this level.
    fn until(&self, kind: Kind) -> usize {
        let last = self.0.iter().position(|level| level.kind == kind);
        last.map_or(1, |last| self.0[..=last].iter().map(|level| level.count).product())
    }

    fn check(self) -> Result<Synthetic, String> {
        let at = |kind: Kind| self.0.iter().position(|level| level.kind == kind);
        let Some(core) = at(Kind::Core) else { return Err("a topology needs cores: `core:4`".to_owned()) };
        for (place, Level { kind, .. }) in self.0.iter().enumerate() {
            if at(*kind) != Some(place) && *kind != Kind::Group {
                return Err(format!("`{kind}` is there twice"));
            }
            if place > core && *kind != Kind::Unit || place < core && *kind == Kind::Unit {
                return Err(format!("`{kind}` is on the wrong side of `core`"));
            }
        }
        let exceeds = |levels: &[Level], most: usize| {
            let elements = levels.iter().try_fold(1_usize, |elements, level| elements.checked_mul(level.count));
            elements.is_none_or(|elements| elements > most)
        };
        if exceeds(&self.0[..at(Kind::Domain).map_or(0, |last| last + 1)], MAX_DOMAINS) {
            return Err(format!("a host has at most {MAX_DOMAINS} NUMA domains"));
        }
        if exceeds(&self.0, MAX_UNITS) {
            return Err(format!("a host has at most {MAX_UNITS} processing units"));
        }
        Ok(self)
    }
}

impl FromStr for Synthetic {
    type Err = String;

    fn from_str(text: &str) -> Result<Synthetic, String> {
        Synthetic(text.split_whitespace().map(level).collect::<Result<_, _>>()?).check()
    }
}

impl fmt::Display for Synthetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Level { kind, count, bytes }) in self.0.iter().enumerate() {
            write!(f, "{}{kind}:{count}", if at == 0 { "" } else { " " })?;
            if let (Some(name), true) = (kind.attribute(), *bytes > 0) {
                write!(f, "({name}={bytes})")?;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Synthetic {
    type Error = String;

    fn try_from(text: String) -> Result<Synthetic, String> {
        text.parse()
    }
}

impl From<Synthetic> for String {
    fn from(synthetic: Synthetic) -> String {
        synthetic.to_string()
    }
}

fn level(word: &str) -> Result<Level, String> {
    let (name, rest) = word.split_once(':').ok_or_else(|| format!("`{word}` is no level with its number: `core:4`"))?;
    let known = "known: pack, die, group, numa, l1 to l5, core, pu";
    let kind = Kind::parse(name).ok_or_else(|| format!("`{name}` is no level of a topology ({known})"))?;
    let (count, attribute) = rest.split_once('(').map_or((rest, None), |(count, attribute)| (count, Some(attribute)));
    let count = count.parse().ok().filter(|&count| count > 0);
    let count = count.ok_or_else(|| format!("`{word}` needs a number above 0 behind the colon"))?;
    let Some(attribute) = attribute else { return Ok(Level { kind, count, bytes: 0 }) };
    let value = attribute.strip_suffix(')').and_then(|attribute| attribute.split_once('='));
    let size = value.filter(|(name, _)| kind.attribute() == Some(name)).map(|(_, size)| size);
    let size = size.ok_or_else(|| format!("`{word}`: only `numa:1(memory=240GB)` and `l2:1(size=1MiB)` say more"))?;
    let bytes =
        bytes(size).ok_or_else(|| format!("`{word}`: `{size}` is no size of at most 1 PiB (`240GB`, `1MiB`)"))?;
    Ok(Level { kind, count, bytes })
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let power =
        |base: u64, unit: &str| ["", "K", "M", "G", "T"].iter().position(|&u| u == unit).map(|n| base.pow(n as u32));
    let unit = text[digits..].to_ascii_uppercase();
    let scale = match unit.strip_suffix("IB") {
        Some(unit) => power(1024, unit),
        None => power(1000, unit.strip_suffix('B').unwrap_or(&unit)),
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(scale?).filter(|&bytes| bytes <= MAX_BYTES)
}

#[cfg(test)]
mod tests;
