//! Compares the rounding errors of long sums with the bounds that `--check` uses.
//!
//! With constant elements, every addition rounds in the same direction, so the errors accumulate as in the worst case.

use einsum_dist::dims::Label;
use einsum_dist::dtype::Dtype;
use einsum_dist::kernel::{Element, Workspace, available, error_bound, has_xsmm, host};
use einsum_dist::local_plan::{Isa, KernelFamily, Layout, SumKind, Target, longest_chain, longest_visits, plan_unary};
use einsum_dist::{Machine, PlanOptions, Problem};
use ndarray::{Array2, ArrayD, ArrayViewD, Dimension, IxDyn, ShapeBuilder, s};
use num_complex::Complex;

use crate::common::Rng;
use crate::common::kernels::{contract_planned, plan, unary_planned};

#[test]
fn bounds_depend_on_the_precision_and_on_complex_products() {
    assert!(error_bound(Dtype::Float64, 1000, 2) < 1e-12);
    assert!(error_bound(Dtype::Complex64, 10, 2) > error_bound(Dtype::Float32, 10, 2));
}

#[test]
fn long_sums_have_short_chains_and_few_visits() {
    assert_eq!(longest_chain(100, SumKind::Products), 100);
    assert!(longest_chain(1_000_000_000, SumKind::Number) < 260);
    assert_eq!(longest_visits(1 << 40, SumKind::Number), 1);
    assert_eq!(longest_visits(100, SumKind::Loops), 1);
    assert_eq!(longest_visits(1_000, SumKind::Products), 4);
}

fn labels(text: &str) -> Vec<Label> {
    text.bytes().map(|b| Label(u32::from(b))).collect()
}

/// Values of the elements.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    Constant,
    Positive,
    Signed,
}

const DATA: [Data; 3] = [Data::Constant, Data::Positive, Data::Signed];

fn tensor<T: Element>(rng: &mut Rng, shape: &[usize], columns: bool, data: Data) -> ArrayD<T> {
    let mut values = ArrayD::from_elem(IxDyn(shape).set_f(columns), T::ZERO);
    values.iter_mut().for_each(|value| {
        let random = (rng.below(1 << 20) as f64 + 0.5) / (1 << 20) as f64;
        *value = match data {
            Data::Constant => T::from_f64(0.1, 0.1),
            Data::Positive => T::from_f64(random, random),
            Data::Signed => T::from_f64(random - 0.5, 0.3 - random),
        };
    });
    values
}

fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|&isa| available(isa))
}

/// Largest error of any element, relative to the sum of its absolute products.
fn worst<T: Element>(got: &ArrayD<T>, want: &[(Complex<f64>, f64)]) -> f64 {
    got.iter().zip(want).map(|(got, (value, sum))| (got.to_c64() - value).norm() / sum).fold(0.0, f64::max)
}

/// Compensated sums of terms, and the sum of their absolute values. The values and the rounding errors of the additions
/// are accumulated separately, so the total is more accurate than any plain sum in double precision.
#[derive(Clone, Default)]
struct Exact {
    parts: [(f64, f64); 2],
    magnitude: f64,
}

impl Exact {
    fn add(&mut self, term: Complex<f64>) {
        for ((sum, errors), term) in self.parts.iter_mut().zip([term.re, term.im]) {
            let next = *sum + term;
            let of_term = next - *sum;
            *errors += (*sum - (next - of_term)) + (term - of_term);
            *sum = next;
        }
        self.magnitude += term.norm();
    }

    fn total(&self) -> (Complex<f64>, f64) {
        let [re, im] = self.parts.map(|(sum, errors)| sum + errors);
        (Complex::new(re, im), self.magnitude)
    }
}

/// Strides of a tensor for the labels from `a` on. A label that occurs twice has the stride of the diagonal.
fn steps<T: Element>(labels: &[Label], tensor: &ArrayD<T>) -> [usize; 4] {
    let mut steps = [0; 4];
    labels.iter().zip(tensor.strides()).for_each(|(label, &stride)| steps[label.0 as usize - 97] += stride as usize);
    steps
}

