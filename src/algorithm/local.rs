//! Implements `local` and `c` (batch-parallel), in which ranks contract their own blocks and exchange no data.
//!
//! Source: J. Dressler, Scaling Out (Jena 2025), section 5.1 (`c`).

use serde::{Deserialize, Serialize};

use super::contraction::{Contraction, contract};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting, cut, is};
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::Distribution;
use crate::schedule::Builder;

/// Rank 0 computes the contraction alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BatchParallel {
    pub cut: Label,
}

pub fn candidates(setting: &Setting) -> Vec<BatchParallel> {
    setting.kinds.c.iter().map(|&cut| BatchParallel { cut }).collect()
}

impl Generator for Local {
    fn cuts(&self) -> Vec<Label> {
        Vec::new()
    }

    fn applies(&self, _: &Kinds) -> bool {
        true
    }

    fn distributions(&self, _: [&[Label]; 3], _: usize) -> Option<Distributions> {
        let single = Distribution::single;
        Some(Distributions { left: single(), right: single(), out: single() })
    }

    fn holds_whole(&self) -> bool {
        true
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        local(builder, contraction);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        contracted.share(1.0) / contracted.cost.machine.solo_speedup
    }

    fn words_received(&self, _: &Contraction, _: usize, _: usize) -> Option<u64> {
        Some(0)
    }
}

impl Generator for BatchParallel {
    fn cuts(&self) -> Vec<Label> {
        vec![self.cut]
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        is(kinds, self.cut, &[Kind::C])
    }

    fn distributions(&self, tensors: [&[Label]; 3], ranks: usize) -> Option<Distributions> {
        let [left, right, out] = tensors.map(|labels| cut(labels, [(self.cut, ranks)]));
        Some(Distributions { left, right, out })
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        local(builder, contraction);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        contracted.share(contracted.cost.tile(self.cut, contracted.ranks()))
    }

    fn words_received(&self, _: &Contraction, _: usize, _: usize) -> Option<u64> {
        Some(0)
    }
}

pub fn local(builder: &mut Builder, contraction: &Contraction) {
    let rank = builder.rank();
    let Contraction { left, right, out, .. } = contraction;
    let (Some(left), Some(right), Some(out)) = (left.own(rank, &[]), right.own(rank, &[]), out.own(rank, &[])) else {
        return;
    };
    contract(builder, left, right, out, contraction.first());
}
