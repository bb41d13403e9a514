//! Seeded random tensors with every kind of stride, for the kernel tests.

#[path = "../common/rng.rs"]
mod rng;

pub use rng::Rng;

use einsum_dist::kernel::Element;
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, Slice};

/// Memory, and a view into it of any dimension order, with gaps, and backwards where it likes.
pub struct Tensor<T> {
    memory: ArrayD<T>,
    /// Per axis of the memory: first index, step, how many.
    cuts: Vec<(usize, isize, usize)>,
    /// The memory's axis of each axis of the view.
    order: Vec<usize>,
    /// The memory's shape, with the extent of axes that repeat one index.
    shape: Vec<usize>,
}

impl<T: Element> Tensor<T> {
    /// A tensor of the given shape; `plain` ones are dense but for the order of dimensions.
    pub fn random(rng: &mut Rng, extents: &[usize], plain: bool, may_broadcast: bool) -> Self {
        let mut axes: Vec<usize> = (0..extents.len()).collect();
        rng.shuffle(&mut axes);
        let (mut shape, mut stored, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        for &axis in &axes {
            let extent = extents[axis];
            if may_broadcast && !plain && extent > 1 && rng.one_in(12) {
                shape.push(extent);
                stored.push(1);
                cuts.push((0, 1, extent));
                continue;
            }
            let odd = |rng: &mut Rng| !plain && rng.one_in(4);
            let step = if odd(rng) { 1 + rng.below(3) } else { 1 };
            let before = if odd(rng) { rng.below(3) } else { 0 };
            let after = if odd(rng) { rng.below(3) } else { 0 };
            let sign = if odd(rng) { -1 } else { 1 };
            let span = if extent == 0 { 0 } else { (extent - 1) * step + 1 };
            shape.push(before + span + after);
            stored.push(before + span + after);
            cuts.push((before, sign * step as isize, span));
        }
        let mut order = vec![0; extents.len()];
        axes.iter().enumerate().for_each(|(at, &axis)| order[axis] = at);
        let memory = ArrayD::from_shape_simple_fn(IxDyn(&stored), || rng.element());
        Tensor { memory, cuts, order, shape }
    }

    pub fn view(&self) -> ArrayViewD<'_, T> {
        let mut view = self.memory.broadcast(IxDyn(&self.shape)).expect("extents of 1 or equal");
        for (axis, &(start, step, span)) in self.cuts.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, Some((start + span) as isize), step));
        }
        view.permuted_axes(IxDyn(&self.order))
    }

    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let mut view = self.memory.view_mut();
        for (axis, &(start, step, span)) in self.cuts.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, Some((start + span) as isize), step));
        }
        view.permuted_axes(IxDyn(&self.order))
    }

    /// Whether nothing but the view's elements differs from `value`; spoils the view.
    pub fn gaps_are(&mut self, value: T) -> bool {
        self.view_mut().fill(value);
        self.memory.iter().all(|&element| element == value)
    }

    pub fn fill_memory(&mut self, value: T) {
        self.memory.fill(value);
    }
}
