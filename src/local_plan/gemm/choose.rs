//! Chooses rows, columns, boxes and packing: the cheapest of a few candidates by [`super::cost`].

use super::axis::run_of_box;
use super::grid::{Grid, grid};
use super::partial::Partial;
use super::{Access, Axis, AxisDim, GemmPlan, OutAccess, PackBy, Slab, cost, cycles_of_step, register_tiles};
use crate::dtype::Dtype;
use crate::local_plan::{CACHE_LINE, Dim, Price, Target};

/// The index of out in every array of strides of a [`Dim`], after left and right.
const OUT: usize = 2;
/// Depth of the deepest box: sums stay in registers for at most this many terms.
const DEEPEST: usize = 512;
/// The same if the operands have stride 1 along different dimensions of the depth, where boxes of whole cache lines of
/// both move less.
const DEEPEST_CROSSED: usize = 896;
/// Most bytes of packed columns: more than one core's share of the last-level cache gains nothing.
pub(super) const COLUMN_BYTES: usize = 4 << 20;

/// A plan without tables and threads: all that its price depends on.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub swapped: bool,
    pub batches: f64,
    pub slab: Slab,
    pub rows: Vec<AxisDim>,
    pub cols: Vec<AxisDim>,
    pub depth: Vec<AxisDim>,
    /// In which tensors panels of rows and of columns are evenly spaced.
    pub runs: [[bool; 2]; 2],
    pub vectors: usize,
    pub columns: usize,
    pub access: [Access; 2],
    pub out: OutAccess,
    /// Whether the inner loop is over panels of columns.
    pub columns_inside: bool,
}

