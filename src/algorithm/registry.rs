//! The table of algorithms, with the properties that do not depend on parameters.
//!
//! A new algorithm needs a file and a row. Of candidates with equal predicted times, the planner chooses the first row.
//! Invariant: the names of the algorithms are distinct.

use serde::{Deserialize, Serialize};

use super::cannon::{self, Cannon};
use super::contraction::Contraction;
use super::cost::{Contracted, Cost};
use super::generator::{Distributions, Generator, Setting};
use super::grid::{self, Grid};
use super::local::{self, BatchParallel};
use super::master_worker::{self, MasterWorker};
use super::rank_count::RankCount;
use super::ring_k::{self, RingK};
use super::ring_mn::{self, RingMn};
use super::slicing::{self, Slicing};
use super::summa::{self, Summa};
use crate::dims::{Kinds, Label};
use crate::schedule::Builder;
use crate::schedule::verify::Order;

/// Where the tensors of a contraction are before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residency {
    Distributed,
    /// Rank 0 stores them and distributes the work.
    Root,
    /// Rank 0 computes alone, so no rank waits for another.
    Alone,
}

struct Row {
    ranks: RankCount,
    residency: Residency,
    needs: &'static str,
    cuts: &'static str,
    moves: &'static str,
    candidates: fn(&Setting) -> Vec<Algorithm>,
}

const DISTRIBUTED: Row = Row {
    ranks: RankCount::Any,
    residency: Residency::Distributed,
    needs: "nothing",
    cuts: "nothing",
    moves: "nothing",
    candidates: |_| Vec::new(),
};

fn each<P>(candidates: Vec<P>, variant: fn(P) -> Algorithm) -> Vec<Algorithm> {
    candidates.into_iter().map(variant).collect()
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])+
       $variant:ident $(($bound:ident: $parameters:ty))? = $name:literal => $generator:expr, $row:expr;)+) => {
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Algorithm {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant $(($parameters))?,)+
        }

        /// An algorithm without parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AlgorithmName {
            $($(#[doc = $doc])+ $variant,)+
        }

        const ROWS: &[Row] = &[$($row),+];

        impl AlgorithmName {
            /// All algorithms.
            pub const ALL: [AlgorithmName; ROWS.len()] = [$(AlgorithmName::$variant),+];

            /// Its name on the command line, in plans and in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(AlgorithmName::$variant => $name,)+
                }
            }
        }

        impl Algorithm {
            pub const fn kind(&self) -> AlgorithmName {
                match self {
                    $(Algorithm::$variant { .. } => AlgorithmName::$variant,)+
                }
            }

            fn generator(&self) -> &dyn Generator {
                match self {
                    $(Algorithm::$variant $(($bound))? => $generator,)+
                }
            }
        }
    };
}

registry! {
    /// Rank 0 computes the contraction alone.
    Local = "local" => &local::Local, Row {
        residency: Residency::Alone,
        candidates: |_| vec![Algorithm::Local],
        ..DISTRIBUTED
    };
    /// All tensors are cut along one c dimension.
    BatchParallel(parallel: BatchParallel) = "c" => parallel, Row {
        needs: "a dimension of kind c, in both operands and in the output",
        cuts: "all tensors along the same c",
        candidates: |setting| each(local::candidates(setting), Algorithm::BatchParallel),
        ..DISTRIBUTED
    };
    /// `out` and one operand stay in place, cut along m or n. The other operand travels around a ring.
    RingMn(ring: RingMn) = "ring-mn" => ring, Row {
        needs: "a dimension of kind m and one of kind n",
        cuts: "m of left and out, n of right, or mirrored",
        moves: "blocks of right (or left) in a ring",
        candidates: |setting| each(ring_mn::candidates(setting), Algorithm::RingMn),
        ..DISTRIBUTED
    };
    /// Both operands are cut along k. Partial sums of `out` travel around a ring.
    RingK(ring: RingK) = "ring-k" => ring, Row {
        needs: "a dimension of kind k, and one of kind m or n",
        cuts: "operands along k, out along m or n",
        moves: "partial sums of out, in a ring",
        candidates: |setting| each(ring_k::candidates(setting), Algorithm::RingK),
        ..DISTRIBUTED
    };
    /// For any distributions. One tensor stays in place, and ranks exchange the matching pieces of the others.
    Slicing(slicing: Slicing) = "slicing" => slicing, Row {
        cuts: "as --distribution prescribes",
        moves: "pieces of two tensors, to the third",
        candidates: |setting| each(slicing::candidates(setting), Algorithm::Slicing),
        ..DISTRIBUTED
    };
    /// On a grid of ranks over all dimensions, each computes one tile of the products.
    Grid(grid: Box<Grid>) = "grid" => grid.as_ref(), Row {
        cuts: "any, chosen by extents and memory",
        moves: "parts of operands, partial sums of out",
        candidates: |setting| each(grid::candidates(setting), |grid| Algorithm::Grid(Box::new(grid))),
        ..DISTRIBUTED
    };
    /// On a square grid, `out` stays in place, and blocks of both operands are shifted.
    Cannon(cannon: Cannon) = "cannon" => cannon, Row {
        ranks: cannon::RANKS,
        needs: "a dimension of each of the kinds m, n and k",
        cuts: "m, n and k, on a square grid of ranks",
        moves: "blocks of both operands",
        candidates: |setting| each(cannon::candidates(setting), Algorithm::Cannon),
        ..DISTRIBUTED
    };
    /// Rank 0 has all tensors and sends parts of the work to the others.
    MasterWorker(shares: MasterWorker) = "master-worker" => shares, Row {
        residency: Residency::Root,
        needs: "a dimension of kind c, m or n",
        cuts: "c, m or n, into chunks",
        moves: "chunks, from and to rank 0",
        candidates: |setting| each(master_worker::candidates(setting), Algorithm::MasterWorker),
        ..DISTRIBUTED
    };
    /// On a grid, `out` stays in place, and panels of both operands are broadcast.
    Summa(summa: Summa) = "summa" => summa, Row {
        needs: "a dimension of each of the kinds m, n and k",
        cuts: "m, n and k, on a grid of ranks",
        moves: "panels of both operands, broadcast",
        candidates: |setting| each(summa::candidates(setting), Algorithm::Summa),
        ..DISTRIBUTED
    };
}

