//! Tests every form of loop nest on every instruction set against sums in double precision.

use num_complex::Complex;

use super::run;
use crate::dtype::Dtype;
use crate::kernel::{Element, available, error_bound};
use crate::local_plan::{Dim, Isa, LoopPlan, Nest, fold, plan_loops};

/// The random number generator SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn element<T: Element>(&mut self) -> T {
        let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        T::from_f64(unit(self.next()), unit(self.next()))
    }

    fn factor<T: Element>(&mut self) -> T {
        match self.below(4) {
            0 => T::ZERO,
            1 => T::ONE,
            2 => T::from_f64(-1.0, 0.0),
            _ => self.element(),
        }
    }
}

/// The dimensions of a contraction, grouped by kind in the order c (batch), m (rows), n (columns) and k (sum). For each
/// tensor, `first` is the position of its first element, and `length` is the number of elements in its memory.
struct Case {
    dims: [Vec<Dim<3>>; 4],
    first: [usize; 3],
    length: [usize; 3],
}

impl Case {
    /// Returns a random case whose dimensions have these extents, which are grouped by kind. Each tensor has its own
    /// order of dimensions. Unless `plain` is true, strides may be negative or leave gaps, and strides of `left` and
    /// `right` may be 0.
    fn new(rng: &mut Rng, extents: &[Vec<usize>; 4], plain: bool) -> Case {
        let none = |extents: &Vec<usize>| extents.iter().map(|&extent| Dim { extent, strides: [0; 3] }).collect();
        let mut case = Case { dims: extents.each_ref().map(none), first: [0; 3], length: [1; 3] };
        for t in 0..3 {
            // `left` has no n, `right` has no m, and `out` has no k.
            let absent = [2, 1, 3][t];
            let mut order: Vec<(usize, usize)> = (0..4)
                .filter(|&kind| kind != absent)
                .flat_map(|kind| (0..extents[kind].len()).map(move |i| (kind, i)))
                .collect();
            if rng.below(3) > 0 {
                (1..order.len()).for_each(|i| order.swap(i, rng.below(i + 1)));
            }
            let mut step = 1;
            for (kind, i) in order.into_iter().rev() {
                let odd = |rng: &mut Rng| !plain && rng.below(5) == 0;
                let dim = &mut case.dims[kind][i];
                if t < 2 && odd(rng) && odd(rng) {
                    continue;
                }
                if odd(rng) {
                    step *= 2;
                }
                let span = step * (dim.extent - 1);
                dim.strides[t] = step as isize;
                if odd(rng) {
                    dim.strides[t] = -(step as isize);
                    case.first[t] += span;
                }
                case.length[t] += span;
                step = step * dim.extent + if odd(rng) { rng.below(4) } else { 0 };
            }
            let before = rng.below(3);
            case.first[t] += before;
            case.length[t] += before;
        }
        case
    }

    fn plan<T: Element>(&self, threads: usize) -> LoopPlan {
        plan_loops(&self.dims.clone().map(fold), T::DTYPE, threads)
    }

    /// Calls `visit` for every index, with the positions of its elements in the three tensors.
    fn visit(&self, mut visit: impl FnMut([usize; 3])) {
        let dims: Vec<Dim<3>> = self.dims.iter().flatten().copied().collect();
        let total: usize = dims.iter().map(|d| d.extent).product();
        for index in 0..total {
            let mut rest = index;
            let mut at = self.first.map(|first| first as isize);
            for dim in &dims {
                (0..3).for_each(|t| at[t] += (rest % dim.extent) as isize * dim.strides[t]);
                rest /= dim.extent;
            }
            visit(at.map(|at| at as usize));
        }
    }

    fn terms(&self) -> usize {
        self.dims[3].iter().map(|d| d.extent).product()
    }

