//! `local`, `c` (batch-parallel) and unary steps, in which ranks exchange no data.
//!
//! Source: J. Dressler, Scaling Out (Jena 2025), section 5.1 (`c`).

use serde::{Deserialize, Serialize};

use super::contraction::{Contraction, Tensor, contract};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, Setting, cut, is};
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Axis, Distribution, Role};
use crate::schedule::{Builder, View, Work};

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

/// Cuts of the result's dimensions remain, and those of summed ones become axes of partial sums. `None` if a cut
/// dimension is part of a diagonal.
pub fn carried(input: &Distribution, labels: &[Label], out: &[Label]) -> Option<Distribution> {
    let axes = input.axes().iter().map(|axis| {
        let Role::Cut { dim, how } = &axis.role else { return Some(axis.clone()) };
        let label = labels[*dim];
        if axis.ranks > 1 && labels.iter().filter(|&&l| l == label).count() > 1 {
            return None;
        }
        let role =
            out.iter().position(|&l| l == label).map_or(Role::Partial, |dim| Role::Cut { dim, how: how.clone() });
        Some(Axis { ranks: axis.ranks, role })
    });
    axes.collect::<Option<Vec<_>>>().map(|axes| Distribution::new(axes).owned_by(input.owners().clone()))
}

pub fn unary(builder: &mut Builder, input: &Tensor, out: &Tensor) {
    let rank = builder.rank();
    let Some(target) = out.own(rank, &[]) else { return };
    let blocks = (input.distribution.block(&input.shape, rank), out.distribution.block(&out.shape, rank));
    let (Some(have), Some(need)) = blocks else {
        return step(builder, None, target);
    };
    let wanted = |label: &Label| out.labels.iter().position(|l| l == label).map(|dim| &need.dims()[dim]);
    let alike =
        input.labels.iter().zip(have.dims()).all(|(label, set)| wanted(label).is_none_or(|wanted| wanted == set));
    if alike {
        return step(builder, input.own(rank, &[]), target);
    }
    // Blocks have different indices along a common dimension, so each box of `out` has a task.
    for bounds in need.boxes() {
        let restrictions: Vec<_> = out.labels.iter().copied().zip(bounds.iter().cloned()).collect();
        if let Some(target) = out.view(rank, &bounds) {
            step(builder, input.own(rank, &restrictions), target);
        }
    }
}

fn step(builder: &mut Builder, input: Option<View>, out: View) {
    match input.filter(|input| input.elements() > 0) {
        _ if out.elements() == 0 => {}
        Some(input) => builder.work(Work::Unary { input, out }),
        None => builder.work(Work::Fill { out }),
    }
}
