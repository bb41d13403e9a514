//! The plan of one local contraction.
//!
//! Invariants: every index of the index space is visited exactly once; blocks of a [`GemmPlan`] write disjoint elements
//! of out, so any assignment of blocks to threads gives the same bits; the plan depends on layouts and thread count only.

use super::access::size;
use super::{Access, Dim, Layout, LoopPlan, choose, cost, fold, plan_loops};
use crate::dims::{Kind, Label, classify};

/// Tensors in the order of every array of strides.
const LEFT: usize = 0;
const RIGHT: usize = 1;
const OUT: usize = 2;

/// Below this many multiply-adds, planning a matrix product costs more than it gains.
const TINY: f64 = 512.0;
/// Below this many multiply-adds, waking a second thread costs more than it gains.
const WORTH_THREADS: f64 = 65_536.0;
/// A single matrix product smaller than this runs on one thread.
const WORTH_SPLITTING: usize = 48 * 48 * 256;
/// Elements of one packed slab of matrices that small ones are gathered up to.
const SLAB_ELEMENTS: usize = 1 << 17;
/// Packed buffers start on a cache line for every element type.
const ALIGN: usize = 16;

/// How to contract two tensors of given layouts on a given number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalContract {
    extents: [Vec<usize>; 3],
    strides: [Vec<isize>; 3],
    body: Body,
}

/// What is left to do after looking at the extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Out has no elements.
    Nothing,
    /// A sum over nothing: out is only scaled.
    Scale,
    Loops(LoopPlan),
    Gemm(Box<GemmPlan>),
}

/// How threads share the blocks of a [`GemmPlan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// One after the other, each on so many threads.
    Inside(usize),
    /// So many contiguous shares, each on one thread.
    Blocks(usize),
}

/// Loops around packing and matrix products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmPlan {
    /// Loops over blocks of out, outermost first; the slab's steps are not among them.
    pub outer: Vec<Dim<3>>,
    /// A dimension of kind c of which `slab_size` indices are packed together.
    pub slab: Dim<3>,
    pub slab_size: usize,
    /// Loops over the sum around the matrix product.
    pub sum: Vec<Dim<3>>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub access: [Access; 3],
    pub cut: Cut,
}

/// Plans `left, right -> out`.
///
/// # Panics
/// If the labels are no binary contraction, or a label has different extents.
pub fn plan_contract(
    left: &Layout,
    right: &Layout,
    out: &Layout,
    element_bytes: usize,
    threads: usize,
) -> LocalContract {
    let tensors = [left, right, out];
    let kinds = match classify(left.labels, right.labels, out.labels) {
        Ok(kinds) => kinds,
        Err(error) => panic!("no contraction {:?}, {:?} -> {:?}: {error}", left.labels, right.labels, out.labels),
    };
    let mut dims: [Vec<Dim<3>>; 4] = Default::default();
    for (label, kind) in kinds.iter() {
        let dim = Dim { extent: agreed_extent(label, tensors), strides: tensors.map(|t| t.stride(label)) };
        // A dimension that an operand only repeats belongs to the other operand alone.
        let kind = match (kind, dim.strides) {
            (Kind::C, [l, 0, _]) if l != 0 => Kind::M,
            (Kind::C, [0, r, _]) if r != 0 => Kind::N,
            (kind, _) => kind,
        };
        dims[kind as usize].push(dim);
    }
    let empty = |kinds: &[Kind]| kinds.iter().any(|&kind| dims[kind as usize].iter().any(|d| d.extent == 0));
    let body = if empty(&[Kind::C, Kind::M, Kind::N]) {
        Body::Nothing
    } else if empty(&[Kind::K]) {
        Body::Scale
    } else {
        plan_body(dims.map(fold), element_bytes, threads.max(1))
    };
    LocalContract { extents: tensors.map(|t| t.extents.to_vec()), strides: tensors.map(|t| t.strides.to_vec()), body }
}

fn agreed_extent(label: Label, tensors: [&Layout; 3]) -> usize {
    let mut extents = tensors.iter().filter_map(|t| t.extent(label));
    let first = extents.next().unwrap_or(1);
    for other in extents {
        assert_eq!(first, other, "label {label:?} has extents {first} and {other}");
    }
    first
}