    /// Compares the results on every instruction set with sums in double precision. Returns the form of the nest.
    fn check<T: Element>(&self, rng: &mut Rng, threads: usize) -> &'static str {
        let (alpha, beta) = (rng.factor::<T>(), rng.factor::<T>());
        let conjugated = [rng.below(2) == 0, rng.below(2) == 0];
        let conj = |value: T, which: usize| if conjugated[which] { value.to_c64().conj() } else { value.to_c64() };
        let left: Vec<T> = (0..self.length[0]).map(|_| rng.element()).collect();
        let right: Vec<T> = (0..self.length[1]).map(|_| rng.element()).collect();
        let before: Vec<T> = (0..self.length[2]).map(|_| rng.element()).collect();
        let mut want: Vec<Option<(Complex<f64>, f64)>> = vec![None; before.len()];
        self.visit(|[l, r, o]| {
            let old = beta.to_c64() * before[o].to_c64();
            let (value, magnitude) = want[o].get_or_insert((old, old.norm()));
            let product = alpha.to_c64() * conj(left[l], 0) * conj(right[r], 1);
            *value += product;
            *magnitude += product.norm();
        });
        let plan = self.plan::<T>(threads);
        let tolerance = error_bound(T::DTYPE, self.terms() as u64 + 1, 3);
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let nan = T::from_f64(f64::NAN, f64::NAN);
            let mut out = before.clone();
            if beta == T::ZERO {
                out.iter_mut().zip(&want).filter(|(_, want)| want.is_some()).for_each(|(out, _)| *out = nan);
            }
            let mut workspace = vec![nan; plan.workspace_elements()];
            let operands = [left[self.first[0]..].as_ptr(), right[self.first[1]..].as_ptr()];
            let to = out[self.first[2]..].as_mut_ptr();
            // SAFETY: the case's loops stay inside its tensors, and elements of `out` are distinct.
            unsafe { run(&plan, isa, (alpha, beta), operands, conjugated, to, &mut workspace) };
            for (at, (got, want)) in out.iter().zip(&want).enumerate() {
                let fine = match want {
                    None => *got == before[at],
                    Some((value, magnitude)) => (got.to_c64() - value).norm() <= tolerance * magnitude,
                };
                assert!(
                    fine,
                    "{} {} {alpha:?} {beta:?} {conjugated:?} at {at}: {got:?}, not {want:?}: {:?} as {plan:?}",
                    T::DTYPE,
                    isa.name(),
                    self.dims
                );
            }
        }
        match (&plan.shares[0].nest, plan.partials.is_some()) {
            (Nest::Line(_), false) => "line",
            (Nest::Line(_), true) => "line, split sum",
            (Nest::Dots(_), false) => "dots",
            (Nest::Dots(_), true) => "dots, split sum",
            (Nest::Strided(_), false) => "any",
            (Nest::Strided(_), true) => "any, split sum",
        }
    }
}

/// Returns a random extent of at most `max_extent`, at or near the sizes of vectors and tiles.
fn extent(rng: &mut Rng, max_extent: usize) -> usize {
    let near = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 64, 65, 130];
    near[rng.below(near.len())].min(max_extent.max(1))
}

fn random_nests<T: Element>(seed: u64) {
    let mut rng = Rng(seed);
    let mut seen = std::collections::BTreeMap::new();
    for round in 0..400 {
        let threads = 1 + round % 3;
        let mut space = if round % 8 == 0 { 200_000 } else { 6_000 };
        let mut extents: [Vec<usize>; 4] = Default::default();
        for kind in [rng.below(4), rng.below(4), rng.below(4), rng.below(4), rng.below(4)] {
            let extent = extent(&mut rng, space);
            let extent = if round % 8 == 0 && rng.below(3) == 0 { space.min(extent * 100) } else { extent };
            space /= extent;
            extents[kind].push(extent);
        }
        let case = Case::new(&mut rng, &extents, round % 2 == 0);
        *seen.entry(case.check::<T>(&mut rng, threads)).or_insert(0) += 1;
    }
    for nest in ["line", "dots", "any"] {
        assert!(seen.contains_key(nest), "no {nest}: {seen:?}");
    }
}

#[test]
fn random_f32() {
    random_nests::<f32>(1);
}

#[test]
fn random_f64() {
    random_nests::<f64>(2);
}

#[test]
fn random_complex_f32() {
    random_nests::<Complex<f32>>(3);
}

#[test]
fn random_complex_f64() {
    random_nests::<Complex<f64>>(4);
}

/// Tests classes of contractions that have their own code paths, with extents around the sizes of vectors and tiles.
/// The four inner lists contain the extents of kinds c, m, n and k.
#[test]
fn classes() {
    let mut rng = Rng(5);
    let around = [1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 33, 63, 65, 127, 129, 255, 257];
    for extent in around {
        for few in 1..=9 {
            for extents in [
                [vec![], vec![], vec![], vec![extent * few]],
                [vec![], vec![few], vec![], vec![extent]],
                [vec![], vec![extent], vec![], vec![few]],
                [vec![], vec![few], vec![extent], vec![]],
                [vec![], vec![few], vec![3], vec![extent]],
                [vec![few], vec![], vec![], vec![extent]],
                [vec![few], vec![2], vec![], vec![extent]],
                [vec![few, extent], vec![], vec![], vec![]],
                [vec![], vec![few], vec![extent], vec![few]],
            ] {
                let case = Case::new(&mut rng, &extents, true);
                case.check::<f32>(&mut rng, 1);
                case.check::<f64>(&mut rng, 2);
                case.check::<Complex<f32>>(&mut rng, 1);
                case.check::<Complex<f64>>(&mut rng, 2);
            }
        }
    }
}

