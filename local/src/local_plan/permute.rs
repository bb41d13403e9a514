//! Plans copies between two strided tensors of the same shape, in blocks (`docs/kernels.md`).
//!
//! Invariants: every index is in one block, and a share (one thread's work) is consecutive blocks. Shares write to the
//! same cache line only at the ends of stretches. The plan depends only on the arguments, not on the instruction set.

use super::{CACHE_LINE, Dim, Loops, useful_threads};

const FROM: usize = 0;
const TO: usize = 1;

/// Bytes of a block's contiguous stretches in the source and the destination, through a buffer and directly.
const BUFFERED_STRETCH_BYTES: [usize; 2] = [512, 1024];
const DIRECT_STRETCH_BYTES: [usize; 2] = [256, 256];
/// A block's buffer, with a cache line of padding per column for different cache sets.
pub const BUFFER_BYTES: usize = BUFFERED_STRETCH_BYTES[FROM] * (BUFFERED_STRETCH_BYTES[TO] + CACHE_LINE) / 4;
/// Maximum rows or columns in a block, with elements of 4 bytes.
pub const MAX_BLOCK_SIDE: usize = BUFFERED_STRETCH_BYTES[TO] / 4;
/// Minimum bytes of a destination for stores that bypass the caches.
const MIN_STREAMED_BYTES: usize = 4 << 20;
/// Minimum bytes in a stretch of the destination for a buffer.
const MIN_BUFFERED_BYTES: usize = 256;
/// Maximum bytes in a line of a block, and in all.
const LINE_BYTES: usize = 32 << 10;
/// Side, in elements, of a block copied element by element.
const ELEMENTWISE_BLOCK_SIDE: usize = 32;
/// To give all threads work, blocks are halved along their longer side while it has more elements than this.
const MIN_BLOCK_SIDE: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permute {
    elements: usize,
    element_bytes: usize,
    widened: usize,
    start: [isize; 2],
    blocks: Blocks,
    kind: CopyKind,
    shares: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// Columns have stride 1 in both tensors.
    Lines { streams: bool },
    /// Columns have stride 0 in the source and 1 in the destination.
    Spread,
    /// Columns have stride 1 in the source, and rows in the destination.
    Tiles { buffered: bool },
    /// Any other strides; elements are copied singly.
    Elements,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// Outermost first.
    pub outer: Loops<2>,
    pub cols: Side,
    pub rows: Side,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Loops in a block, innermost first; the last is cut into blocks, with its maximum extent here.
    pub loops: Loops<2>,
    pub inner: usize,
    pub extent: usize,
    /// The loop in [`Blocks::outer`] that advances the last by a block.
    pub outer: usize,
}

impl Side {
    pub fn block(&self) -> usize {
        self.loops.last().map_or(1, |d| d.extent)
    }

    pub fn count(&self, index: usize) -> usize {
        self.inner * self.block().min(self.extent - index * self.block())
    }
}