fn dense_steps(labels: &[Label], shape: &[usize]) -> [usize; 4] {
    steps(labels, &ArrayD::from_elem(IxDyn(shape), 0.0f32))
}

fn offset(steps: &[usize; 4], index: &[usize]) -> usize {
    index.iter().zip(steps).map(|(at, step)| at * step).sum()
}

/// Requires that the errors of the contraction `text` are within the bound, with every kernel. `sizes` are the extents
/// of the labels in alphabetical order, from `a` on.
fn contraction<T: Element>(text: &str, sizes: &[usize], of: SumKind, columns: bool, data: Data) {
    // Kernels for other element types differ only in their vectors, so these types are tested only with constant data.
    if T::DTYPE != Dtype::Float32 && data != Data::Constant {
        return;
    }
    let (operands, out) = text.split_once("->").unwrap();
    let (left, right) = operands.split_once(',').unwrap();
    let [left, right, out] = [left, right, out].map(labels);
    let shape = |labels: &[Label]| labels.iter().map(|l| sizes[l.0 as usize - 97]).collect::<Vec<_>>();
    let mut rng = Rng::new(sizes.iter().sum::<usize>() as u64);
    let (a, b) =
        (tensor::<T>(&mut rng, &shape(&left), false, data), tensor::<T>(&mut rng, &shape(&right), columns, data));
    let terms: usize = sizes.iter().product::<usize>() / shape(&out).iter().product::<usize>();
    let mut want = vec![Exact::default(); shape(&out).iter().product()];
    let steps = [steps(&left, &a), steps(&right, &b), dense_steps(&out, &shape(&out))];
    let [x, y] = [&a, &b].map(|operand| operand.as_slice_memory_order().unwrap());
    for index in ndarray::indices(IxDyn(sizes)) {
        let [l, r, o] = steps.each_ref().map(|steps| offset(steps, index.slice()));
        want[o].add(x[l].to_c64() * y[r].to_c64());
    }
    let want: Vec<_> = want.iter().map(Exact::total).collect();
    let bound = error_bound(T::DTYPE, longest_chain(terms as u64, of) + 2, 2);
    // LIBXSMM selects an instruction set by itself, so it needs only one target.
    let xsmm = has_xsmm().then(|| Target { family: KernelFamily::Xsmm, threads: 1, ..host() });
    let own = isas().flat_map(|isa| [(isa, 1), (isa, 2)]).map(|(isa, threads)| Target { isa, threads, ..host() });
    for target in own.chain(xsmm) {
        let mut c = ArrayD::from_elem(IxDyn(&shape(&out)), T::from_f64(f64::NAN, 0.0));
        let plan = plan((&left, &a.view()), (&right, &b.view()), (&out, &c.view()), &target);
        let mut workspace = Workspace::new();
        contract_planned(&plan, T::ONE, a.view(), b.view(), T::ZERO, c.view_mut(), &mut workspace).unwrap();
        let error = worst(&c, &want);
        assert!(error <= bound, "{text} {sizes:?} for {target:?}: {error:e}, not {bound:e}: {:?}", plan.body());
        let again = c.clone();
        contract_planned(&plan, T::ONE, a.view(), b.view(), T::ZERO, c.view_mut(), &mut workspace).unwrap();
        assert!(c == again, "other bits");
        // Accumulates the scaled product onto the previous result.
        let (two, half) = (T::from_f64(2.0, 0.0), T::from_f64(0.5, 0.0));
        contract_planned(&plan, half, a.view(), b.view(), two, c.view_mut(), &mut workspace).unwrap();
        let twice: Vec<_> = want.iter().map(|&(value, sum)| (value * 2.5, sum * 2.5)).collect();
        assert!(worst(&c, &twice) <= 2.0 * bound, "{text} {sizes:?} onto out for {target:?}");
    }
}

