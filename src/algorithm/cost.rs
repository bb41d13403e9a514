//! Predicts the seconds of products, memory traffic and messages, on one machine and for one element type.
//!
//! Overlapping computing and receiving take the maximum of the two, plus a fraction of the shorter
//! ([`Machine::interference`]).

use crate::dims::Label;
use crate::distribution::tile_bounds;
use crate::dtype::Dtype;
use crate::local_plan::Effort;
use crate::machine::Machine;

/// From so many summed indices on, a round's products take much longer than a pass over `out`.
pub const DEEP_ROUND_INDICES: f64 = 512.0;

/// Assumed seconds to wake a worker and wait for it.
const WAKE: f64 = 4e-6;

pub struct Cost<'a> {
    pub machine: &'a Machine,
    pub dtype: Dtype,
    pub extents: &'a [usize],
}

impl Cost<'_> {
    pub fn volume(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|label| self.extents[label.0 as usize] as f64).product()
    }

    pub fn transfer(&self, elements: f64) -> f64 {
        let bytes = elements * self.dtype.size() as f64;
        if bytes == 0.0 { 0.0 } else { self.machine.link_latency + bytes / self.machine.busy_bandwidth() }
    }

    /// Seconds for all workers of one rank: those of a cube (equal extents, fewest elements), plus streaming all
    /// further elements twice: operands are read and packed, and `out` is read and written.
    pub fn product(&self, multiply_adds: f64, touched: f64) -> f64 {
        self.product_of(1.0, multiply_adds, touched)
    }

    /// Like [`Cost::product`], in `blocks` sequential blocks, at the rate for one block.
    pub fn product_of(&self, blocks: f64, multiply_adds: f64, touched: f64) -> f64 {
        let side = multiply_adds.cbrt();
        let rate = self.machine.rate((multiply_adds / blocks).cbrt()) * self.machine.workers as f64 / self.slower();
        let compute = multiply_adds * self.dtype.flops_per_multiply_add() as f64 / rate;
        compute + self.stream_of(touched, 2.0 * (touched - 3.0 * side * side).max(0.0))
    }

    /// The same for a local plan; the whole plan touches `touched` elements.
    pub fn local(&self, effort: &Effort, multiply_adds: f64, touched: f64) -> f64 {
        let Effort { slowdown, nanoseconds, bytes, hidden, threads } = *effort;
        let flops = multiply_adds * self.dtype.flops_per_multiply_add() as f64;
        let used = threads.clamp(1, self.machine.workers.max(1)) as f64;
        let work = (slowdown * flops * self.slower() / self.machine.flops + nanoseconds * 1e-9) / used;
        let bandwidth = self.machine.bandwidth(touched * self.dtype.size() as f64) * used;
        let (wake, traffic) = (if threads > 1 { WAKE } else { 0.0 }, bytes / bandwidth);
        work + traffic - hidden * work.min(traffic) + wake
    }

    /// The time of an operation relative to one on real numbers of 4 bytes.
    fn slower(&self) -> f64 {
        self.dtype.size() as f64 / if self.dtype.is_complex() { 8.0 } else { 4.0 }
    }

    pub fn stream(&self, elements: f64) -> f64 {
        self.stream_of(elements, elements)
    }

    fn stream_of(&self, touched: f64, elements: f64) -> f64 {
        let bytes = self.dtype.size() as f64;
        elements * bytes / (self.machine.bandwidth(touched * bytes) * self.machine.workers as f64)
    }

    pub fn overlapped(&self, compute: f64, receive: f64) -> f64 {
        self.partly_overlapped([compute, 0.0], [receive, 0.0])
    }

    /// The arguments are total seconds, and those without overlap, before or after all of the other kind.
    pub fn partly_overlapped(&self, [compute, computing_alone]: [f64; 2], [receive, receiving_alone]: [f64; 2]) -> f64 {
        (compute + receiving_alone).max(receive + computing_alone)
            + self.machine.interference * compute.min(receive - receiving_alone)
    }

    /// The largest even tile, as a fraction of the extent.
    pub fn tile(&self, label: Label, tiles: usize) -> f64 {
        let extent = self.extents[label.0 as usize];
        tile_bounds(extent, tiles, 0).len() as f64 / (extent.max(1) as f64)
    }

    /// Seconds to pack elements again, or to access them in `out` again.
    pub fn extra_passes(&self, elements: f64) -> f64 {
        self.stream(2.0 * elements)
    }

    /// Seconds for a ring that moves blocks of `elements` elements. Of the `compute` seconds, `exposed` do not overlap.
    pub fn ring(&self, compute: f64, elements: f64, pieces: f64, exposed: f64) -> f64 {
        let receive = (self.machine.ranks as f64 - 1.0) * pieces * self.transfer(elements / pieces);
        self.partly_overlapped([compute, exposed], [receive, 0.0])
    }
}

pub struct Contracted<'a> {
    pub cost: &'a Cost<'a>,
    pub tensors: [&'a [Label]; 3],
    pub elements: [f64; 3],
    /// Ascending, without duplicates.
    pub labels: Vec<Label>,
    pub multiply_adds: f64,
}

impl<'a> Contracted<'a> {
    pub fn new(cost: &'a Cost<'a>, tensors: [&'a [Label]; 3]) -> Contracted<'a> {
        let mut labels: Vec<Label> = tensors[0].iter().chain(tensors[1]).copied().collect();
        labels.sort_unstable();
        labels.dedup();
        let elements = tensors.map(|labels| cost.volume(labels));
        let multiply_adds = cost.volume(&labels);
        Contracted { cost, tensors, elements, labels, multiply_adds }
    }

    pub fn ranks(&self) -> usize {
        self.cost.machine.ranks
    }

    /// Seconds for this fraction of the multiply-adds and of every tensor on one rank.
    pub fn share(&self, share: f64) -> f64 {
        self.cost.product(self.multiply_adds * share, self.elements.iter().sum::<f64>() * share)
    }
}