impl LocalContract {
    /// Read-only, as kernels trust it to stay inside the tensors it was planned for.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Elements of workspace that running it takes.
    pub fn workspace_elements(&self) -> usize {
        match &self.body {
            Body::Gemm(plan) => plan.workspace_elements(),
            Body::Loops(plan) => plan.workspace_elements(),
            _ => 0,
        }
    }

    /// Whether a tensor (0 left, 1 right, 2 out) is laid out as this was planned for.
    pub fn fits(&self, tensor: usize, extents: &[usize], strides: &[isize]) -> bool {
        // Not by slices: comparing the memory of empty ones, which is nowhere, can take hundreds of nanoseconds.
        self.extents[tensor].iter().eq(extents) && self.strides[tensor].iter().eq(strides)
    }
}

impl GemmPlan {
    /// Blocks of out; slabs count once.
    pub fn blocks(&self) -> usize {
        self.outer.iter().map(|d| d.extent).product::<usize>() * self.slabs()
    }

    pub fn slabs(&self) -> usize {
        self.slab.extent.div_ceil(self.slab_size)
    }

    /// Elements of the packed left, right and out of one share, each rounded up to whole cache lines.
    pub fn packed_elements(&self) -> [usize; 3] {
        [LEFT, RIGHT, OUT].map(|t| (self.access[t].elements() * self.slab_size).next_multiple_of(ALIGN))
    }

    fn workspace_elements(&self) -> usize {
        let shares = match self.cut {
            Cut::Inside(_) => 1,
            Cut::Blocks(shares) => shares,
        };
        shares * self.packed_elements().iter().sum::<usize>()
    }
}

/// Dimensions are folded and none is empty.
fn plan_body(dims: [Vec<Dim<3>>; 4], element_bytes: usize, threads: usize) -> Body {
    let multiply_adds: f64 = dims.iter().flatten().map(|d| d.extent as f64).product();
    let threads = if multiply_adds < WORTH_THREADS { 1 } else { threads };
    let loops = plan_loops(&dims, element_bytes, threads);
    // Without rows, columns or a sum there is nothing that a matrix product would use twice.
    if multiply_adds <= TINY || dims[1..].iter().any(Vec::is_empty) {
        return Body::Loops(loops);
    }
    let loops_cost = loops.cost();
    match plan_gemm(&dims, threads) {
        (gemm_cost, gemm) if gemm_cost < loops_cost => Body::Gemm(Box::new(gemm)),
        _ => Body::Loops(loops),
    }
}

fn plan_gemm(dims: &[Vec<Dim<3>>; 4], threads: usize) -> (f64, GemmPlan) {
    let [_, m, n, k] = dims;
    let rows = choose::candidates(m, LEFT, OUT);
    let cols = choose::candidates(n, RIGHT, OUT);
    let depths = choose::candidates(k, LEFT, RIGHT);
    let mut best: Option<(f64, GemmPlan)> = None;
    for rows in &rows {
        for cols in &cols {
            for depth in &depths {
                let candidate = evaluate(dims, [rows, cols, depth], threads);
                if best.as_ref().is_none_or(|(cost, _)| candidate.0 < *cost) {
                    best = Some(candidate);
                }
            }
        }
    }
    best.expect("each list of candidates holds the list of all dimensions")
}