#[test]
fn contractions_of_every_nest() {
    for data in DATA {
        // Dot products of dense operands, and of operands with different strides, stored in long and in short
        // contiguous runs.
        contraction::<f32>("a,a->", &[100_001], SumKind::Number, false, data);
        contraction::<f64>("a,a->", &[100_001], SumKind::Number, false, data);
        contraction::<Complex<f32>>("a,a->", &[100_001], SumKind::Number, false, data);
        contraction::<Complex<f64>>("a,a->", &[50_001], SumKind::Number, false, data);
        contraction::<f32>("ab,ba->", &[300, 301], SumKind::Number, false, data);
        contraction::<f32>("ab,ba->", &[2, 30_000], SumKind::Number, false, data);
        contraction::<Complex<f32>>("ab,ab->", &[300, 301], SumKind::Number, true, data);
        // Matrix-vector products with both orders of the matrix, with few and with many rows.
        contraction::<f32>("ab,b->a", &[3, 40_003], SumKind::Loops, false, data);
        contraction::<f32>("ba,b->a", &[3, 40_003], SumKind::Loops, false, data);
        contraction::<f32>("ba,b->a", &[70, 5_003], SumKind::Loops, false, data);
        contraction::<Complex<f32>>("ba,b->a", &[17, 20_003], SumKind::Loops, false, data);
        contraction::<f64>("cab,cb->a", &[5, 200, 150], SumKind::Loops, false, data);
        // Batches of dot products, with contiguous and with strided summands.
        contraction::<f32>("ab,ab->a", &[4, 50_003], SumKind::Loops, false, data);
        contraction::<f32>("ba,ba->a", &[4, 50_003], SumKind::Loops, false, data);
        contraction::<f32>("ab,ba->a", &[4, 50_003], SumKind::Loops, false, data);
    }
}

#[test]
fn matrix_products_of_deep_sums() {
    for data in DATA {
        contraction::<f32>("ab,bc->ac", &[4, 40_000, 4], SumKind::Products, false, data);
        contraction::<f32>("ba,bc->ac", &[2, 60_000, 2], SumKind::Products, false, data);
        contraction::<f64>("ab,cb->ac", &[3, 30_000, 5], SumKind::Products, false, data);
        contraction::<Complex<f32>>("ab,bc->ac", &[4, 20_000, 4], SumKind::Products, false, data);
        contraction::<f32>("dab,dbc->dac", &[4, 20_000, 4, 3], SumKind::Products, false, data);
    }
}

fn sums<T: Element>(text: &str, sizes: &[usize], columns: bool, data: Data) {
    let (input, out) = text.split_once("->").unwrap();
    let (input, out) = (labels(input), labels(out));
    let shape = |labels: &[Label]| labels.iter().map(|l| sizes[l.0 as usize - 97]).collect::<Vec<_>>();
    let mut rng = Rng::new(sizes.iter().sum::<usize>() as u64);
    let a = tensor::<T>(&mut rng, &shape(&input), columns, data);
    let terms: usize = sizes.iter().product::<usize>() / shape(&out).iter().product::<usize>();
    let mut want = vec![Exact::default(); shape(&out).iter().product()];
    let (from, to) = (steps(&input, &a), dense_steps(&out, &shape(&out)));
    let x = a.as_slice_memory_order().unwrap();
    for index in ndarray::indices(IxDyn(sizes)) {
        want[offset(&to, index.slice())].add(x[offset(&from, index.slice())].to_c64());
    }
    let want: Vec<_> = want.iter().map(Exact::total).collect();
    let bound = error_bound(T::DTYPE, longest_chain(terms as u64, SumKind::Number), 0);
    for (isa, threads) in isas().flat_map(|isa| [(isa, 1), (isa, 3)]) {
        let mut c = ArrayD::from_elem(IxDyn(&shape(&out)), T::from_f64(f64::NAN, 0.0));
        let layouts = [(&input, a.shape(), a.strides()), (&out, c.shape(), c.strides())];
        let [from, to] = layouts.map(|(labels, shape, strides)| Layout::new(labels, shape, strides));
        let plan = plan_unary(&from, &to, T::DTYPE, &Target { isa, threads, ..host() });
        unary_planned(&plan, isa, a.view(), c.view_mut());
        let error = worst(&c, &want);
        assert!(error <= bound, "{text} {sizes:?} on {}: {error:e}, not {bound:e}", isa.name());
        let again = c.clone();
        unary_planned(&plan, isa, a.view(), c.view_mut());
        assert!(c == again, "other bits");
    }
}

