//! From a plan to the tasks of one rank.

use std::ops::Range;

use super::{Held, Plan, Source, Value};
use crate::algorithm::{Contraction, Tensor, redistribute, unary};
use crate::schedule::{Buffer, BufferId, Builder, Factor, Home, Place, Schedule, View, Work};

pub fn lower(plan: &Plan, rank: usize) -> Schedule {
    let lasting = plan.values.iter().map(|value| value.lasts).collect();
    let mut builder = Builder::new(rank, plan.ranks(), plan.dtype.size()).lasting(lasting);
    let last = plan.values.len() - 1;
    // A contraction adds onto the output itself; other steps need a place of their own for the new values.
    let onto = plan.accumulate && matches!(plan.values[last].source, Source::Contract { .. });
    let mut buffers: Vec<Option<BufferId>> = Vec::with_capacity(plan.values.len());
    let tensor = |id: usize, buffers: &[Option<BufferId>]| {
        let Value { labels, shape, distribution, .. } = plan.values[id].clone();
        Tensor { node: id, labels, shape, distribution, buffer: buffers[id] }
    };
    let mut starts = Vec::with_capacity(plan.values.len());
    for (id, value) in plan.values.iter().enumerate() {
        builder.serve(id);
        starts.push(builder.tasks());
        let home = match value.source {
            Source::Operand(index) => Home::Operand(index),
            _ if id == last && (onto || !plan.accumulate) => Home::Output,
            _ => Home::Arena,
        };
        buffers.push(declare(&mut builder, plan, id, home));
        match &value.source {
            Source::Operand(_) => {}
            Source::Contract { left, right, algorithm, .. } => {
                let [left, right, out] = [*left, *right, id].map(|id| tensor(id, &buffers));
                algorithm.generate(&mut builder, &Contraction { left, right, out, onto: onto && id == last });
            }
            Source::Unary { input, .. } => unary(&mut builder, &tensor(*input, &buffers), &tensor(id, &buffers)),
            Source::Redistribute { input } => {
                redistribute(&mut builder, &tensor(*input, &buffers), &tensor(id, &buffers));
            }
        }
    }
    let lanes: Vec<Range<usize>> = plan.lanes.iter().map(|lane| starts[lane.start]..starts[lane.end]).collect();
    if lanes.len() > 1 {
        builder.side_by_side(lanes);
    }
    finish(plan, &mut builder, buffers[last], onto);
    builder.finish()
}

/// Applies alpha and beta where no contraction has.
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

/// The buffer of this rank's block of a value; none beyond its grid of ranks.
fn declare(builder: &mut Builder, plan: &Plan, node: usize, home: Home) -> Option<BufferId> {
    let (rank, value) = (builder.rank(), &plan.values[node]);
    let is_slice = match home {
        Home::Operand(_) => true,
        Home::Output => plan.result == Held::Whole,
        Home::Arena | Home::Exchange => false,
    };
    let whole = if is_slice { plan.whole_shape(value) } else { value.shape.clone() };
    let within = value.distribution.block(&whole, rank)?.extents();
    let region = value.distribution.block(&value.shape, rank)?;
    let summand = (value.distribution.summand(rank)?, value.distribution.summands());
    let (labels, extents) = (value.labels.clone(), region.extents());
    Some(builder.declare(Buffer { node, labels, extents, within, home, place: Some(Place { region, summand }) }))
}