impl Permute {
    /// Any extent, stride and order is allowed, if indices refer to different elements of the destination.
    pub fn new(dims: &[Dim<2>], element_bytes: usize, threads: usize) -> Permute {
        let elements = dims.iter().fold(1usize, |product, d| product.saturating_mul(d.extent));
        let mut start = [0; 2];
        let mut dims = if elements == 0 { Loops::new() } else { folded(dims, &mut start) };
        let widened = widen(&mut dims, element_bytes);
        let moved_bytes = element_bytes * widened;
        let bytes = elements.saturating_mul(element_bytes);
        let threads = useful_threads(threads, elements);

        let unit = |tensor: usize| (0..dims.len()).find(|&i| dims[i].strides[tensor].unsigned_abs() == 1);
        let nearest = |tensor: usize, but: Option<usize>| {
            let others = (0..dims.len()).filter(|&i| Some(i) != but);
            others.min_by_key(|&i| dims[i].strides[tensor].unsigned_abs())
        };
        let (from, to) = (unit(FROM), unit(TO));
        let source_stride = |i: usize| dims[i].strides[FROM];
        let (cols, rows, kind) = match (from, to) {
            (_, Some(to)) if source_stride(to) == 0 => (Some(to), nearest(TO, Some(to)), CopyKind::Spread),
            (_, Some(to)) if source_stride(to) == 1 => {
                let streams = bytes >= MIN_STREAMED_BYTES && dims[to].extent * moved_bytes >= 4 * CACHE_LINE;
                (Some(to), nearest(TO, Some(to)), CopyKind::Lines { streams })
            }
            (Some(from), Some(to)) if from != to => {
                (Some(from), Some(to), CopyKind::Tiles { buffered: bytes >= MIN_STREAMED_BYTES })
            }
            _ if dims.is_empty() => (None, None, CopyKind::Lines { streams: false }),
            // Scattered writes cost more than scattered reads.
            _ => {
                let inner = nearest(TO, None);
                (inner, nearest(FROM, inner), CopyKind::Elements)
            }
        };
        let stretch_bytes = match kind {
            CopyKind::Tiles { buffered: true } => BUFFERED_STRETCH_BYTES,
            CopyKind::Tiles { .. } => DIRECT_STRETCH_BYTES,
            CopyKind::Elements => [ELEMENTWISE_BLOCK_SIDE * moved_bytes; 2],
            _ => [LINE_BYTES; 2],
        };
        let mut stretch_elements = stretch_bytes.map(|bytes| bytes / moved_bytes);
        let share = (elements / widened / (4 * threads)).max(MIN_BLOCK_SIDE * MIN_BLOCK_SIDE);
        if let CopyKind::Tiles { .. } | CopyKind::Elements = kind {
            while threads > 1
                && stretch_elements[FROM] * stretch_elements[TO] > share
                && stretch_elements.iter().any(|&s| s > MIN_BLOCK_SIDE)
            {
                let longer = usize::from(stretch_elements[TO] >= stretch_elements[FROM]);
                stretch_elements[longer] /= 2;
            }
        } else if threads > 1 {
            stretch_elements = stretch_elements.map(|s| s.min(share));
        }
        if let CopyKind::Lines { .. } | CopyKind::Spread = kind {
            stretch_elements[TO] /= cols.map_or(1, |i| dims[i].extent).min(stretch_elements[FROM]);
            stretch_elements[TO] = stretch_elements[TO].max(1);
        }
        let mut start_shift = [0; 2];
        let blocks = Blocks::new(dims, [cols, rows], stretch_elements, kind, &mut start_shift);
        (0..2).for_each(|t| start[t] += start_shift[t] * widened as isize);
        let kind = match kind {
            CopyKind::Tiles { buffered } => {
                let run = blocks.rows.inner * blocks.rows.block() * moved_bytes;
                CopyKind::Tiles { buffered: buffered && run >= MIN_BUFFERED_BYTES }
            }
            kind => kind,
        };
        let shares = if elements == 0 { 0 } else { threads.min(blocks.count()) };
        Permute { start, elements, element_bytes, widened, blocks, kind, shares }
    }

    pub fn elements(&self) -> usize {
        self.elements
    }

    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// How many adjacent elements are copied as one, the unit of the blocks' strides.
    pub fn widened(&self) -> usize {
        self.widened
    }

    /// The first block's offsets in elements, not 0 after reversing a loop.
    pub fn start(&self) -> [isize; 2] {
        self.start
    }

    pub fn kind(&self) -> CopyKind {
        self.kind
    }

    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub fn shares(&self) -> usize {
        self.shares
    }

    pub fn share(&self, share: usize) -> std::ops::Range<usize> {
        let blocks = self.blocks.count();
        blocks * share / self.shares..blocks * (share + 1) / self.shares
    }
}

impl Blocks {
    pub fn count(&self) -> usize {
        self.outer.iter().map(|d| d.extent).product()
    }