#[test]
fn sums_of_one_tensor() {
    for data in DATA {
        sums::<f32>("a->", &[300_003], false, data);
        sums::<f64>("a->", &[300_003], false, data);
        sums::<Complex<f32>>("a->", &[300_003], false, data);
        sums::<Complex<f64>>("a->", &[100_003], false, data);
        // A sum along a diagonal.
        sums::<f32>("aa->", &[1_001], false, data);
        // Sums along short diagonals of real and of complex elements, and along a long complex diagonal.
        sums::<f32>("abb->", &[20_000, 2], false, data);
        sums::<f32>("abb->", &[2_000, 16], false, data);
        sums::<Complex<f32>>("abb->", &[3_000, 5], false, data);
        sums::<Complex<f32>>("aa->", &[1_001], false, data);
        sums::<f32>("ab->a", &[3, 70_003], false, data);
        sums::<f32>("abc->b", &[5_001, 3, 17], false, data);
        sums::<f32>("ba->a", &[3, 70_003], false, data);
        sums::<f32>("ba->a", &[700, 1_003], false, data);
        sums::<Complex<f64>>("ba->a", &[5, 50_003], false, data);
        sums::<f32>("ab->a", &[5, 40_003], true, data);
    }
}

/// Tests sums of short contiguous runs, with gaps between them that prevent fusing the runs into one.
#[test]
fn sums_of_short_lines() {
    fn short<T: Element>(width: usize) {
        let lines = 40_000;
        let whole = Array2::from_elem([lines, width + 1], T::from_f64(0.1, 0.0));
        let part: ArrayViewD<T> = whole.slice(s![.., ..width]).into_dyn();
        let ab = labels("ab");
        let (terms, value) = ((lines * width) as u64, whole[[0, 0]].to_c64().re);
        let chain = longest_chain(terms, SumKind::Number);
        let off = |got: T, want: f64| (got.to_c64().re - want).abs() / want;
        for (isa, threads) in isas().flat_map(|isa| [(isa, 1), (isa, 3)]) {
            let mut sum = ArrayD::from_elem(IxDyn(&[]), T::ZERO);
            let layout = Layout::new(&ab, part.shape(), part.strides());
            let plan_of_sum =
                plan_unary(&layout, &Layout::new(&[], &[], &[]), T::DTYPE, &Target { isa, threads, ..host() });
            unary_planned(&plan_of_sum, isa, part.view(), sum.view_mut());
            let error = off(sum[[]], terms as f64 * value);
            assert!(error <= error_bound(T::DTYPE, chain, 0), "{:?} by {width} on {isa:?}: {error:e}", T::DTYPE);
            let target = Target { isa, threads, ..host() };
            let plan = plan((&ab, &part), (&ab, &part), (&[], &sum.view()), &target);
            let mut workspace = Workspace::new();
            contract_planned(&plan, T::ONE, part.view(), part.view(), T::ZERO, sum.view_mut(), &mut workspace).unwrap();
            let error = off(sum[[]], terms as f64 * value * value);
            assert!(error <= error_bound(T::DTYPE, chain + 2, 2), "dots of {:?} by {width}: {error:e}", T::DTYPE);
        }
    }
    for width in [2, 3, 5, 7] {
        short::<f32>(width);
        short::<f64>(width);
        short::<Complex<f32>>(width);
    }
}

