//! Plans blocks without columns: vectors run along elements of `out`, with factors picked from windows of the operands
//! in place (`docs/kernels.md`). The vectors of `rows` lanes are a pattern that repeats.
//!
//! Invariants: tensors that change along the long loop have no gaps, so windows contain only the operand's elements. A
//! pattern's windows reach at most `edge` lanes beyond it. The plan holds for vectors of one length.

use super::{OUT, Short, offsets};
use crate::dtype::Dtype;
use crate::local_plan::{Isa, MIN_STREAMED_OUT_BYTES, Target};

/// Patterns computed together, to hide the latency of additions.
pub const PATTERNS: usize = 8;
/// Maximum vectors in a pattern, times terms of their sums.
const MAX_PICKS: usize = 192;
/// Maximum products in a segment, and maximum odd factor of their number.
pub const MAX_SEGMENT: usize = 32;
pub const MAX_ODD_SEGMENT: usize = 5;
/// All tensors' elements in a block.
const BLOCK: usize = 1 << 15;
/// Nanoseconds to multiply and add a vector, or to store one, and to load a window and pick from it.
const STEP: f64 = 0.12;
const PICK: f64 = 0.2;
/// Nanoseconds to start a vector's segments.
const SEGMENTS: f64 = 0.6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    pub length: usize,
    /// A pattern's lanes and vectors of `out`.
    pub rows: usize,
    pub vectors: usize,
    /// Whether stores bypass the caches, because `out` is too large for them.
    pub streams: bool,
    /// Each tensor's elements per lane; 0 for a second operand that does not change along the lanes.
    pub sizes: [usize; 3],
    /// Maximum lanes at a block's end whose windows would reach beyond it, besides an incomplete pattern.
    pub edge: usize,
    /// Adjacent products added up for each element of `out`; 1 if vectors of terms are added instead.
    pub segment: usize,
    /// Whether vectors of factors are windows of the operand, in order.
    pub plain: [bool; 2],
    /// For each vector, and each vector of its products, what is picked from both operands.
    pub picks: Vec<[Pick; 2]>,
    /// For a second operand that does not change along the lanes, its elements in all vectors, instead of picks.
    pub constants: Vec<isize>,
}

/// Two windows' starts, relative to the pattern, and the words of 4 bytes picked from both together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pick {
    pub at: [isize; 2],
    pub words: [u32; 16],
}

impl Windows {
    /// `None` if tensors have gaps, or elements are too far apart. Other loops of `out` become outer loops.
    pub(super) fn new(short: &mut Short, dtype: Dtype, target: &Target) -> Option<Windows> {
        let (length, long) = (target.lanes(dtype), short.long.strides);
        let lane = usize::try_from(long[OUT]).ok().filter(|_| target.isa != Isa::Generic && !short.totals)?;
        short.out.sort_by_key(|dim| std::cmp::Reverse(dim.strides[OUT]));
        let inner = short.out.iter().position(|dim| dim.strides[OUT] < long[OUT]).unwrap_or(short.out.len());
        short.outer.extend(short.out.drain(..inner));
        let sizes = [0, 1, OUT].map(|t| if long[t] == 0 { 0 } else { short.elements_of(t) });
        if (0..3).any(|t| sizes[t] > 0 && (long[t] != sizes[t] as isize || short.has_gaps(t))) {
            return None;
        }
        let rows = (1..=length).find(|rows| rows * lane % length == 0)?;
        let vectors = rows * lane / length;
        let lanes = short.outer.iter().map(|dim| dim.extent).fold(short.long.extent, usize::saturating_mul);
        let streams = lanes.saturating_mul(lane * dtype.size()) >= MIN_STREAMED_OUT_BYTES;
        let empty = Windows {
            length,
            rows,
            vectors,
            streams,
            sizes,
            edge: 0,
            segment: 1,
            plain: [false; 2],
            picks: Vec::new(),
            constants: Vec::new(),
        };
        short.sum.sort_by_key(|dim| std::cmp::Reverse(dim.strides[0]));
        let terms = short.sum.iter().map(|dim| dim.extent).fold(1, usize::saturating_mul);
        if terms.saturating_mul(vectors) > MAX_PICKS {
            return None;
        }
        let segments = [1, terms].into_iter().take(if (2..=MAX_SEGMENT).contains(&terms) { 2 } else { 1 });
        let all = segments.filter_map(|segment| Windows { segment, ..empty.clone() }.with_picks(short, dtype));
        all.min_by(|a, b| a.nanoseconds(dtype, target).total_cmp(&b.nanoseconds(dtype, target)))
    }

