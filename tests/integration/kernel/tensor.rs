//! Generates seeded random tensors with all kinds of strides for the kernel tests.

use crate::common::Rng;

use einsum_dist::kernel::Element;
use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, Slice};

/// Number of elements before and after every tensor.
const GUARD: usize = 72;
/// Maximum number of elements in the memory of a small tensor with gaps. The memory of a larger tensor is at most three
/// times its size.
const ROOMY: usize = 1 << 13;

/// The order of dimensions in memory, and the gaps between elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    Any,
    /// Any order, without gaps.
    Dense,
    /// The order of the dimensions, without gaps.
    RowMajor,
}

impl Order {
    pub fn dense_if(dense: bool) -> Order {
        if dense { Order::Dense } else { Order::Any }
    }
}

/// Memory and a view of it. The view may have its dimensions in any order, gaps and negative strides.
#[derive(Clone)]
pub struct Tensor<T> {
    /// All elements, between two guards.
    memory: Vec<T>,
    /// First index, step and length of the range that the view uses along each axis of memory.
    cuts: Vec<(usize, isize, usize)>,
    /// Axis of memory for each axis of the view.
    order: Vec<usize>,
    /// Extents and strides of the memory's axes. A broadcast axis has stride 0.
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl<T: Element> Tensor<T> {
    /// A tensor of the given shape.
    pub fn random(rng: &mut Rng, extents: &[usize], order: Order, may_broadcast: bool) -> Self {
        let plain = order != Order::Any;
        let mut axes: Vec<usize> = (0..extents.len()).collect();
        if order != Order::RowMajor {
            rng.shuffle(&mut axes);
        }
        let elements: usize = extents.iter().product();
        // Factor by which gaps may still enlarge the memory.
        let mut room = (ROOMY / elements.max(1)).max(3);
        let (mut shape, mut repeated, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        for &axis in &axes {
            let extent = extents[axis];
            if may_broadcast && !plain && extent > 1 && rng.one_in(12) {
                shape.push(extent);
                repeated.push(true);
                cuts.push((0, 1, extent));
                continue;
            }
            let odd = |rng: &mut Rng| !plain && rng.one_in(4);
            let mut step = if odd(rng) { 1 + rng.below(3) } else { 1 };
            let mut before = if odd(rng) { rng.below(3) } else { 0 };
            let mut after = if odd(rng) { rng.below(3) } else { 0 };
            let sign = if odd(rng) { -1 } else { 1 };
            let span = |step: usize| if extent == 0 { 0 } else { (extent - 1) * step + 1 };
            let times = (before + span(step) + after).div_ceil(extent.max(1));
            if times > room {
                (step, before, after) = (1, 0, 0);
            } else {
                room /= times.max(1);
            }
            shape.push(before + span(step) + after);
            repeated.push(false);
            cuts.push((before, sign * step as isize, span(step)));
        }
        let mut stored = 1;
        let mut strides = vec![0; shape.len()];
        for axis in (0..shape.len()).rev().filter(|&axis| !repeated[axis]) {
            strides[axis] = stored;
            // Views without elements must also be inside their memory.
            stored *= shape[axis].max(1);
        }
        let mut order = vec![0; extents.len()];
        axes.iter().enumerate().for_each(|(at, &axis)| order[axis] = at);
        let memory = (0..stored + 2 * GUARD).map(|_| rng.element()).collect();
        Tensor { memory, cuts, order, shape, strides }
    }

    pub fn view(&self) -> ArrayViewD<'_, T> {
        let memory = &self.memory[GUARD..self.memory.len() - GUARD];
        let shape = IxDyn(&self.shape).strides(IxDyn(&self.strides));
        let mut view = ArrayViewD::from_shape(shape, memory).expect("strides of this memory");
        for (axis, &(start, step, span)) in self.cuts.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, Some((start + span) as isize), step));
        }
        view.permuted_axes(IxDyn(&self.order))
    }

    /// Must not be called for broadcast tensors, because their elements share memory.
    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let end = self.memory.len() - GUARD;
        let shape = IxDyn(&self.shape).strides(IxDyn(&self.strides));
        let mut view = ArrayViewMutD::from_shape(shape, &mut self.memory[GUARD..end]).expect("strides of this memory");
        for (axis, &(start, step, span)) in self.cuts.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, Some((start + span) as isize), step));
        }
        view.permuted_axes(IxDyn(&self.order))
    }

    /// Whether all gaps and guards contain `value`. Overwrites the elements of the view.
    pub fn gaps_are(&mut self, value: T) -> bool {
        self.view_mut().fill(value);
        self.memory.iter().all(|&element| element == value)
    }

    /// All memory, including the gaps and the guards.
    pub fn memory(&self) -> &[T] {
        &self.memory
    }

    /// The same view of new memory that is filled with `value`.
    pub fn filled(&self, value: T) -> Self {
        Tensor { memory: vec![value; self.memory.len()], ..self.clone() }
    }

    pub fn fill_memory(&mut self, value: T) {
        self.memory.fill(value);
    }
}