/// Tests LIBXSMM's generated code for a long k, which is cut into blocks. The sum over each block of k starts at 0 and
/// is added to `out` afterwards.
#[test]
fn generated_products_of_deep_sums() {
    if !has_xsmm() {
        return;
    }
    for (text, shape) in [("mk,kn->mn", [[64, 16_000], [16_000, 64]]), ("km,kn->mn", [[20_000, 32], [20_000, 32]])] {
        let [left, right, out] = [&text[..2], &text[3..5], "mn"].map(labels);
        let [a, b] = shape.map(|shape| ArrayD::from_elem(IxDyn(&shape), 0.7f32));
        let depth = a.len() / if text.starts_with('m') { shape[0][0] } else { shape[0][1] };
        let mut c = ArrayD::from_elem(IxDyn(&[a.len() / depth, b.len() / depth]), 0.0f32);
        let target = Target { family: KernelFamily::Xsmm, threads: 1, ..host() };
        let plan = plan((&left, &a.view()), (&right, &b.view()), (&out, &c.view()), &target);
        let mut workspace = Workspace::new();
        contract_planned(&plan, 1.0, a.view(), b.view(), 0.0, c.view_mut(), &mut workspace).unwrap();
        let want = f64::from(0.7f32).powi(2) * depth as f64;
        let error = c.iter().map(|&got| (f64::from(got) - want).abs() / want).fold(0.0, f64::max);
        let bound = error_bound(Dtype::Float32, longest_chain(depth as u64, SumKind::Products), 2);
        assert!(error <= bound, "{text}: {error:e}, not {bound:e}: {:?}", plan.body());
    }
}

/// Adding products to `out` costs one more rounded addition to its previous contents, and the error bound must account
/// for it.
#[test]
fn small_products_onto_out() {
    let (runs, depth) = (400, 64);
    let (a, b) = (ArrayD::from_elem(IxDyn(&[5, 8, depth]), 0.1f32), ArrayD::from_elem(IxDyn(&[5, depth, 8]), 0.1f32));
    let [left, right, out] = ["bmk", "bkn", "bmn"].map(labels);
    let mut families = vec![KernelFamily::Own];
    families.extend(has_xsmm().then_some([KernelFamily::Mixed, KernelFamily::Xsmm]).into_iter().flatten());
    for family in families {
        let mut c = ArrayD::from_elem(IxDyn(&[5, 8, 8]), 0.0f32);
        let target = Target { family, threads: 1, ..host() };
        let plan = plan((&left, &a.view()), (&right, &b.view()), (&out, &c.view()), &target);
        let mut workspace = Workspace::new();
        for _ in 0..runs {
            contract_planned(&plan, 1.0, a.view(), b.view(), 1.0, c.view_mut(), &mut workspace).unwrap();
        }
        let want = f64::from(0.1f32).powi(2) * (runs * depth) as f64;
        let error = c.iter().map(|&got| (f64::from(got) - want).abs() / want).fold(0.0, f64::max);
        let bound = error_bound(Dtype::Float32, (runs + depth) as u64, 2);
        assert!(error <= bound, "{family:?}: {error:e}, not {bound:e}");
    }
}

/// Steps that extract a diagonal may also sum, and the plan must count the roundings of these sums.
#[test]
fn sums_of_diagonals_are_counted() {
    for (text, shape, terms) in [
        ("ii->", vec![3_000, 3_000], 3_000),
        ("iij->j", vec![40, 40, 7], 40),
        ("aab->", vec![30, 30, 50], 1_500),
        ("aabc->b", vec![30, 30, 5, 20], 600),
        ("iij->ij", vec![40, 40, 7], 0),
    ] {
        for ranks in [1, 2] {
            let shaped = Problem::parse(text).unwrap().shapes(std::slice::from_ref(&shape)).unwrap();
            let counted = shaped.plan(&Machine::new(ranks, 1), &PlanOptions::default()).unwrap().roundings();
            let least = longest_chain(terms, SumKind::Number) + if terms > 0 { ranks as u64 - 1 } else { 0 };
            assert!((least..least + 4).contains(&counted), "{text} on {ranks}: {counted}, not {least}");
        }
    }
}