    /// With all factors' picks; `None` if an element is in neither of two windows.
    fn with_picks(mut self, short: &Short, dtype: Dtype) -> Option<Windows> {
        let Windows { length, rows, vectors, sizes, segment, .. } = self;
        if segment >> segment.trailing_zeros() > MAX_ODD_SEGMENT {
            return None;
        }
        let (outs, terms) = (offsets(&short.out), offsets(&short.sum));
        let offset = |t: usize, at: usize, term: usize| {
            (at / outs.len()) as isize * short.long.strides[t] + outs[at % outs.len()][t] + terms[term][t]
        };
        for (vector, factor) in (0..vectors).flat_map(|vector| (0..terms.len()).map(move |factor| (vector, factor))) {
            let elements = |t: usize| -> Vec<isize> {
                let of = |i: usize| match segment {
                    1 => offset(t, vector * length + i, factor),
                    _ => {
                        let product = factor * length + i;
                        offset(t, vector * length + product / segment, product % segment)
                    }
                };
                (0..length).map(of).collect()
            };
            let second = if sizes[1] == 0 {
                self.constants.extend(elements(1));
                Pick::default()
            } else {
                Pick::new(&elements(1), dtype)?
            };
            self.picks.push([Pick::new(&elements(0), dtype)?, second]);
        }
        let words = 0..(length * dtype.size() / 4) as u32;
        self.plain = [0, 1]
            .map(|t| self.picks.iter().all(|pick| pick[t].words.iter().copied().take(words.len()).eq(words.clone())));
        let edges = (0..2).filter(|&t| sizes[t] > 0).flat_map(|t| self.picks.iter().map(move |pick| (t, &pick[t])));
        let edges =
            edges.map(|(t, pick)| (pick.at[1] as usize + length).saturating_sub(rows * sizes[t]).div_ceil(sizes[t]));
        self.edge = edges.max().unwrap_or(0);
        Some(self)
    }

    pub(super) fn lanes(&self) -> usize {
        (BLOCK / self.sizes.iter().sum::<usize>()).next_multiple_of(self.rows * PATTERNS)
    }

    /// Maximum lanes computed in the workspace at a block's end.
    pub fn rest(&self) -> usize {
        (self.edge + self.rows).next_multiple_of(self.rows)
    }

    /// The workspace's elements: for the constants, and for each tensor's rest, with windows beyond operands.
    pub fn parts(&self) -> [usize; 4] {
        let operand = |t: usize| (self.rest() + self.edge) * self.sizes[t];
        [self.constants.len(), operand(0), operand(1), self.rest() * self.sizes[OUT]]
    }

    pub(super) fn nanoseconds(&self, dtype: Dtype, target: &Target) -> f64 {
        // Only AVX-512 and NEON pick from two vectors at once.
        let two = PICK * if target.isa == Isa::Avx2 { 3.0 } else { 2.0 };
        // A complex factor is shuffled to two, unless constant.
        let step = match (dtype.is_complex(), self.constants.is_empty()) {
            (false, _) => STEP,
            (true, false) => 2.0 * STEP,
            (true, true) => 2.0 * (STEP + PICK),
        };
        let picked = |t: usize, pick: &Pick| match pick.at {
            // The second operand's are picked if the first's are.
            _ if self.segment > 1 && self.plain[..=t].iter().all(|&plain| plain) => STEP,
            _ if self.segment > 1 => PICK * if target.isa == Isa::Avx2 { 8.0 } else { 3.0 },
            [first, second] if first == second => PICK,
            _ => two,
        };
        let second = |pick: &Pick| if self.constants.is_empty() { picked(1, pick) } else { 0.0 };
        let picks = self.picks.iter().map(|[a, b]| picked(0, a) + second(b) + step);
        let added = self.added(if dtype.is_complex() { two } else { two / 2.0 });
        (picks.sum::<f64>() + self.vectors as f64 * (added + STEP)) / self.rows as f64
    }

    fn added(&self, pick: f64) -> f64 {
        let odd = self.segment >> self.segment.trailing_zeros();
        let picks = 2 * (self.segment - odd) + odd * (odd - 1);
        if self.segment > 1 { SEGMENTS + picks as f64 * pick } else { 0.0 }
    }
}

impl Pick {
    /// Prefers one window, and windows in one cache line.
    fn new(elements: &[isize], dtype: Dtype) -> Option<Pick> {
        let (length, words) = (elements.len() as isize, dtype.size() / 4);
        let first = *elements.iter().min()?;
        let aligned = |at: isize| at / length * length;
        let second = |first: isize| elements.iter().copied().filter(|&at| at >= first + length).min();
        let end = *elements.iter().max()?;
        let at = [aligned(first), first].into_iter().find(|&at| end < at + length).map(|at| [at; 2]);
        let at = at.or_else(|| {
            let starts = [[aligned(first), aligned(second(aligned(first))?)], [first, second(first)?]];
            starts.into_iter().find(|[_, second]| end < second + length)
        })?;
        let mut picked = [0; 16];
        for (i, &element) in elements.iter().enumerate() {
            let inside = element - at[0];
            let index = if inside < length { inside } else { element - at[1] + length } as usize;
            (0..words).for_each(|word| picked[i * words + word] = (index * words + word) as u32);
        }
        Some(Pick { at, words: picked })
    }
}
