//! Unary steps on blocks: permute, take diagonals, sum. Nothing moves.

use super::contraction::Tensor;
use crate::dims::Label;
use crate::dist::{Axis, Distribution, Role};
use crate::schedule::{Builder, Work};

/// The distribution of out that a unary step produces without communication from an input that lies as `input`: cuts of a
/// kept dimension stay, cuts of a summed dimension leave partial sums. `None` where a cut dimension is one of a diagonal.
pub fn carried(input: &Distribution, labels: &[Label], out: &[Label]) -> Option<Distribution> {
    let axes = input.axes().iter().map(|axis| {
        let Role::Cut { dim } = axis.role else { return Some(*axis) };
        let label = labels[dim];
        if axis.ranks > 1 && labels.iter().filter(|&&l| l == label).count() > 1 {
            return None;
        }
        let role = out.iter().position(|&l| l == label).map_or(Role::Partial, |dim| Role::Cut { dim });
        Some(Axis { ranks: axis.ranks, role })
    });
    axes.collect::<Option<Vec<_>>>().map(Distribution::new)
}

/// Appends the unary step of this rank: from the part of its block of `input` that its block of `out` needs.
pub fn unary(builder: &mut Builder, input: &Tensor, out: &Tensor) {
    let rank = builder.rank();
    let Some(target) = out.own(rank, &[]) else { return };
    let restrictions: Vec<_> = out.labels.iter().copied().zip(out.block(rank)).collect();
    match input.own(rank, &restrictions) {
        Some(source) if source.elements() > 0 && target.elements() > 0 => {
            builder.work(Work::Unary { input: source, out: target });
        }
        _ if target.elements() > 0 => builder.work(Work::Fill { out: target }),
        _ => {}
    }
}
