//! Candidate algorithms of a node: every algorithm with every choice of dimensions, except those that the user ruled
//! out.

use super::grids::GridFit;
use super::{AlgorithmName, Options, PlanError};
use crate::algorithm::{Algorithm, Chunks, Grid, MAX_PIECES, Reorder, Stationary};
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::tile_bounds;
use crate::machine::Machine;

/// Generates the candidates of nodes.
pub struct Candidates<'a> {
    pub options: &'a Options,
    pub names: &'a [String],
    pub extents: &'a [usize],
    pub machine: &'a Machine,
    /// Dimensions that must not be cut.
    pub uncut: &'a [Label],
}

impl Candidates<'_> {
    /// Returns the candidates for a contraction, the local one first. Never empty.
    ///
    /// # Errors
    /// The user forced an algorithm or a cut that the contraction does not support.
    pub fn of(&self, node: &str, kinds: &Kinds, out: &[Label]) -> Result<Vec<Algorithm>, PlanError> {
        let forced = self.options.algorithm;
        let named: Vec<Algorithm> = self
            .all(kinds, out)
            .into_iter()
            .filter(|algorithm| algorithm.cuts().iter().all(|cut| !self.uncut.contains(cut)))
            .filter(|algorithm| forced.is_none_or(|forced| forced.name() == algorithm.name()))
            // On one rank all algorithms amount to the local one, so others are listed only if forced.
            .filter(|algorithm| forced.is_some() || self.ranks() > 1 || *algorithm == Algorithm::Local)
            .collect();
        let named = if self.options.spread && self.ranks() > 1 { without_whole_tensors(named) } else { named };
        if let (true, Some(algorithm)) = (named.is_empty(), forced) {
            return Err(self.no_algorithm(algorithm, node));
        }
        let wanted = self.wanted(kinds);
        if wanted.is_empty() || (self.ranks() == 1 && forced.is_none()) {
            return Ok(named);
        }
        let cuts: Vec<Algorithm> =
            named.iter().filter(|algorithm| cuts_as_asked(algorithm, &wanted)).cloned().collect();
        if cuts.is_empty() { Err(self.no_cut(node, kinds, &wanted)) } else { Ok(cuts) }
    }

    fn all(&self, kinds: &Kinds, out: &[Label]) -> Vec<Algorithm> {
        let mut all = vec![Algorithm::Local];
        all.extend(kinds.c.iter().map(|&cut| Algorithm::BatchParallel { cut }));
        let pairs = || kinds.m.iter().flat_map(|&m| kinds.n.iter().map(move |&n| (m, n)));
        // One piece suits rings that compute longer than they transfer, many pieces suit the others.
        let mirrored = pairs().map(|(m, n)| (n, m));
        for (cut, travel) in pairs().chain(mirrored) {
            all.extend([1, MAX_PIECES].map(|pieces| Algorithm::RingMn { cut, travel, pieces }));
        }
        for &cut in &kinds.k {
            for &o in kinds.m.iter().chain(&kinds.n) {
                let split = self.split(o, out);
                all.extend([2, MAX_PIECES].map(|pieces| Algorithm::RingK { cut, out: o, split, pieces }));
            }
        }
        let side = self.ranks().isqrt();
        if side * side == self.ranks() || self.options.idle {
            let triples = pairs().flat_map(|(m, n)| kinds.k.iter().map(move |&k| (m, n, k)));
            all.extend(triples.map(|(m, n, k)| Algorithm::Cannon { m, n, k, side }));
        }
        all.extend(
            kinds
                .c
                .iter()
                .chain(&kinds.m)
                .chain(&kinds.n)
                .map(|&cut| Algorithm::MasterWorker { cut, ends: self.ends(cut) }),
        );
        // If the planner chooses all distributions, other algorithms move as little as the universal one.
        if self.options.algorithm == Some(AlgorithmName::Slicing) || !self.options.fixed.is_empty() {
            let order = self.options.reorder;
            let weighs = matches!(order, Reorder::ByCost | Reorder::Exhaustive);
            let chunks =
                Chunks { order, balance: if weighs { self.machine.balance(self.options.dtype.size()) } else { 0 } };
            all.extend(Stationary::ALL.map(|stationary| Algorithm::Slicing { stationary, chunks }));
        }
        let memory = self.options.memory_limit.map(|bytes| bytes as f64 / self.options.dtype.size() as f64);
        let fit = GridFit { kinds, extents: self.extents, uncut: self.uncut, ranks: self.ranks(), memory };
        // Grids of all ranks, and grids with idle ranks that may move less: predicted time decides.
        let mut grids: Vec<Grid> = fit.near_best(0);
        for grid in fit.near_best(fit.idle()) {
            if !grids.contains(&grid) {
                grids.push(grid);
            }
        }
        // There are fewer indices than ranks.
        if grids.is_empty() {
            grids.extend(fit.widest());
        }
        // No grid fits into memory; slicing makes the tensors smaller later.
        if grids.is_empty() && self.options.algorithm == Some(AlgorithmName::Grid) {
            let fit = GridFit { memory: None, ..fit };
            grids.extend(fit.best(0).or_else(|| fit.widest()));
        }
        // As with pieces of rings: few rounds if computing takes longer than transfers, many if links are slow.
        let rounds = |grid: Grid| [fit.few_rounds(&grid), fit.many_rounds(&grid), Some(grid)];
        grids = grids.into_iter().flat_map(rounds).flatten().collect();
        if self.machine.ranks_per_node > 1 {
            grids = grids.iter().flat_map(Grid::orders).collect();
        }
        all.extend(grids.into_iter().map(|grid| Algorithm::Grid(Box::new(grid))));
        all
    }

    fn ranks(&self) -> usize {
        self.machine.ranks
    }

    /// By rank, the ends of the parts of a dimension that ranks contract in equal time.
    fn ends(&self, cut: Label) -> Vec<usize> {
        let (ranks, extent) = (self.ranks(), self.extents[cut.0 as usize]);
        if self.machine.speeds.is_empty() {
            return (0..ranks).map(|rank| tile_bounds(extent, ranks, rank).end).collect();
        }
        let speeds = || (0..ranks).map(|rank| self.machine.speed(rank));
        let all: f64 = speeds().sum();
        let mut sum = 0.0;
        let mut ends: Vec<usize> = speeds()
            .map(|speed| {
                sum += speed;
                (extent as f64 * sum / all).round() as usize
            })
            .collect();
        // Rounding must not lose the last indices.
        ends.last_mut().into_iter().for_each(|last| *last = extent);
        ends
    }

    /// The dimension along which `ring-k` cuts blocks into pieces, among those of at least two indices if there are
    /// any. Blocks of unequal sizes are cut along the dimension in which they differ, so that pieces fit into every
    /// block. Equal blocks are cut preferably along a dimension of even extent, then one other than `cut_out`, then the
    /// longest.
    fn split(&self, cut_out: Label, out: &[Label]) -> Label {
        let extent = |label: Label| self.extents[label.0 as usize];
        let smallest = |label: Label| {
            if label == cut_out {
                tile_bounds(extent(label), self.ranks(), self.ranks() - 1).len()
            } else {
                extent(label)
            }
        };
        let differ = extent(cut_out) % self.ranks() != 0;
        let best = out.iter().copied().max_by_key(|&label| {
            let length = smallest(label);
            (length >= 2, !differ || label == cut_out, length % 2 == 0, label != cut_out, length)
        });
        best.unwrap_or(cut_out)
    }

    /// The dimensions of a contraction that the user requires to be cut.
    fn wanted(&self, kinds: &Kinds) -> Vec<Label> {
        let named =
            |cut: &String| kinds.iter().map(|(label, _)| label).find(|label| &self.names[label.0 as usize] == cut);
        self.options.cut.iter().filter_map(named).collect()
    }

    fn no_algorithm(&self, algorithm: AlgorithmName, node: &str) -> PlanError {
        let side = self.ranks().isqrt();
        let needs = if algorithm == AlgorithmName::Cannon && side * side != self.ranks() {
            let above = (side + 1) * (side + 1);
            let nearest = if self.ranks() - side * side <= above - self.ranks() { side * side } else { above };
            format!(
                "a square number of ranks, of which {nearest} is the nearest to {}, unless some may be idle",
                self.ranks()
            )
        } else {
            algorithm.needs().to_owned()
        };
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

/// Removes algorithms that hold a whole tensor on one rank, unless there are no others.
fn without_whole_tensors(all: Vec<Algorithm>) -> Vec<Algorithm> {
    let (on_one_rank, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|algorithm| match algorithm {
        Algorithm::Local | Algorithm::MasterWorker { .. } => true,
        Algorithm::Grid(grid) => grid.ranks() == 1,
        _ => false,
    });
    if others.is_empty() { on_one_rank } else { others }
}

/// Whether the algorithm cuts the wanted dimensions: a single one must be its first cut, two must be its cuts in any
/// order.
fn cuts_as_asked(algorithm: &Algorithm, wanted: &[Label]) -> bool {
    let cuts = algorithm.cuts();
    match wanted {
        [one] => cuts.first() == Some(one),
        _ => cuts.len() == wanted.len() && wanted.iter().all(|label| cuts.contains(label)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(machine: &Machine, extent: usize) -> Vec<usize> {
        let options = Options::default();
        let candidates = Candidates { options: &options, names: &[], extents: &[extent], machine, uncut: &[] };
        candidates.ends(Label(0))
    }

    #[test]
    fn parts_are_as_large_as_ranks_are_fast() {
        assert_eq!(ends(&Machine::new(3, 1), 10), [4, 7, 10]);
        assert_eq!(ends(&Machine { speeds: vec![1.05, 0.95], ..Machine::new(2, 1) }, 1000), [525, 1000]);
        assert_eq!(ends(&Machine { speeds: vec![1.3, 0.9, 0.8], ..Machine::new(3, 1) }, 0), [0, 0, 0]);
    }
}