    fn new(
        mut dims: Loops<2>,
        [cols, rows]: [Option<usize>; 2],
        stretch_elements: [usize; 2],
        kind: CopyKind,
        start: &mut [isize; 2],
    ) -> Blocks {
        let mut sides = [cols, rows].map(|first| first.map(|at| dims[at]).into_iter().collect::<Loops<2>>());
        let (high, low) = (cols.max(rows), if cols.is_some() && rows.is_some() { cols.min(rows) } else { None });
        high.into_iter().chain(low).for_each(|at| {
            dims.remove(at);
        });
        if let CopyKind::Tiles { .. } = kind {
            if let Some(first) = sides[FROM].first_mut().filter(|d| d.strides[FROM] < 0) {
                flip(first, start);
            }
            for tensor in [FROM, TO] {
                extend(&mut sides[tensor], &mut dims, tensor, stretch_elements[tensor]);
            }
        }
        let mut outer = dims;
        outer.sort_unstable_by_key(|d| std::cmp::Reverse(d.strides[TO].unsigned_abs()));
        let line = CACHE_LINE / 4;
        let [cols, rows] = [(0, stretch_elements[FROM]), (1, stretch_elements[TO])].map(|(side, stretch_elements)| {
            let mut loops = std::mem::take(&mut sides[side]);
            if loops.is_empty() {
                loops.push(Dim { extent: 1, strides: [0; 2] });
            }
            let last = loops.len() - 1;
            let inner = loops[..last].iter().map(|d| d.extent).product::<usize>();
            let extent = loops[last].extent;
            let mut block = (stretch_elements / inner).clamp(1, extent);
            block = extent.div_ceil(extent.div_ceil(block));
            if inner == 1 {
                block = block.next_multiple_of(line).min(extent.max(1)).min(stretch_elements.max(1));
            }
            loops[last].extent = block;
            let strides = loops[last].strides.map(|stride| stride * block as isize);
            (Side { loops, inner, extent, outer: 0 }, Dim { extent: extent.div_ceil(block), strides })
        });
        let ((mut cols, col_step), (mut rows, row_step)) = (cols, rows);
        cols.outer = insert(&mut outer, col_step);
        rows.outer = insert(&mut outer, row_step);
        cols.outer += usize::from(rows.outer <= cols.outer);
        if let CopyKind::Tiles { buffered: true } = kind {
            // The innermost loop over blocks advances along the source: measured up to twice as fast.
            let step = outer.remove(cols.outer);
            outer.push(step);
            rows.outer -= usize::from(rows.outer > cols.outer);
            cols.outer = outer.len() - 1;
        }
        Blocks { outer, cols, rows }
    }
}

fn insert(outer: &mut Loops<2>, dim: Dim<2>) -> usize {
    let larger = |d: &&Dim<2>| d.strides[TO].unsigned_abs() >= dim.strides[TO].unsigned_abs();
    let at = outer.iter().take_while(larger).count();
    outer.push(dim);
    outer[at..].rotate_right(1);
    at
}

fn extend(side: &mut Loops<2>, dims: &mut Loops<2>, tensor: usize, stretch_elements: usize) {
    loop {
        let dense: usize = side.iter().map(|d| d.extent).product();
        let next = dims.iter().position(|d| d.strides[tensor] == dense as isize);
        match next {
            Some(next) if dense < stretch_elements => side.push(dims.remove(next)),
            _ => return,
        }
    }
}

/// Simplifies loops, and sorts them by ascending destination stride.
fn folded(dims: &[Dim<2>], start: &mut [isize; 2]) -> Loops<2> {
    let mut loops: Loops<2> = dims.iter().copied().filter(|d| d.extent != 1).collect();
    for dim in loops.iter_mut().filter(|d| d.strides[TO] < 0) {
        flip(dim, start);
    }
    loops.sort_unstable_by_key(|d| d.strides[TO]);
    let mut at = 1;
    while at < loops.len() {
        let (inner, outer) = (loops[at - 1], loops[at]);
        if outer.continues(&inner) {
            loops[at - 1].extent *= outer.extent;
            loops.remove(at);
        } else {
            at += 1;
        }
    }
    loops
}

fn flip(dim: &mut Dim<2>, start: &mut [isize; 2]) {
    for (start, stride) in start.iter_mut().zip(&mut dim.strides) {
        *start += *stride * (dim.extent as isize - 1);
        *stride = -*stride;
    }
}

/// Merges two or four elements, adjacent in both tensors, into one, and returns their number, or 1.
fn widen(dims: &mut Loops<2>, element_bytes: usize) -> usize {
    let Some(at) = dims.iter().position(|d| d.strides == [1, 1]) else { return 1 };
    let count = dims[at].extent;
    let fits = matches!(count * element_bytes, 8 | 16) && count > 1;
    let even = |d: &Dim<2>| d.strides.iter().all(|stride| stride % count as isize == 0);
    if !fits || (0..dims.len()).any(|i| i != at && !even(&dims[i])) {
        return 1;
    }
    dims.remove(at);
    dims.iter_mut().for_each(|d| d.strides = d.strides.map(|stride| stride / count as isize));
    count
}

#[cfg(test)]
mod tests;
