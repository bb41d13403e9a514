//! `summa`, on any grid of ranks: `out` stays in place, and panels of both operands are broadcast.
//!
//! Source: R. A. van de Geijn and J. Watts, SUMMA: Scalable Universal Matrix Multiplication Algorithm (1997), sections
//! 3 and 4 (pipelined broadcasts). A panel is the part of an operand for a range of k. Extents need not be divisible.
//!
//! Ranks with an empty block of `out` (more ranks than indices) send their panels but receive none. Transfers are
//! ordered by panel, then by operand (`left` first), then by round of the broadcast.

mod choose;
mod panels;

use serde::{Deserialize, Serialize};

pub use self::choose::candidates;
use self::panels::{Panel, panels};
use super::contraction::{Contraction, Tensor, contract, corner};
use super::cost::Contracted;
use super::generator::{Distributions, Generator, cut, is};
use crate::dims::{Kind, Kinds, Label};
use crate::distribution::{Bounds, tile_bounds};
use crate::schedule::collective::{self, Collective, CollectiveAlgorithm, Group, Meaning, Parts};
use crate::schedule::{Accumulate, BufferId, Builder, View};

/// Ranks are in row-major order. The rows divide `m`, and `k` of `right`; the columns divide `n`, and `k` of `left`.
/// Panels have at most `width` indices of `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Summa {
    pub m: Label,
    pub n: Label,
    pub k: Label,
    pub rows: usize,
    pub columns: usize,
    pub width: usize,
    pub broadcast: CollectiveAlgorithm,
}

impl Summa {
    fn ranks(&self) -> usize {
        self.rows * self.columns
    }
}

impl Generator for Summa {
    /// A single row does not cut `m`, nor a single column `n`.
    fn cuts(&self) -> Vec<Label> {
        let &Summa { m, n, k, rows, columns, .. } = self;
        let cut = |ranks: usize| ranks > 1 || self.ranks() == 1;
        [(m, cut(rows)), (n, cut(columns)), (k, true)]
            .into_iter()
            .filter(|(_, cut)| *cut)
            .map(|(label, _)| label)
            .collect()
    }

    fn parameters(&self, name: &dyn Fn(Label) -> String) -> Vec<String> {
        let cut = self.grid(0).into_iter().filter(|(_, ranks)| *ranks > 1);
        cut.map(|(label, ranks)| format!("{}/{ranks}", name(label))).chain([name(self.k)]).collect()
    }

    fn grid(&self, _: usize) -> Vec<(Label, usize)> {
        vec![(self.m, self.rows), (self.n, self.columns)]
    }

    fn applies(&self, kinds: &Kinds) -> bool {
        is(kinds, self.m, &[Kind::M]) && is(kinds, self.n, &[Kind::N]) && is(kinds, self.k, &[Kind::K])
    }

    fn distributions(&self, [left, right, out]: [&[Label]; 3], _: usize) -> Option<Distributions> {
        let &Summa { m, n, k, rows, columns, .. } = self;
        let by_grid = |labels, [by_row, by_column]: [Label; 2]| cut(labels, [(by_row, rows), (by_column, columns)]);
        Some(Distributions { left: by_grid(left, [m, k]), right: by_grid(right, [k, n]), out: by_grid(out, [m, n]) })
    }

    fn holds_whole(&self) -> bool {
        self.ranks() == 1
    }

    fn generate(&self, builder: &mut Builder, contraction: &Contraction) {
        summa(builder, contraction, self);
    }

    fn seconds(&self, contracted: &Contracted) -> f64 {
        choose::seconds(self, contracted)
    }

    fn words_received(&self, contraction: &Contraction, rank: usize, _: usize) -> Option<u64> {
        let &Summa { m, n, k, rows, columns, .. } = self;
        let Contraction { left, right, out, .. } = contraction;
        if rank >= self.ranks() || out.held(rank) == 0 {
            return Some(0);
        }
        let missing =
            |tensor: &Tensor, (cut, parts, at): (Label, usize, usize), (parts_of_k, place): (usize, usize)| {
                let length = |label: Label, parts: usize, at: usize| tile_bounds(tensor.extent(label), parts, at).len();
                tensor.elements_of(|label| match label {
                    _ if label == k => Some(tensor.extent(k) - length(k, parts_of_k, place)),
                    _ if label == cut => Some(length(cut, parts, at)),
                    _ => None,
                })
            };
        let (row, column) = (rank / columns, rank % columns);
        Some(missing(left, (m, rows, row), (columns, column)) + missing(right, (n, columns, column), (rows, row)))
    }
}

