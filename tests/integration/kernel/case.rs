//! Generates labels and extents for random contractions. Extents are near the sizes of vectors, register tiles and
//! cache blocks.

use crate::common::Rng;
use einsum_dist::dims::Label;
use einsum_dist::local_plan::Caches;

/// Extents at which kernels change their behaviour, and the extents one below and one above. They are vector lengths,
/// numbers of rows and columns of register tiles, cache line lengths, and depths of cache blocks.
const EDGES: [usize; 38] = [
    2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97,
    127, 128, 129, 255, 257, 511, 512, 513,
];

/// The style of a random contraction.
#[derive(Debug, Clone, Copy)]
pub enum Style {
    /// Up to 4 dimensions per kind, with small extents.
    Many,
    /// Up to 2 dimensions per kind, with extents near the sizes of blocks.
    Blocks,
    /// One m, one n and one k dimension.
    Matrix,
    /// Up to 2 dimensions per kind, one of which is as long as the index space allows.
    Long,
    /// The same, with very small other extents, and the long dimension first in most cases.
    Short,
}

impl Style {
    pub fn random(rng: &mut Rng) -> Style {
        use Style::{Blocks, Long, Many, Matrix, Short};
        [Many, Many, Blocks, Blocks, Blocks, Matrix, Matrix, Long, Short][rng.below(9)]
    }
}

/// Labels and extents of a contraction.
#[derive(Debug)]
pub struct Case {
    pub extents: Vec<usize>,
    pub left: Vec<Label>,
    pub right: Vec<Label>,
    pub out: Vec<Label>,
}

impl Case {
    /// The contraction of two tensors with one-character labels, without the extents of other labels.
    pub fn new(tensors: [&str; 3], extents: &[(char, usize)]) -> Case {
        let used = |&&(label, _): &&(char, usize)| tensors[..2].concat().contains(label);
        let extents: Vec<_> = extents.iter().filter(used).collect();
        let at = |c| Label(extents.iter().position(|(label, _)| *label == c).unwrap() as u32);
        let [left, right, out] = tensors.map(|text| text.chars().map(at).collect());
        Case { extents: extents.iter().map(|(_, extent)| *extent).collect(), left, right, out }
    }

    /// A random contraction with an index space of at most `space`. If `full` is true, the index space is nearly as
    /// large as allowed.
    pub fn random(rng: &mut Rng, style: Style, space: usize, full: bool) -> Case {
        let mut case = Case { extents: Vec::new(), left: Vec::new(), right: Vec::new(), out: Vec::new() };
        for kind in 0..4 {
            let count = match style {
                Style::Many => rng.below(5),
                Style::Blocks | Style::Long | Style::Short => rng.below(3),
                Style::Matrix => usize::from(kind > 0 || rng.one_in(4)),
            };
            for _ in 0..count {
                let label = Label(case.extents.len() as u32);
                case.extents.push(1);
                if kind != 2 {
                    case.left.push(label);
                }
                if kind != 1 {
                    case.right.push(label);
                }
                if kind != 3 {
                    case.out.push(label);
                }
            }
        }
        rng.shuffle(&mut case.left);
        rng.shuffle(&mut case.right);
        rng.shuffle(&mut case.out);
        case.draw_extents(rng, style, space, full);
        if let (Style::Short, false) = (style, rng.one_in(3)) {
            let longest = (0..case.extents.len()).max_by_key(|&axis| case.extents[axis]);
            let is_longest = |label: &Label| Some(label.0 as usize) == longest;
            for labels in [&mut case.left, &mut case.right, &mut case.out] {
                labels.sort_by_key(|label| !is_longest(label));
            }
        }
        case
    }

    fn draw_extents(&mut self, rng: &mut Rng, style: Style, space: usize, full: bool) {
        let mut axes: Vec<usize> = (0..self.extents.len()).collect();
        rng.shuffle(&mut axes);
        let mut room = space;
        for (number, &axis) in axes.iter().enumerate() {
            let extent = match style {
                _ if rng.one_in(if full { 1000 } else { 60 }) => 0,
                _ if rng.one_in(12) => 1,
                Style::Many => 1 + rng.below(room.min(6)),
                Style::Long | Style::Short if number == 0 => room / (1 + rng.below(room.min(40))),
                Style::Short => 1 + rng.below(room.min(9)),
                _ if rng.one_in(4) => 1 + rng.below(room.min(70)),
                _ => EDGES[rng.below(EDGES.iter().filter(|&&edge| edge <= room).count().max(1))].min(room),
            };
            self.extents[axis] = extent;
            room /= extent.max(1);
        }
        // One dimension is extended to nearly fill the allowed space; its extent is up to 2 below the largest possible
        // one.
        if full && room > 2 && !axes.is_empty() {
            let extent = &mut self.extents[axes[rng.below(axes.len())]];
            *extent = (*extent * room).saturating_sub(rng.below(3)).max(1);
        }
    }

    pub fn shape(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|l| self.extents[l.0 as usize]).collect()
    }

    /// Labels that are summed.
    pub fn sums(&self) -> Vec<Label> {
        self.left.iter().copied().filter(|label| !self.out.contains(label)).collect()
    }

    pub fn terms(&self) -> usize {
        self.shape(&self.sums()).iter().product()
    }

    /// Size of the index space.
    pub fn space(&self) -> usize {
        self.extents.iter().product()
    }
}

/// Random cache sizes. Some are realistic. Most are so small that a few thousand elements fill many cache blocks.
pub fn caches(rng: &mut Rng) -> Caches {
    let of = |l1: usize, l2: usize| Caches { l1: l1 << 10, l2: l2 << 10 };
    match rng.below(6) {
        0 => Caches::default(),
        1 => of(16, 128),
        2 => of(4, 32),
        3 => of(2, 16),
        4 => of(1, 4),
        _ => of(1, 1),
    }
}