/// The cheapest plan whose inner matrices are made of the given dimensions of kinds m, n and k.
fn evaluate(dims: &[Vec<Dim<3>>; 4], inner: [&[usize]; 3], threads: usize) -> (f64, GemmPlan) {
    let [c, m, n, k] = dims;
    let pick = |dims: &[Dim<3>], list: &[usize]| list.iter().map(|&i| dims[i]).collect::<Vec<_>>();
    let rest = |dims: &[Dim<3>], list: &[usize]| {
        (0..dims.len()).filter(|i| !list.contains(i)).map(|i| dims[i]).collect::<Vec<_>>()
    };
    let [rows, cols, depth] = [pick(m, inner[0]), pick(n, inner[1]), pick(k, inner[2])];
    let (outer_m, outer_n, sum) = (rest(m, inner[0]), rest(n, inner[1]), rest(k, inner[2]));
    let sizes = [&rows, &cols, &depth].map(|dims| dims.iter().map(|d| d.extent).product::<usize>());
    let [m_size, n_size, k_size] = sizes;

    let matrices = [(&rows, &depth), (&depth, &cols), (&rows, &cols)];
    let areas = [m_size * k_size, k_size * n_size, m_size * n_size];
    let smallest = [LEFT, RIGHT, OUT].map(|t| smallest_stride(dims, t));
    let (slab_at, slab) = slab_of(c, smallest);
    let largest = areas.into_iter().max().unwrap_or(1).max(1);
    // Enough slabs for every thread, unless that would break up a cache line.
    let share = slab.extent.div_ceil(2 * threads).max(8.min(slab.extent));
    let slab_size = (SLAB_ELEMENTS / largest).clamp(8.min(slab.extent), share);

    let product_of = |dims: &[Dim<3>]| dims.iter().map(|d| d.extent as f64).product::<f64>();
    let slabs = product_of(c) / slab_size as f64;
    let (om, on, os) = (product_of(&outer_m), product_of(&outer_n), product_of(&sum));
    // How often a packed slab is replaced, given that loops over n and then the sum run inside those over m.
    let packs = [
        slabs * if os > 1.0 { om * on * os } else { om },
        slabs * if on * os > 1.0 { om * on * os } else { 1.0 },
        slabs * om * on,
    ];
    let products = product_of(c) * om * on * os;
    let mut price = products * cost::product(sizes);
    let mut held = 0;
    let access = [LEFT, RIGHT, OUT].map(|t| {
        let of_tensor = |dims: &[Dim<3>]| -> Vec<Dim<1>> {
            dims.iter().map(|d| Dim { extent: d.extent, strides: [d.strides[t]] }).collect()
        };
        let (first, second) = (of_tensor(matrices[t].0), of_tensor(matrices[t].1));
        debug_assert_eq!(size(&first) * size(&second), areas[t]);
        let touch = |access: &Access| {
            let one = if t == OUT { cost::update(access, areas[t], k_size) } else { cost::read(access, areas[t]) };
            products * one
        };
        let slab_dim = Dim { extent: slab_size, strides: [slab.strides[t]] };
        let packed = Access::packed(&first, &second);
        let packed_price = touch(&packed)
            + packs[t] * cost::copy(&packed, &slab_dim, smallest[t])
            + cost::hold(packed.elements() * slab_size);
        match Access::in_place(&first, &second, slab.strides[t]) {
            Some(access) if touch(&access) <= packed_price => {
                price += touch(&access);
                access
            }
            _ => {
                price += packed_price;
                held += 1;
                packed
            }
        }
    });
    // Without packing, a slab is one index.
    let slab_size = if held == 0 { 1 } else { slab_size };
    let mut outer: Vec<Dim<3>> = (0..c.len()).filter(|&i| Some(i) != slab_at).map(|i| c[i]).collect();
    outer.extend(outer_m);
    outer.extend(outer_n);
    let mut plan =
        GemmPlan { outer, slab, slab_size, sum, m: m_size, n: n_size, k: k_size, access, cut: Cut::Inside(1) };
    plan.cut = cut(&plan, threads);
    (price, plan)
}

/// The least stride of a tensor over loops that move it.
fn smallest_stride(dims: &[Vec<Dim<3>>; 4], tensor: usize) -> usize {
    dims.iter().flatten().map(|d| d.strides[tensor].unsigned_abs()).filter(|&s| s > 0).min().unwrap_or(1)
}

/// The dimension of kind c to pack several of: the one beside which elements of a tensor lie closest.
fn slab_of(c: &[Dim<3>], smallest: [usize; 3]) -> (Option<usize>, Dim<3>) {
    let rank = |d: &Dim<3>| {
        let adjacent = (0..3).filter(|&t| d.strides[t].unsigned_abs() == smallest[t]).count();
        (adjacent, d.extent)
    };
    let at = (0..c.len()).max_by_key(|&i| rank(&c[i]));
    (at, at.map_or(Dim { extent: 1, strides: [0; 3] }, |i| c[i]))
}

fn cut(plan: &GemmPlan, threads: usize) -> Cut {
    let blocks = plan.blocks();
    let splittable = plan.m.saturating_mul(plan.n).saturating_mul(plan.k) >= WORTH_SPLITTING;
    if threads == 1 {
        Cut::Inside(1)
    } else if blocks.is_multiple_of(threads) || blocks >= 8 * threads {
        Cut::Blocks(threads)
    } else if splittable || blocks == 1 {
        Cut::Inside(threads)
    } else {
        Cut::Blocks(threads.min(blocks))
    }
}