/// Tests stores that bypass the caches, on several threads. `out` is too large for any cache, and its rows start at all
/// offsets relative to the alignment of a vector. Also tests long dot products, whose sums are split among threads.
#[test]
fn large_outer_products_and_long_dots() {
    let mut rng = Rng(6);
    for threads in [1, 2, 3] {
        let m = 2101 + threads;
        let (left, right): (Vec<f32>, Vec<f32>) =
            ((0..m).map(|_| rng.element()).collect(), (0..2003).map(|_| rng.element()).collect());
        let dims = [
            vec![],
            vec![Dim { extent: m, strides: [1, 0, 2003] }],
            vec![Dim { extent: 2003, strides: [0, 1, 1] }],
            vec![],
        ];
        let plan = plan_loops(&dims, Dtype::Float32, threads);
        assert_eq!(plan.shares.len(), threads);
        let mut out = vec![f32::NAN; m * 2003 + 1];
        // SAFETY: the loops' offsets are inside the three vectors.
        let run_on = |out: *mut f32, isa| unsafe {
            run(&plan, isa, (1.0, 0.0), [left.as_ptr(), right.as_ptr()], [false; 2], out, &mut []);
        };
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            out.fill(f32::NAN);
            run_on(out[1..].as_mut_ptr(), isa);
            for (at, &got) in out[1..].iter().enumerate() {
                assert_eq!(got, left[at / 2003] * right[at % 2003], "{at} on {}", isa.name());
            }
            assert!(out[0].is_nan());
        }
        let case = Case {
            dims: [
                vec![],
                vec![Dim { extent: 17, strides: [1, 0, 1] }],
                vec![],
                vec![Dim { extent: 40_003, strides: [17, 1, 0] }],
            ],
            first: [0; 3],
            length: [17 * 40_003, 40_003, 17],
        };
        assert!(case.check::<f32>(&mut rng, threads).ends_with("split sum") == (threads > 1));
        assert!(case.check::<Complex<f64>>(&mut rng, threads).starts_with("line"));
        let case = Case {
            dims: [
                vec![],
                vec![Dim { extent: 2, strides: [70_001, 0, 1] }],
                vec![],
                vec![Dim { extent: 70_001, strides: [1, 1, 0] }],
            ],
            first: [0; 3],
            length: [140_002, 70_001, 2],
        };
        assert!(case.check::<f64>(&mut rng, threads).ends_with("split sum") == (threads > 2));
        let case = Case::new(&mut rng, &[vec![], vec![], vec![], vec![300_001]], true);
        assert!(case.check::<Complex<f32>>(&mut rng, threads).ends_with("split sum") == (threads > 1));
    }
}

/// Adds sums of up to 500 small terms to old values of 2^24, where single-precision numbers are 2 apart. If a sum is
/// added once, the error is at most 1, which is half of that distance. Repeated additions would cause a larger error.
fn old_values_are_added_once<T: Element>(seed: u64) {
    let mut rng = Rng(seed);
    let mut seen = std::collections::HashSet::new();
    let (old, term) = (T::from_f64(f64::from(1 << 24), f64::from(1 << 24)), T::from_f64(0.11, 0.0));
    for round in 0..300 {
        let mut space = 500;
        let mut extents: [Vec<usize>; 4] = Default::default();
        for kind in [3, rng.below(4), rng.below(3), 3, rng.below(4)] {
            let extent = extent(&mut rng, space);
            space /= extent;
            extents[kind].push(extent);
        }
        let case = Case::new(&mut rng, &extents, round % 2 == 0);
        let (left, right) = (vec![T::ONE; case.length[0]], vec![term; case.length[1]]);
        let plan = case.plan::<T>(1);
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let mut out = vec![old; case.length[2]];
            let mut workspace = vec![T::ZERO; plan.workspace_elements()];
            let operands = [left[case.first[0]..].as_ptr(), right[case.first[1]..].as_ptr()];
            let to = out[case.first[2]..].as_mut_ptr();
            // SAFETY: the case's loops stay inside its tensors, and elements of `out` are distinct.
            unsafe { run(&plan, isa, (T::ONE, T::ONE), operands, [false; 2], to, &mut workspace) };
            let want = f64::from(1 << 24) + 0.11 * case.terms() as f64;
            let off = |got: &T| (got.to_c64().re - want).abs();
            case.visit(|[_, _, at]| {
                assert!(off(&out[at]) < 1.01, "{:?}: {:?} not {want}, {plan:?}", case.dims, out[at])
            });
        }
        seen.insert(std::mem::discriminant(&plan.shares[0].nest));
    }
    assert_eq!(seen.len(), 3, "line, dots and any");
}

#[test]
fn old_values_are_added_once_in_single_precision() {
    old_values_are_added_once::<f32>(7);
    old_values_are_added_once::<Complex<f32>>(8);
}
