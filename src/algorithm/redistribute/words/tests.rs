//! Compares words by digits with those of every rank, for random distributions.

use super::*;
use crate::algorithm::{Movement, Tensor};
use crate::dims::Label;
use crate::distribution::{Axis, Cut, Owners};

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn role(&mut self, dims: usize, ranks: usize) -> Role {
        let how = match self.below(6) {
            0 => {
                let block = 1 + self.below(2);
                Cut::Cyclic { block, first: 1 + self.below(block + 1) }
            }
            1 => {
                let mut bounds: Vec<usize> = (1..ranks).map(|_| self.below(9)).collect();
                bounds.sort_unstable();
                Cut::At(bounds)
            }
            _ => Cut::Even,
        };
        match self.below(8) {
            0 => Role::Replicate,
            1 => Role::Partial,
            _ if dims == 0 => Role::Replicate,
            _ => Role::Cut { dim: self.below(dims), how },
        }
    }

    fn distribution(&mut self, dims: usize, only_two: bool) -> Distribution {
        let mut axes = Vec::new();
        for _ in 0..self.below(7) {
            let ranks = if only_two { 2 } else { [1, 2, 2, 3, 3, 4][self.below(6)] };
            axes.push(Axis { ranks, role: self.role(dims, ranks) });
        }
        let extents: Vec<usize> = axes.iter().map(|axis| axis.ranks).collect();
        let first = [0, 0, 0, 1, 4][self.below(5)];
        // A random order of axes.
        let mut order: Vec<usize> = (0..axes.len()).collect();
        (1..axes.len()).for_each(|at| order.swap(at, self.below(at + 1)));
        let (mut strides, mut stride) = (vec![0; axes.len()], 1);
        for axis in order {
            strides[axis] = stride;
            stride *= extents[axis] + usize::from(self.below(40) == 0);
        }
        let strided = Owners::Strided { first, strides };
        let places: usize = extents.iter().product();
        let owners = match self.below(8) {
            0 => Owners::Listed((0..places).map(|place| first + 2 * (places - place)).collect()),
            1..4 if strided.fits(&extents) => strided,
            _ => Owners::From(first),
        };
        Distribution::new(axes).owned_by(owners)
    }
}

#[test]
fn words_by_digits_are_those_of_every_rank() {
    let (mut numbers, mut moved, mut nothing) = (Numbers(7), 0, 0);
    for case in 0..4000 {
        let dims = numbers.below(5);
        let shape: Vec<usize> = (0..dims).map(|_| [0, 1, 2, 2, 2, 3, 4, 5, 7, 8, 12][1 + numbers.below(10)]).collect();
        let shape = if case % 50 == 0 { shape.iter().map(|extent| extent - 1).collect() } else { shape };
        let [from, to] = [0, 1].map(|node| {
            let distribution = numbers.distribution(dims, case % 2 == 0);
            let labels = (0..dims as u32).map(Label).collect();
            Tensor { node, labels, shape: shape.clone(), distribution, buffer: None, window: None }
        });
        let ranks = from.distribution.ranks().max(to.distribution.ranks());
        let words = |rank| Movement::Direct.words_received(&from, &to, rank);
        let each = (0..ranks).map(words).fold((0, 0), |(most, all), words| (words.max(most), all + u128::from(words)));
        let counted = over_ranks(&shape, &from.distribution, &to.distribution);
        assert_eq!(counted, each, "{shape:?} {:?} {:?}", from.distribution, to.distribution);
        if counted.0 > 0 { moved += 1 } else { nothing += 1 }
    }
    assert!(moved > 2000 && nothing > 100, "{moved} {nothing}");
}
