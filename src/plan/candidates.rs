//! The candidate algorithms for a contraction, with all choices of dimensions.

use super::error::PlanError;
use super::options::PlanOptions;
use crate::algorithm::{Algorithm, AlgorithmName, Objective, Residency, Setting, most_idle};
use crate::dims::{Kind, Kinds, Label};
use crate::machine::Machine;

#[derive(Debug, Clone, Copy)]
pub struct SearchArguments<'a> {
    /// Maximum bytes on each rank, which some passes set to another limit than the user's.
    pub memory: Option<u64>,
    /// Excludes algorithms that need a whole tensor on one rank, if possible. Set if the fastest plan needs too much
    /// memory.
    pub spread: bool,
    pub step_by_step: bool,
    /// Dimensions not to distribute, because they are sliced or in batches.
    pub uncut: &'a [Label],
}

impl SearchArguments<'static> {
    pub fn new(options: &PlanOptions) -> SearchArguments<'static> {
        let PlanOptions { memory_limit, step_by_step, .. } = *options;
        SearchArguments { memory: memory_limit, spread: false, step_by_step, uncut: &[] }
    }
}

pub struct Candidates<'a> {
    pub options: &'a PlanOptions,
    pub names: &'a [String],
    pub extents: &'a [usize],
    pub machine: &'a Machine,
    pub arguments: SearchArguments<'a>,
    pub several: bool,
}

impl Candidates<'_> {
    /// The candidates for a contraction, the local algorithm first; at least one.
    ///
    /// # Errors
    /// If the user forced an algorithm or a cut that the contraction does not support.
    pub fn of(&self, node: &str, kinds: &Kinds, out: &[Label]) -> Result<Vec<Algorithm>, PlanError> {
        let forced = self.options.algorithm;
        let named: Vec<Algorithm> = self
            .all(kinds, out)
            .into_iter()
            .filter(|algorithm| algorithm.cuts().iter().all(|cut| !self.arguments.uncut.contains(cut)))
            // On one rank, all algorithms reduce to the local one.
            .filter(|algorithm| {
                forced.is_some() || self.ranks() > 1 || algorithm.kind().residency() == Residency::Alone
            })
            .collect();
        let named = if self.arguments.spread && self.ranks() > 1 { without_whole_tensors(named) } else { named };
        if let (true, Some(algorithm)) = (named.is_empty(), forced) {
            return Err(self.no_algorithm(algorithm, node));
        }
        let wanted = self.wanted(kinds);
        let is_free = wanted.is_empty() || (self.ranks() == 1 && forced.is_none());
        let cuts: Vec<Algorithm> =
            named.into_iter().filter(|algorithm| is_free || cuts_as_asked(algorithm, &wanted)).collect();
        match self.options.objective {
            _ if cuts.is_empty() => Err(self.no_cut(node, kinds, &wanted)),
            Objective::Time => Ok(cuts),
            Objective::Bytes => Ok(busy(cuts, |algorithm| algorithm, self.extents, self.ranks())),
        }
    }

    fn all(&self, kinds: &Kinds, out: &[Label]) -> Vec<Algorithm> {
        let Candidates { options, extents, machine, arguments, several, .. } = *self;
        let asked = |name: &AlgorithmName| options.algorithm.is_none_or(|forced| forced == *name);
        let memory = arguments.memory.map(|bytes| bytes as f64 / options.dtype.size() as f64);
        let setting = Setting {
            kinds,
            out,
            extents,
            machine,
            dtype: options.dtype,
            uncut: arguments.uncut,
            memory,
            idle: options.idle,
            forced: options.algorithm.is_some(),
            fixed: !options.fixed.is_empty(),
            several,
            reorder: options.reorder,
            objective: options.objective,
        };
        AlgorithmName::ALL.into_iter().filter(asked).flat_map(|name| name.candidates(&setting)).collect()
    }

    fn ranks(&self) -> usize {
        self.machine.ranks
    }

    fn wanted(&self, kinds: &Kinds) -> Vec<Label> {
        let named =
            |cut: &String| kinds.iter().map(|(label, _)| label).find(|label| &self.names[label.0 as usize] == cut);
        self.options.cut.iter().filter_map(named).collect()
    }

    fn no_algorithm(&self, algorithm: AlgorithmName, node: &str) -> PlanError {
        let needs = algorithm.ranks().needs(self.ranks()).unwrap_or_else(|| algorithm.needs().to_owned());
        PlanError::NoAlgorithm { algorithm: algorithm.name(), node: node.to_owned(), needs }
    }

    fn no_cut(&self, node: &str, kinds: &Kinds, wanted: &[Label]) -> PlanError {
        let describe = |&label: &Label| {
            let kind = kinds.of(label).map_or("", Kind::letter);
            format!("`{}` (kind {kind})", self.names[label.0 as usize])
        };
        let cut = wanted.iter().map(describe).collect::<Vec<_>>().join(" and ");
        let hint = match self.options.algorithm {
            Some(algorithm) => format!(" under {}, which needs {}", algorithm.name(), algorithm.needs()),
            None => String::new(),
        };
        PlanError::NoCut { cut, node: node.to_owned(), hint }
    }
}

/// Those with the fewest idle ranks, apart from [`most_idle`], because one rank receives nothing.
pub fn busy<T>(all: Vec<T>, of: impl Fn(&T) -> &Algorithm, extents: &[usize], ranks: usize) -> Vec<T> {
    let busy = |one: &T| match of(one) {
        Algorithm::Slicing(_) => ranks,
        algorithm if algorithm.kind().residency() == Residency::Distributed => {
            algorithm.grid(ranks).iter().map(|&(label, parts)| parts.min(extents[label.0 as usize])).product()
        }
        _ => 1,
    };
    let most = all.iter().map(busy).max().unwrap_or(0);
    let least = ranks.saturating_sub(most_idle(ranks)).max(2).min(most);
    all.into_iter().filter(|one| busy(one) >= least).collect()
}

/// Unless there are no others.
fn without_whole_tensors(all: Vec<Algorithm>) -> Vec<Algorithm> {
    let (on_one_rank, others): (Vec<_>, Vec<_>) = all.into_iter().partition(Algorithm::holds_whole);
    if others.is_empty() { on_one_rank } else { others }
}

/// A single dimension must be its first cut; several must be exactly its cuts, in any order.
fn cuts_as_asked(algorithm: &Algorithm, wanted: &[Label]) -> bool {
    let cuts = algorithm.cuts();
    match wanted {
        [one] => cuts.first() == Some(one),
        _ => cuts.len() == wanted.len() && wanted.iter().all(|label| cuts.contains(label)),
    }
}
