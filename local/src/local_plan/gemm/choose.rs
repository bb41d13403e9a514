//! Chooses rows, columns, boxes and packing by a few candidates' prices.

use super::axis::AxisDims;
use super::boxes::Blocking;
use super::candidate::{Candidate, OUT, View};
use super::footprint::Footprint;
use super::grid::{Grid, grid};
use super::partial::Partial;
use super::{Access, Axis, AxisDim, GemmPlan, OutAccess, PackBy, cost};
use crate::dtype::Dtype;
use crate::local_plan::{CACHE_LINE, Dim, Effort, Isa, KernelFamily, Target};

/// Prefetching longer stretches, in bytes, gained nothing.
const MAX_PREFETCHED_STRETCH: usize = 1024;
/// With fewer rows or columns, micro-kernels would end before they prefetched everything.
const MIN_PREFETCHED_SIDE: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub nanoseconds: f64,
    /// Whether packed operands are contiguous runs and `out` is written in place; elsewhere, times differed by 50 %.
    pub reliable: bool,
    pub effort: Effort,
}

/// The cheapest plan's price, without building it; dimensions are fused with `fold`, and no extent is 0.
pub(in crate::local_plan) fn price_gemm(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Price {
    let (nanoseconds, candidate, grid) = cheapest(dims, dtype, target);
    let in_runs = |access: &Access| matches!(access, Access::InPlace | Access::Packed(PackBy::Runs | PackBy::Depth));
    let reliable = candidate.access.iter().all(in_runs) && matches!(candidate.out, OutAccess::Direct);
    Price { nanoseconds, reliable, effort: cost::effort(&candidate, dtype, target, grid.shares()) }
}

/// With enough boxes for all threads; returns the price on them, too.
fn cheapest(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> (f64, Candidate, Grid) {
    let mut best: Option<(f64, Candidate)> = None;
    for swapped in [false, true] {
        let view = View::new(dims, swapped, dtype, target);
        view.candidates(&mut |candidate| {
            let least = best.as_ref().map_or(f64::INFINITY, |(least, _)| *least);
            let price = cost::cost(&candidate, dtype, target, least).total();
            if price < least {
                best = Some((price, candidate));
            }
        });
    }
    let (price, candidate) = best.expect("every view has the candidate that packs everything");
    let most_parts = Partial::new(dims).most_parts(dtype.size(), target.threads);
    let (grid, candidate) = grid(candidate, target.lanes(dtype), target.threads, most_parts);
    (price * cost::PARALLEL_LOSS.powi(i32::from(grid.shares() > 1)) / grid.shares() as f64, candidate, grid)
}

/// The cheapest plan and its nanoseconds; dimensions are fused with `fold`, and no extent is 0.
pub(in crate::local_plan) fn plan_gemm(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> (f64, GemmPlan) {
    let (price, candidate, grid) = cheapest(dims, dtype, target);
    let view = View::new(dims, candidate.swapped, dtype, target);
    let partial = Partial::new(dims);
    let prefetches = [0, 1].map(|operand| is_prefetched(&candidate, operand, dtype.size(), target));
    let mut batch = view.batch;
    batch.sort_by_key(|d| std::cmp::Reverse(d.strides[OUT].unsigned_abs()));
    let mut plan = GemmPlan {
        swapped: candidate.swapped,
        batch,
        slab: candidate.slab,
        rows: Axis::new(candidate.rows.into_vec(), candidate.runs[0]),
        cols: Axis::new(candidate.cols.into_vec(), candidate.runs[1]),
        depth: Axis::new(candidate.depth.into_vec(), [false; 2]),
        lanes: target.lanes(dtype),
        vectors: candidate.vectors,
        columns: candidate.columns,
        access: candidate.access,
        out: candidate.out,
        columns_inside: candidate.columns_inside,
        grid,
        partial,
        leaf_boxes: 0,
        levels: 0,
        merge: None,
        unpack: Vec::new(),
        row_tiles: Vec::new(),
        col_panels: Vec::new(),
        streams: false,
        prefetches,
    };
    if prefetches != [false; 2] {
        let line = CACHE_LINE / dtype.size();
        plan.rows.find_lines(0, line);
        (0..2).for_each(|operand| plan.depth.find_lines(operand, line));
    }
    plan.plan_tiles(dtype);
    plan.plan_unpack(dtype.size());
    (plan.leaf_boxes, plan.levels) =
        partial.halves(plan.depth.boxes(), grid.parts[3], operand_elements(dims), dtype, target);
    plan.plan_merge(dims, dtype.size(), target.threads);
    (price, plan)
}

/// Whether micro-kernels (only assembly) prefetch what is packed next of an operand: large ones, in boxes of short
/// stretches, which the processor would not prefetch.
fn is_prefetched(candidate: &Candidate, operand: usize, element: usize, target: &Target) -> bool {
    let Candidate { rows, cols, depth, access, .. } = candidate;
    let axis = [rows, cols][operand];
    let elements = axis.iter().chain(depth).map(|dim| dim.extent as f64).product::<f64>() * candidate.batches;
    let stretch = Footprint::new([axis, depth], [0, operand]).contiguous();
    let sides = [rows, cols].map(|axis| axis.iter().map(|dim| dim.tile).product::<usize>());
    let by_runs = access[operand] == Access::Packed(PackBy::Runs) && operand == 0;
    target.family != KernelFamily::Xsmm
        && (target.isa == Isa::Avx512 || (target.isa == Isa::Avx2 && operand == 0))
        && (by_runs || access[operand] == Access::Packed(PackBy::Depth))
        && access[0] != Access::InPlace
        && candidate.slab.size == 1
        && !candidate.columns_inside
        && elements * element as f64 >= target.caches.l2 as f64
        && stretch * element < MAX_PREFETCHED_STRETCH
        && sides.iter().all(|&side| side >= MIN_PREFETCHED_SIDE)
}

fn operand_elements(dims: &[Vec<Dim<3>>; 4]) -> usize {
    let elements = |t: usize| {
        let moving = dims.iter().flatten().filter(|dim| dim.strides[t] != 0);
        moving.fold(1usize, |all, dim| all.saturating_mul(dim.extent))
    };
    elements(0).saturating_add(elements(1))
}

impl View {
    fn candidates(&self, take: &mut dyn FnMut(Candidate)) {
        for rows in self.row_orders() {
            for depth in orders(&self.depth, [0, 1]) {
                for cols in orders(&self.cols, [0, 1]) {
                    self.candidate(&rows, &depth, &cols, take);
                }
            }
        }
    }

    /// Orders of the row dimensions: the first, with the vectors, has the smallest stride in the operand or in `out`;
    /// the others are sorted by their strides in either. Of equal prices, the first is chosen.
    fn row_orders(&self) -> Vec<Vec<usize>> {
        let plain = orders(&self.rows, [1, 0]);
        if self.rows.len() < 3 || plain.len() < 2 {
            return plain;
        }
        let (by_out, by_operand) = (&plain[0], &plain[1]);
        let mut lists = Vec::with_capacity(4);
        for (first, others) in [(by_operand, by_out), (by_out, by_operand)] {
            let mut list = vec![first[0]];
            list.extend(others.iter().filter(|&&i| i != list[0]).copied().collect::<Vec<_>>());
            lists.push(list);
        }
        for list in plain {
            if !lists.contains(&list) {
                lists.push(list);
            }
        }
        lists
    }

    fn candidate(&self, rows: &[usize], depth: &[usize], cols: &[usize], take: &mut dyn FnMut(Candidate)) {
        let rows: AxisDims = rows.iter().map(|&i| self.rows[i]).collect();
        let cols: AxisDims = cols.iter().map(|&i| self.cols[i]).collect();
        let depth: AxisDims = depth.iter().map(|&i| self.depth[i]).collect();
        let slab_unit = |t: usize| self.slab.dim.strides[t] == 1;

        let vectors_in = |t: usize| rows.first().is_none_or(|d| d.strides[t] == 1);
        let rows_in_place = vectors_in(0) && !slab_unit(0);
        let out_direct = !slab_unit(2);
        let out_buffered = slab_unit(2) || !vectors_in(1) || rows.first().is_none_or(|d| d.extent < self.lanes);
        for a in [true, false] {
            for b in [true, false] {
                if (a && !rows_in_place) || (b && slab_unit(1)) {
                    continue;
                }
                for buffered in [false, true] {
                    if (buffered && !out_buffered) || (!buffered && !out_direct) {
                        continue;
                    }
                    let out = if buffered { OutAccess::Buffered } else { OutAccess::Direct };
                    // If `even`, panels end where runs of `out` do.
                    for even in [true, false] {
                        if even && (buffered || !vectors_in(1)) {
                            continue;
                        }
                        take(Blocking::new(self, [&rows, &cols, &depth], [a, b], out, even).candidate());
                    }
                }
            }
        }
    }
}

fn orders(dims: &[AxisDim], tensors: [usize; 2]) -> Vec<Vec<usize>> {
    let mut lists: Vec<Vec<usize>> = Vec::with_capacity(2);
    for t in tensors {
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.sort_by_key(|&i| dims[i].strides[t].unsigned_abs());
        if !lists.contains(&order) {
            lists.push(order);
        }
    }
    lists
}
