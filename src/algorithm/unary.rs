//! Implements unary steps (permutations, diagonals and sums), which each rank computes on its own block, without
//! communication.

use super::contraction::Tensor;
use crate::dims::Label;
use crate::distribution::{Axis, Distribution, Role};
use crate::schedule::{Builder, View, Work};

/// Returns the distribution of the result: cuts of the result's dimensions remain, and those of summed dimensions
/// become axes of partial sums. Returns `None` if a cut dimension is part of a diagonal.
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
    // The blocks have different indices along a common dimension, so there is one task for each box of `out`.
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