impl AlgorithmName {
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The required dimensions, as a phrase for messages.
    pub const fn needs(self) -> &'static str {
        self.row().needs
    }

    /// The numbers of ranks on which the algorithm can run without idle ranks.
    pub const fn ranks(self) -> RankCount {
        self.row().ranks
    }

    /// Where the tensors are before and after.
    pub const fn residency(self) -> Residency {
        self.row().residency
    }

    /// The dimensions that are cut, as a phrase for `--help`.
    pub const fn cuts(self) -> &'static str {
        self.row().cuts
    }

    /// The data that moves, as a phrase for `--help`.
    pub const fn moves(self) -> &'static str {
        self.row().moves
    }

    /// None if the algorithm does not apply.
    pub(crate) fn candidates(self, setting: &Setting) -> Vec<Algorithm> {
        (self.row().candidates)(setting)
    }
}

impl Algorithm {
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The name with its parameters, such as `ring-mn(m, n)`, `grid(m/2, k/3)` or `slicing(out stays)`.
    pub fn describe(&self, name: impl Fn(Label) -> String) -> String {
        let inside = self.generator().parameters(&name);
        if inside.is_empty() { self.name().to_owned() } else { format!("{}({})", self.name(), inside.join(", ")) }
    }

    pub fn cuts(&self) -> Vec<Label> {
        self.generator().cuts()
    }

    pub fn grid(&self, ranks: usize) -> Vec<(Label, usize)> {
        self.generator().grid(ranks)
    }

    /// Like [`Generator::distributions`].
    ///
    /// # Panics
    /// If the cut dimensions lack the required kinds.
    pub fn distributions(&self, left: &[Label], right: &[Label], out: &[Label], ranks: usize) -> Option<Distributions> {
        self.generator().distributions([left, right, out], ranks)
    }

    pub fn holds_whole(&self) -> bool {
        self.generator().holds_whole()
    }

    pub fn applies(&self, kinds: &Kinds) -> bool {
        self.generator().applies(kinds)
    }

    pub fn order(&self, contraction: &Contraction, of: &[usize], ranks: usize) -> Order {
        self.generator().order(contraction, of, ranks)
    }

    pub(crate) fn role(&self, rank: usize) -> usize {
        self.generator().role(rank)
    }

    pub(crate) fn alike_until(&self, rank: usize) -> usize {
        self.generator().alike_until(rank)
    }

    pub fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        self.generator().generate(builder, contraction);
    }

    /// Cost: O(ranks).
    pub fn words_received(&self, contraction: &Contraction, rank: usize, ranks: usize) -> Option<u64> {
        self.generator().words_received(contraction, rank, ranks)
    }

    /// The most words among ranks with the largest and the smallest tiles.
    pub(crate) fn most_words(&self, contraction: &Contraction, ranks: usize) -> Option<u64> {
        let Contraction { left, right, .. } = contraction;
        let mut sampled = vec![0];
        let cuts = if let Algorithm::Grid(grid) = self { grid.cuts.clone() } else { self.grid(ranks) };
        for (label, parts) in cuts.into_iter().filter(|(_, parts)| *parts > 1) {
            let tensor = if left.labels.contains(&label) { left } else { right };
            let larger = (tensor.extent(label) % parts).saturating_sub(1);
            // Of many dimensions, the first decide.
            let places = [larger, 0, parts - 1].into_iter().take(if sampled.len() < 16 { 3 } else { 1 });
            sampled = sampled.iter().flat_map(|rank| places.clone().map(move |place| rank * parts + place)).collect();
        }
        let words = sampled.into_iter().map(|rank| self.words_received(contraction, rank, ranks));
        words.max().flatten()
    }

    pub(crate) fn seconds(&self, contracted: &Contracted) -> f64 {
        self.generator().seconds(contracted)
    }
}

impl Cost<'_> {
    pub fn contraction(&self, algorithm: &Algorithm, left: &[Label], right: &[Label], out: &[Label]) -> f64 {
        algorithm.seconds(&Contracted::new(self, [left, right, out]))
    }
}

#[cfg(test)]
mod tests;