struct Passing<'a> {
    tensor: &'a Tensor,
    k: Label,
    broadcast: CollectiveAlgorithm,
    /// The ranks that broadcast to each other, in order: a row of the grid for `left`, a column for `right`.
    line: Vec<usize>,
    /// The first ranks in `line`, with a nonempty block of `out`.
    needing: usize,
    /// For each panel, its owner's position in `line`.
    holders: Vec<usize>,
    panels: &'a [Panel],
    /// Up to two buffers, which alternate.
    slots: Vec<BufferId>,
    /// For each panel, the number of panels received before it.
    received: Vec<usize>,
}

impl<'a> Passing<'a> {
    fn new(
        builder: &mut Builder,
        (tensor, summa): (&'a Tensor, &Summa),
        (line, needing): (Vec<usize>, usize),
        (panels, holders): (&'a [Panel], Vec<usize>),
    ) -> Passing<'a> {
        let me = builder.rank();
        let place = line.iter().position(|&rank| rank == me);
        let needed = place.is_some_and(|place| place < needing);
        let arrives = |panel: usize| needed && place != Some(holders[panel]);
        let mut received = Vec::with_capacity(panels.len());
        let (mut count, mut longest) = (0, 0);
        for (number, panel) in panels.iter().enumerate() {
            received.push(count);
            if arrives(number) {
                (count, longest) = (count + 1, longest.max(panel.range.len()));
            }
        }
        let mut extents: Vec<usize> = tensor.block(me).iter().map(ExactSizeIterator::len).collect();
        extents[tensor.dim(summa.k)] = longest;
        let slots = (0..count.min(2)).map(|_| tensor.scratch(builder, extents.clone())).collect();
        let Summa { k, broadcast, .. } = *summa;
        Passing { tensor, k, broadcast, line, needing, holders, panels, slots, received }
    }

    fn at(&self, rank: usize, panel: usize) -> Option<View> {
        let range = self.panels[panel].range.clone();
        if self.line[self.holders[panel]] == rank {
            return self.tensor.own(rank, &[(self.k, range)]);
        }
        let mut bounds: Bounds = self.tensor.block(rank);
        bounds[self.tensor.dim(self.k)] = range;
        Some(corner(*self.slots.get(self.received[panel] % 2)?, &bounds))
    }

    /// In indices of the whole tensor.
    fn block(&self, panel: usize) -> Bounds {
        let mut bounds = self.tensor.block(self.line[self.holders[panel]]);
        bounds[self.tensor.dim(self.k)] = self.panels[panel].range.clone();
        bounds
    }

    fn pass(&self, builder: &mut Builder, panel: usize, operand: usize) {
        let (me, holder) = (builder.rank(), self.holders[panel]);
        let beyond = (holder >= self.needing).then_some(self.line[holder]);
        let members: Vec<usize> = self.line[..self.needing].iter().copied().chain(beyond).collect();
        let root = holder.min(self.needing);
        let (Some(group), Some(view)) = (Group::new(members, me), self.at(me, panel)) else { return };
        let parts = Parts { at: vec![vec![view]], ..Parts::default() };
        let part = |_| Some(self.block(panel));
        let meaning = Meaning { phase: 2 * panel + operand, part: &part, products: &|_| Vec::new() };
        collective::append(
            builder,
            (Collective::Broadcast { root }, self.broadcast),
            &group,
            &parts,
            1,
            Some(&meaning),
        );
    }
}

fn summa(builder: &mut Builder, contraction: &Contraction, summa: &Summa) {
    let (rank, &Summa { m, n, k, rows, columns, width, .. }) = (builder.rank(), summa);
    let Contraction { left, right, out, .. } = contraction;
    let Some(target) = out.own(rank, &[]).filter(|_| out.elements() > 0) else { return };
    let (row, column) = (rank / columns, rank % columns);
    let panels = panels(left.extent(k), [rows, columns], width);
    // Empty tiles of an even cut come last.
    let along_row = ((0..columns).map(|other| row * columns + other).collect(), columns.min(out.extent(n)));
    let along_column = ((0..rows).map(|other| other * columns + column).collect(), rows.min(out.extent(m)));
    let [left_holders, right_holders] =
        [|panel: &Panel| panel.column, |panel: &Panel| panel.row].map(|holder| panels.iter().map(holder).collect());
    let operands = [
        Passing::new(builder, (left, summa), along_row, (&panels, left_holders)),
        Passing::new(builder, (right, summa), along_column, (&panels, right_holders)),
    ];
    operands.iter().enumerate().for_each(|(at, operand)| operand.pass(builder, 0, at));
    for panel in 0..panels.len() {
        if panel + 1 < panels.len() {
            operands.iter().enumerate().for_each(|(at, operand)| operand.pass(builder, panel + 1, at));
        }
        if target.elements() == 0 {
            continue;
        }
        let accumulate = if panel == 0 { contraction.first() } else { Accumulate::Add };
        if let [Some(left), Some(right)] = operands.each_ref().map(|operand| operand.at(rank, panel)) {
            contract(builder, left, right, target.clone(), accumulate);
        }
    }
}