/// The price of the cheapest plan, without the plan. Dimensions are folded, and none is empty.
pub(in crate::local_plan) fn price_gemm(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> Price {
    let (nanoseconds, candidate, _) = cheapest(dims, dtype, target);
    let in_runs = |access: &Access| matches!(access, Access::InPlace | Access::Packed(PackBy::Runs | PackBy::Depth));
    let sure = candidate.access.iter().all(in_runs) && matches!(candidate.out, OutAccess::Direct);
    Price { nanoseconds, sure }
}

/// The cheapest candidate, cut for threads, with its price and its grid.
fn cheapest(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> (f64, Candidate, Grid) {
    let mut best: Option<(f64, Candidate)> = None;
    for swapped in [false, true] {
        let view = View::new(dims, swapped, dtype, target);
        view.candidates(&mut |candidate| {
            let price = cost::price(&candidate, dtype, target);
            if best.as_ref().is_none_or(|(least, _)| price < *least) {
                best = Some((price, candidate));
            }
        });
    }
    let (price, candidate) = best.expect("every view has the candidate that packs everything");
    let most_parts = Partial::new(dims).most_parts(dtype.size(), target.threads);
    let (grid, candidate) = grid(candidate, target.lanes(dtype), target.threads, most_parts);
    (price * cost::PARALLEL_LOSS.powi(i32::from(grid.shares() > 1)) / grid.shares() as f64, candidate, grid)
}

/// The cheapest plan found and its price in nanoseconds. Dimensions are folded, and none is empty.
pub(in crate::local_plan) fn plan_gemm(dims: &[Vec<Dim<3>>; 4], dtype: Dtype, target: &Target) -> (f64, GemmPlan) {
    let (price, candidate, grid) = cheapest(dims, dtype, target);
    let view = View::new(dims, candidate.swapped, dtype, target);
    let partial = Partial::new(dims);
    let mut batch = view.batch;
    batch.sort_by_key(|d| std::cmp::Reverse(d.strides[OUT].unsigned_abs()));
    let mut plan = GemmPlan {
        swapped: candidate.swapped,
        batch,
        slab: candidate.slab,
        rows: Axis::new(candidate.rows, candidate.runs[0]),
        cols: Axis::new(candidate.cols, candidate.runs[1]),
        depth: Axis::new(candidate.depth, [false; 2]),
        lanes: target.lanes(dtype),
        vectors: candidate.vectors,
        columns: candidate.columns,
        access: candidate.access,
        out: candidate.out,
        columns_inside: candidate.columns_inside,
        grid,
        partial,
        leaf: 0,
        levels: 0,
        merge: None,
        unpack: Vec::new(),
        row_tiles: Vec::new(),
        col_panels: Vec::new(),
        streams: false,
    };
    plan.plan_tiles(dtype);
    plan.plan_unpack(dtype.size());
    (plan.leaf, plan.levels) = partial.halves(plan.depth.boxes(), grid.parts[3], operand_elements(dims), dtype, target);
    plan.plan_merge(dims, dtype.size(), target.threads);
    (price, plan)
}

/// Elements of both operands.
fn operand_elements(dims: &[Vec<Dim<3>>; 4]) -> usize {
    let elements = |t: usize| {
        let moving = dims.iter().flatten().filter(|dim| dim.strides[t] != 0);
        moving.fold(1usize, |all, dim| all.saturating_mul(dim.extent))
    };
    elements(0).saturating_add(elements(1))
}

/// The dimensions, with one of the operands as the rows' operand.
struct View {
    swapped: bool,
    batch: Vec<Dim<3>>,
    slab: Slab,
    rows: Vec<AxisDim>,
    cols: Vec<AxisDim>,
    depth: Vec<AxisDim>,
    /// Elements of a vector.
    lanes: usize,
    element: usize,
    /// Real numbers per element.
    parts: usize,
    tiles: &'static [(usize, usize)],
    l1: usize,
    l2: usize,
}

impl View {
    fn new(dims: &[Vec<Dim<3>>; 4], swapped: bool, dtype: Dtype, target: &Target) -> View {
        let (a, b) = if swapped { (1, 0) } else { (0, 1) };
        let [c, m, n, k] = dims;
        let (row_dims, col_dims) = if swapped { (n, m) } else { (m, n) };
        let axis = |dims: &[Dim<3>], first: usize, second: usize| -> Vec<AxisDim> {
            dims.iter()
                .map(|d| AxisDim { extent: d.extent, tile: 1, strides: [d.strides[first], d.strides[second]] })
                .collect()
        };
        let mut batch: Vec<Dim<3>> =
            c.iter().map(|d| Dim { extent: d.extent, strides: [d.strides[a], d.strides[b], d.strides[OUT]] }).collect();
        // A dimension of kind c with stride 1 in some tensor is the slab: several of its indices are packed at once.
        let adjacent = |d: &Dim<3>| d.strides.iter().filter(|&&s| s == 1).count();
        let slab = (0..batch.len()).filter(|&i| adjacent(&batch[i]) > 0).max_by_key(|&i| adjacent(&batch[i]));
        let slab = slab.map_or(Slab { dim: Dim { extent: 1, strides: [0; 3] }, size: 1 }, |at| {
            let dim = batch.remove(at);
            Slab { size: dim.extent.min(CACHE_LINE / dtype.size()), dim }
        });
        View {
            swapped,
            batch,
            slab,
            rows: axis(row_dims, a, OUT),
            cols: axis(col_dims, b, OUT),
            depth: axis(k, a, b),
            lanes: target.lanes(dtype),
            element: dtype.size(),
            parts: if dtype.is_complex() { 2 } else { 1 },
            tiles: register_tiles(target.isa, target.family, dtype.is_complex()),
            l1: target.caches.l1,
            l2: target.caches.l2,
        }
    }

    fn candidates(&self, take: &mut dyn FnMut(Candidate)) {
        for rows in self.row_orders() {
            for depth in orders(&self.depth, [0, 1]) {
                for cols in orders(&self.cols, [0, 1]) {
                    self.candidate(&rows, &depth, &cols, take);
                }
            }
        }
    }

    /// Orders of the row dimensions: vectors are formed along the dimension of smallest stride in the operand or in
    /// out, and the others follow by their strides in one or the other. The mixed orders come first: of boxes of one
    /// price, those that start with contiguous elements of both tensors are packed and written fastest.
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

    /// The candidates for one order of the dimensions: all ways to read and write.
    fn candidate(&self, rows: &[usize], depth: &[usize], cols: &[usize], take: &mut dyn FnMut(Candidate)) {
        let rows: Vec<AxisDim> = rows.iter().map(|&i| self.rows[i]).collect();
        let cols: Vec<AxisDim> = cols.iter().map(|&i| self.cols[i]).collect();
        let depth: Vec<AxisDim> = depth.iter().map(|&i| self.depth[i]).collect();
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
                    // Panels end with the runs of out, or cross the ends of runs and are written piece by piece.
                    for even in [true, false] {
                        if even && (buffered || !vectors_in(1)) {
                            continue;
                        }
                        take(self.boxes(&rows, &cols, &depth, [a, b], out, even));
                    }
                }
            }
        }
    }

    /// Cuts the axes into boxes for one way to read and write.
    fn boxes(
        &self,
        rows: &[AxisDim],
        cols: &[AxisDim],
        depth: &[AxisDim],
        in_place: [bool; 2],
        out: OutAccess,
        even: bool,
    ) -> Candidate {
        let line = CACHE_LINE / self.element;
        let size = |dims: &[AxisDim]| dims.iter().map(|d| d.extent).product::<usize>();
        let (all_rows, all_cols) = (size(rows), size(cols));
        let runs = [[in_place[0], even], [in_place[1], false]];
        let run = |dims: &[AxisDim], tensors| run_of_box(dims, |i| dims[i].extent, tensors);
        let (row_run, col_run) = (run(rows, runs[0]), run(cols, runs[1]));
        let (vectors, columns) = self.tile([row_run, all_rows / row_run], [col_run, all_cols / col_run]);
        let mr = vectors * self.lanes;
        let slab_unit = |t: usize| self.slab.dim.strides[t] == 1;
        let uses_slab = (slab_unit(0) && !in_place[0]) || (slab_unit(1) && !in_place[1]) || slab_unit(2);
        let slab = Slab { size: if uses_slab { self.slab.size } else { 1 }, ..self.slab };

        // Elements that share a cache line of a packed or buffered tensor belong in one box, unless that breaks up the
        // single stride of a tensor that is read in place.
        let needs = |dims: &[AxisDim], tensors: [bool; 2], most: usize| -> Vec<usize> {
            let together = |d: &AxisDim| (0..2).any(|t| tensors[t] && d.strides[t] == 1);
            let need = |whole: usize| -> Vec<usize> {
                let lines = |d: &AxisDim| if d.extent < whole { d.extent } else { line.min(d.extent) };
                dims.iter().map(|d| if together(d) { lines(d) } else { 1 }).collect()
            };
            // Dimensions of less than two cache lines are not cut, if all of them fit.
            let need_whole = need(2 * line);
            if need_whole.iter().product::<usize>() <= most { need_whole } else { need(0) }
        };
        let buffered = out == OutAccess::Buffered;

        let mut depth = depth.to_vec();
        let single = |dims: &mut [AxisDim], t: usize| {
            // A tensor read in place has a single stride: all dimensions that continue the first, and no others.
            let mut stop = false;
            for i in 1..dims.len() {
                stop |= dims[i].strides[t] != dims[i - 1].strides[t] * dims[i - 1].extent as isize;
                if stop {
                    dims[i].tile = 0;
                }
            }
        };
        if in_place[0] {
            single(&mut depth, 0);
        }
        if in_place[1] {
            single(&mut depth, 1);
        }
        let unit = |t: usize| depth.iter().position(|d| d.extent > 1 && d.strides[t] == 1).filter(|_| !in_place[t]);
        let crossed = unit(0).is_some() && unit(1).is_some() && unit(0) != unit(1);
        let deepest = if crossed { DEEPEST_CROSSED } else { DEEPEST };
        let deepest = (self.l1 * 3 / 5 / (columns * self.element)).clamp(64, deepest) / slab.size.clamp(1, 4);
        let deepest = deepest.max(32);
        let need = needs(&depth, [in_place == [false; 2]; 2], deepest);
        grow(&mut depth, &need, deepest, (1, 1));
        let kc: usize = depth.iter().map(|d| d.tile).product();

        let mut rows = rows.to_vec();
        let budget = self.l2 * 2 / 5 / slab.size;
        let of_rows = if buffered { kc + columns.max(all_cols.min(256)) } else { kc };
        let most = (budget / (of_rows * self.element)).max(mr) / mr * mr;
        // Sums of few terms are bound by the loads of a tile: rows then stay in the first-level cache, and columns
        // stream past.
        let near = self.l1 / 3 / (kc * self.element) / mr * mr;
        let most = if near >= 2 * mr && !buffered { most.min(near) } else { most };
        let need = needs(&rows, [true, buffered], most);
        // If panels cross the ends of runs, only one of them is shorter.
        let in_run = if runs[0] == [false; 2] { 1 } else { run_dims(&rows, runs[0]) };
        grow(&mut rows, &need, most, (mr, in_run));
        let mc: usize = rows.iter().map(|d| d.tile).product();

        let mut cols = cols.to_vec();
        let most = if buffered {
            (budget / (mc * self.element)).max(columns)
        } else {
            (COLUMN_BYTES / slab.size / (kc * self.element)).max(columns)
        };
        let most = most / columns * columns;
        let need = needs(&cols, [true, buffered], most);
        grow(&mut cols, &need, most, (columns, 1));

        let access = [0, 1].map(|operand| {
            if in_place[operand] {
                return Access::InPlace;
            }
            let axis = if operand == 0 { &rows } else { &cols };
            let unit = |d: &AxisDim, t: usize| d.strides[t] == 1;
            Access::Packed(if slab.dim.strides[operand] == 1 {
                PackBy::Slab
            } else if axis.first().is_some_and(|d| unit(d, 0)) {
                PackBy::Runs
            } else if depth.iter().any(|d| unit(d, operand)) {
                PackBy::Depth
            } else if axis.iter().any(|d| unit(d, 0)) {
                PackBy::Across
            } else {
                PackBy::Elements
            })
        });
        let batches = self.batch.iter().map(|d| d.extent as f64).product::<f64>() * self.slab.dim.extent as f64;
        // With columns inside, the rows' panel stays in the first-level cache, and out is written close to where it was
        // before.
        let closest = |dims: &[AxisDim]| {
            let steps = dims.iter().map(|d| d.strides[1].unsigned_abs()).filter(|&s| s > 1);
            steps.min().unwrap_or(usize::MAX)
        };
        let columns_inside = out == OutAccess::Direct
            && closest(&cols) < closest(&rows)
            && mr * kc * self.element <= self.l1 / 2
            && row_run < mc;
        Candidate {
            swapped: self.swapped,
            batches,
            slab,
            rows,
            cols,
            depth,
            runs,
            vectors,
            columns,
            access,
            out,
            columns_inside,
        }
    }

    /// The register tile that wastes the fewest cycles on these rows and columns, each given as the length and the
    /// number of runs.
    fn tile(&self, [rows, row_runs]: [usize; 2], [cols, col_runs]: [usize; 2]) -> (usize, usize) {
        let waste = |&(vectors, columns): &(usize, usize)| {
            let columns = balanced(cols, columns);
            let cycles = |v, n| cycles_of_step(v, n * self.parts);
            let (full, last) = (rows / (vectors * self.lanes), (rows % (vectors * self.lanes)).div_ceil(self.lanes));
            let tall = |n: usize| full as f64 * cycles(vectors, n) + if last > 0 { cycles(last, n) } else { 0.0 };
            let (whole, rest) = (cols / columns, cols % columns);
            let one = whole as f64 * tall(columns) + if rest > 0 { tall(rest) } else { 0.0 };
            one * (row_runs * col_runs) as f64
        };
        let best = self.tiles.iter().min_by(|x, y| waste(x).total_cmp(&waste(y)));
        let &(vectors, columns) = best.expect("every instruction set has a tile");
        (vectors, balanced(cols, columns))
    }
}

