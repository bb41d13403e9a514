//! Turns a plan into the tasks of one rank.
//!
//! Tasks follow the order of steps, in a pipeline ([`super::Pipeline`]) batch by batch.

use std::ops::Range;

use super::structure::{Plan, ResultResidency, Source};
use super::{received, slice_groups};
use crate::algorithm::{Contraction, Tensor, redistribute, unary};
use crate::schedule::{Buffer, BufferId, BufferPlacement, Builder, Carried, Factor, Home, Schedule, View, Work};

/// A rank's block of a value; `None` outside the grid.
#[derive(Clone, Copy)]
enum Block {
    Whole(Option<BufferId>),
    /// For one batch each, used alternately.
    DoubleBuffer([Option<BufferId>; 2]),
}

/// The schedule of one rank (in its group, if any) for one slice.
pub fn lower(plan: &Plan, rank: usize) -> Schedule {
    if !slice_groups::has_groups(plan) {
        return tasks(plan, rank).finish();
    }
    match plan.slice_group_of(rank) {
        Some(group) => of_group_member(plan, &slice_groups::of_group(plan), rank, group),
        None => Builder::new(rank, plan.ranks(), plan.dtype.size()).finish(),
    }
}

/// Like [`lower`], with what each transfer carries, for plans without groups.
pub fn described(plan: &Plan, rank: usize) -> (Schedule, Vec<Option<Carried>>) {
    append(plan, builder(plan, rank).describing()).finish_described()
}

fn of_group_member(plan: &Plan, of_group: &Plan, rank: usize, group: usize) -> Schedule {
    let first = group * plan.ranks_per_group();
    slice_groups::in_group(lower(of_group, rank - first), (first, plan.ranks()), plan.operands)
}

/// The bytes that the sampled ranks receive in one slice.
pub fn all_bytes_received(plan: &Plan) -> u64 {
    received::by_samples(plan).unwrap_or_else(|| {
        plan.sampled_ranks().into_iter().map(|rank| tasks(plan, rank).unplaced().bytes_received()).sum()
    })
}

fn tasks(plan: &Plan, rank: usize) -> Builder {
    append(plan, builder(plan, rank))
}

fn builder(plan: &Plan, rank: usize) -> Builder {
    let lasting = plan.values.iter().map(|value| value.lasts).collect();
    Builder::new(rank, plan.ranks(), plan.dtype.size()).lasting(lasting).conjugated(plan.conjugated())
}

fn append(plan: &Plan, mut builder: Builder) -> Builder {
    let last = plan.values.len() - 1;
    // Only contractions can add onto the output; other steps need a separate buffer.
    let onto = plan.accumulate && matches!(plan.values[last].source, Source::Contract { .. });
    let mut blocks: Vec<Block> = Vec::with_capacity(plan.values.len());
    let mut starts = Vec::with_capacity(plan.values.len());
    for piece in 0..plan.pipeline.as_ref().map_or(1, |pipeline| pipeline.pieces) {
        // Values without the batch dimension are computed with the first batch.
        for (id, value) in plan.values.iter().enumerate().filter(|(id, _)| piece < plan.pieces_of(*id)) {
            builder.set_node(id);
            let start = plan.pieces(id, piece).map(|(dim, range)| (value.labels[dim], range.start));
            builder.set_batch(piece, start);
            if piece == 0 {
                starts.push(builder.tasks());
                let home = match value.source {
                    Source::Operand(index) => Home::Operand(index),
                    _ if id == last && (onto || !plan.accumulate) => Home::Output,
                    _ => Home::Arena,
                };
                blocks.push(if plan.pieces_of(id) > 1 && home == Home::Arena && id < last {
                    Block::DoubleBuffer([(); 2].map(|()| declare_batch_buffer(&mut builder, plan, id)))
                } else {
                    Block::Whole(declare(&mut builder, plan, id, home))
                });
            }
            step(&mut builder, plan, (id, piece), &blocks, onto && id == last);
        }
    }
    let branches: Vec<Range<usize>> =
        plan.branches.iter().map(|branch| starts[branch.start]..starts[branch.end]).collect();
    if branches.len() > 1 {
        builder.side_by_side(branches);
    }
    if let Block::Whole(result) = blocks[last] {
        builder.set_node(last);
        finish(plan, &mut builder, result, onto);
    }
    builder
}

fn step(builder: &mut Builder, plan: &Plan, (id, piece): (usize, usize), blocks: &[Block], onto: bool) {
    let tensor = |id: usize| {
        let window = plan.pieces(id, piece).map(|(dim, range)| (dim, range.start));
        let (buffer, window) = match blocks[id] {
            Block::Whole(buffer) => (buffer, window),
            Block::DoubleBuffer(buffers) => (buffers[piece % 2], None),
        };
        Tensor { buffer, window, ..plan.tensor(id, piece) }
    };
    match &plan.values[id].source {
        Source::Operand(_) => {}
        Source::Contract { left, right, algorithm, group, .. } => {
            let group = group.clone().unwrap_or(0..plan.ranks());
            if group.contains(&builder.rank()) {
                let [left, right, out] = [*left, *right, id].map(|id| tensor(id).relative_to(group.start));
                let contraction = Contraction { left, right, out, onto };
                builder.within(group, |builder| algorithm.generate(builder, &contraction));
            }
        }
        Source::Unary { input, .. } => unary(builder, &tensor(*input), &tensor(id)),
        Source::Redistribute { input } => redistribute(builder, &tensor(*input), &tensor(id)),
    }
}

fn finish(plan: &Plan, builder: &mut Builder, result: Option<BufferId>, onto: bool) {
    let last = plan.values.len() - 1;
    let Some(result) = result else { return };
    let whole = |builder: &Builder, buffer: BufferId| {
        let bounds = builder.buffer(buffer).extents.iter().map(|&extent| 0..extent).collect();
        View { buffer, bounds }
    };
    let view = whole(builder, result);
    let empty = view.elements() == 0;
    if !empty && !matches!(plan.values[plan.unmoved(last)].source, Source::Contract { .. }) {
        builder.work(Work::Scale { out: view.clone(), factor: Factor::Alpha });
    }
    if !plan.accumulate || onto {
        return;
    }
    if let Some(output) = declare(builder, plan, last, Home::Output).filter(|_| !empty) {
        let out = whole(builder, output);
        builder.work(Work::Update { input: view, out });
    }
}

fn declare(builder: &mut Builder, plan: &Plan, node: usize, home: Home) -> Option<BufferId> {
    let (rank, value) = (builder.rank(), &plan.values[node]);
    let is_slice = match home {
        Home::Operand(index) => !plan.operands_in_parts.contains(&index),
        Home::Output => plan.result == ResultResidency::Whole,
        Home::Arena | Home::Exchange => false,
    };
    let region = value.distribution.block(&value.shape, rank)?;
    let within = if is_slice && !plan.slices.is_empty() {
        value.distribution.block(&plan.whole_shape(value), rank)?.extents()
    } else {
        region.extents()
    };
    let summand = (value.distribution.summand(rank)?, value.distribution.summands());
    let (labels, extents) = (value.labels.clone(), region.extents());
    Some(builder.declare(Buffer {
        node,
        labels,
        extents,
        within,
        home,
        place: Some(BufferPlacement { region, summand }),
    }))
}

/// The first batch is the largest.
fn declare_batch_buffer(builder: &mut Builder, plan: &Plan, node: usize) -> Option<BufferId> {
    let tensor = plan.tensor(node, 0);
    let region = tensor.distribution.block(&tensor.shape, builder.rank())?;
    Some(tensor.scratch(builder, region.extents()))
}
