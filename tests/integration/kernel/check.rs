//! Contracts a random case with every kernel, and compares each result with the expected one.

use super::case::{Case, caches};
use super::coverage::Coverage;
use super::expected::{expected, index_of};
use super::targets::{kernels, name};
use super::tensor::{Order, Tensor};
use crate::common::Rng;
use crate::common::kernels::{contract_planned, plan};
use einsum_dist::kernel::{Element, ReferenceValue, Workspace, error_bound};
use einsum_dist::local_plan::Target;
use ndarray::ArrayViewD;
use num_complex::Complex;

/// State that one thread reuses for all cases.
pub struct Bench {
    pub rng: Rng,
    /// Pools of 1, 2 and 3 threads.
    pools: Vec<rayon::ThreadPool>,
    workspace: Workspace,
    pub coverage: Coverage,
}

/// One case with its tensors.
struct Trial<T> {
    case: Case,
    operands: [Tensor<T>; 2],
    /// Contents of `out` before each contraction.
    before: Tensor<T>,
    alpha: T,
    beta: T,
    /// Expected value of each element of `out`, and the magnitude to which its error is relative.
    want: Vec<(Complex<f64>, f64)>,
}

/// Value that fills the gaps around `out`.
fn mark<T: Element>() -> T {
    T::from_f64(77.0, 0.0)
}

fn factor<T: Element>(rng: &mut Rng) -> T {
    match rng.below(5) {
        0 => T::ZERO,
        1 => T::ONE,
        2 => T::from_f64(-1.0, 0.0),
        3 => T::from_f64(0.5, 1.0),
        _ => rng.element(),
    }
}

impl<T: Element> Trial<T> {
    fn new(rng: &mut Rng, case: Case, order: Order) -> Trial<T> {
        let left = Tensor::random(rng, &case.shape(&case.left), order, true);
        let right = Tensor::random(rng, &case.shape(&case.right), order, true);
        let mut before = Tensor::<T>::random(rng, &case.shape(&case.out), order, false);
        let (alpha, beta) = (factor::<T>(rng), factor::<T>(rng));
        let values: Vec<T> = before.view().iter().copied().collect();
        before.fill_memory(mark());
        let nan = T::from_f64(f64::NAN, f64::NAN);
        before.view_mut().iter_mut().zip(&values).for_each(|(element, &value)| {
            *element = if beta == T::ZERO { nan } else { value };
        });
        let sums = expected(rng, &case, &left.view(), &right.view());
        let want = sums.into_iter().zip(values).map(|(sum, value)| update(alpha, sum, beta, value)).collect();
        Trial { case, operands: [left, right], before, alpha, beta, want }
    }

    fn describe(&self, target: &Target) -> String {
        let Trial { case, operands: [left, right], before, alpha, beta, .. } = self;
        let strides = [left.view(), right.view(), before.view()].map(|view| view.strides().to_vec());
        let dtype = T::DTYPE.name();
        format!("{dtype} {case:?} strides {strides:?} alpha {alpha:?} beta {beta:?} for {target:?}")
    }
}

fn update<T: Element>(alpha: T, sum: ReferenceValue, beta: T, before: T) -> (Complex<f64>, f64) {
    let (alpha, beta, before) = (alpha.to_c64(), beta.to_c64(), before.to_c64());
    let value = alpha * sum.value + beta * before;
    (value, alpha.norm() * sum.magnitude + (beta * before).norm())
}

fn same_bits<T: Element>(left: &[T], right: &[T]) -> bool {
    let bits = |value: &T| {
        let Complex { re, im } = value.to_c64();
        (re.to_bits(), im.to_bits())
    };
    left.iter().zip(right).all(|(a, b)| bits(a) == bits(b))
}

impl Bench {
    pub fn new(seed: u64) -> Bench {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let pools = (1..=3).map(pool).collect();
        Bench { rng: Rng::new(seed), pools, workspace: Workspace::new(), coverage: Coverage::default() }
    }

    /// Contracts a case with every kernel.
    pub fn check<T: Element>(&mut self, case: Case, order: Order) {
        self.coverage.count("cases");
        self.coverage.count(if case.space() == 0 { "empty cases" } else { "cases with elements" });
        let trial = Trial::<T>::new(&mut self.rng, case, order);
        for kernel in kernels(T::DTYPE) {
            let (threads, caches) = (1 + self.rng.below(3), caches(&mut self.rng));
            self.run(&trial, &Target { caches, threads, ..kernel });
        }
    }

    fn run<T: Element>(&mut self, trial: &Trial<T>, target: &Target) {
        let Trial { case, operands: [left, right], before, alpha, beta, want } = trial;
        let [left, right] = [left.view(), right.view()];
        let planned = plan((&case.left, &left), (&case.right, &right), (&case.out, &before.view()), target);
        self.coverage.record(&name(target), &planned);
        let (poison, threads) = (self.rng.one_in(4), 1 + self.rng.below(3));
        let (pools, workspace) = (&self.pools, &mut self.workspace);
        let mut contract = |threads: usize, left: ArrayViewD<T>, right: ArrayViewD<T>| {
            let mut out = before.clone();
            let view = out.view_mut();
            let run = || contract_planned(&planned, *alpha, left, right, *beta, view, workspace);
            pools[threads - 1].install(run).unwrap();
            out
        };
        if poison {
            // Fills the used part of the workspace with NaN. A kernel that reads stale workspace would then yield NaN.
            let nan = [0, 1].map(|operand| trial.operands[operand].filled(T::from_f64(f64::NAN, f64::NAN)));
            contract(target.threads, nan[0].view(), nan[1].view());
        }
        let mut out = contract(target.threads, left.view(), right.view());
        let tolerance = error_bound(T::DTYPE, case.terms() as u64 + 1, 3);
        for (number, (&(value, magnitude), got)) in want.iter().zip(out.view().iter()).enumerate() {
            let error = (got.to_c64() - value).norm();
            assert!(
                error <= tolerance * magnitude,
                "{got:?} instead of {value} at {:?}: {}",
                index_of(case, number),
                trial.describe(target)
            );
        }
        // The division of the work depends only on the plan, so the result must have the same bits with any number of
        // threads.
        let again = contract(threads, left.view(), right.view());
        assert!(same_bits(out.memory(), again.memory()), "other bits on {threads} threads: {}", trial.describe(target));
        assert!(out.gaps_are(mark()), "wrote outside out: {}", trial.describe(target));
        assert!(self.workspace.bytes() >= planned.workspace_elements() * size_of::<T>());
    }
}