/// The number of leading dimensions over which indices are evenly spaced in the chosen tensors.
fn run_dims(dims: &[AxisDim], tensors: [bool; 2]) -> usize {
    let goes_on = |pair: &[AxisDim]| {
        (0..2).all(|t| !tensors[t] || pair[1].strides[t] == pair[0].strides[t] * pair[0].extent as isize)
    };
    let more = dims.windows(2).take_while(|pair| goes_on(pair)).count();
    dims.len().min(1 + more)
}

/// Columns of a panel, at most `most`: if that makes few panels, they are about equally wide.
fn balanced(cols: usize, most: usize) -> usize {
    let panels = cols.div_ceil(most);
    if panels <= 4 { cols.div_ceil(panels) } else { most }
}

/// The distinct orders of the dimensions, fastest first, by their strides in one tensor and in the other.
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

/// Sets the tile of every dimension, as large as `most` indices of a box allow, the fastest dimension first; dimensions
/// of tile 0 get 1.
///
/// `need`: the least tile of each dimension. `unit`: boxes are multiples of it, within the first `in_run` dimensions
/// and as far as there is room.
pub(super) fn grow(dims: &mut [AxisDim], need: &[usize], most: usize, (unit, in_run): (usize, usize)) {
    let fixed: Vec<bool> = dims.iter().map(|d| d.tile == 0).collect();
    for (dim, &need) in dims.iter_mut().zip(need) {
        dim.tile = if dim.tile == 0 { 1 } else { need };
    }
    for i in 0..dims.len() {
        if fixed[i] {
            continue;
        }
        let others: usize = dims.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, d)| d.tile).product();
        let before: usize = dims[..i].iter().map(|d| d.tile).product();
        let room = most / others;
        let dim = &mut dims[i];
        if room >= dim.extent {
            dim.tile = dim.extent;
            continue;
        }
        if room > dim.tile {
            let even = dim.extent.div_ceil(dim.extent.div_ceil(room));
            let rounded = if i < in_run { even.next_multiple_of(unit / gcd(unit, before)) } else { even };
            // Whole register tiles are worth a little more room.
            let most = (room + room / 10).max(if i == 0 { unit } else { 0 });
            dim.tile = if rounded <= most { rounded.min(dim.extent) } else { even };
        }
        break;
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims<const N: usize>(extents: [usize; N]) -> [AxisDim; N] {
        extents.map(|extent| AxisDim { extent, tile: extent, strides: [1, 1] })
    }

    fn grown<const N: usize>(extents: [usize; N], need: [usize; N], most: usize, units: (usize, usize)) -> [usize; N] {
        let mut dims = dims(extents);
        grow(&mut dims, &need, most, units);
        dims.map(|dim| dim.tile)
    }

    #[test]
    fn boxes_grow_as_far_as_there_is_room() {
        assert_eq!(grown([], [], 10, (4, 1)), [0; 0]);
        assert_eq!(grown([52, 52], [1, 1], 5000, (16, 1)), [52, 52], "all fits");
        assert_eq!(grown([100], [1], 40, (16, 1)), [34], "three even pieces");
        assert_eq!(grown([100], [1], 45, (16, 1)), [48], "whole units, with a tenth more room");
        assert_eq!(grown([100], [1], 8, (16, 1)), [16], "a unit at least");
        assert_eq!(grown([52, 52], [26, 16], 416, (1, 1)), [26, 16], "as much as is needed");
        assert_eq!(grown([8, 32, 8], [1, 1, 8], 704, (48, 1)), [8, 11, 8]);
        assert_eq!(grown([8, 32, 8], [1, 1, 8], 704, (48, 2)), [8, 12, 8], "8 times 12 are two units of 48");
        let mut fixed = dims([8, 32]);
        fixed[1].tile = 0;
        grow(&mut fixed, &[1, 1], 100, (4, 1));
        assert_eq!(fixed.map(|dim| dim.tile), [8, 1], "what has no tile stays alone");
    }

    #[test]
    fn runs_go_on_while_strides_do() {
        let dim = |extent, strides| AxisDim { extent, tile: extent, strides };
        let dims = [dim(4, [1, 8]), dim(2, [4, 1]), dim(3, [8, 100])];
        let run = |tensors| run_of_box(&dims, |i| dims[i].extent, tensors);
        let of = |tensors| (run_dims(&dims, tensors), run(tensors));
        assert_eq!(of([true, false]), (3, 24));
        assert_eq!(of([false, true]), (1, 4));
        assert_eq!(of([true, true]), (1, 4));
        assert_eq!(of([false, false]), (3, 24));
        assert_eq!(run_of_box(&[], |_| 0, [true, true]), 1);
        // A box that cuts the first dimension ends its runs there.
        assert_eq!(run_of_box(&dims, |i| [2, 2, 3][i], [true, false]), 2);
    }
}
