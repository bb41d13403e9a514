//! Contractions of two-dimensional arrays that are distributed block-cyclically, on local arrays of the caller.

use std::hash::Hash;

use einsum_dist::{DistTensor, Dtype, Element, FixedDistributions, Lent, PlanOptions, Problem, Program, Result};

use super::context::Context;
use super::matrix::{Layout, Local};

/// What a compiled program depends on. Leading dimensions may differ in every call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Signature {
    dtype: Dtype,
    expression: &'static str,
    conjugated: Vec<usize>,
    layouts: Vec<Layout>,
    accumulate: bool,
}

/// A distributed matrix of a call.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<T> {
    pub layout: Layout,
    pub local: Local<T>,
}

/// What to contract.
#[derive(Debug, Clone)]
pub struct Form {
    /// With rows and columns of each matrix as they are stored.
    pub expression: &'static str,
    /// Operands to conjugate.
    pub conjugated: Vec<usize>,
}

/// `out = alpha * contraction + beta * out`. Collective over the context.
///
/// # Safety
/// The local parts of all matrices live during the call; nothing else accesses them, and that of `out` is in no operand.
pub unsafe fn contract<T: Element>(
    context: &mut Context,
    form: Form,
    alpha: T,
    operands: &[Matrix<T>],
    beta: T,
    out: Matrix<T>,
) -> Result<()> {
    let Context { world, machine, ranks, programs } = context;
    let Form { expression, conjugated } = form;
    let accumulate = beta != T::ZERO;
    let layouts = operands.iter().chain([&out]).map(|matrix| matrix.layout).collect();
    let signature = Signature { dtype: T::DTYPE, expression, conjugated: conjugated.clone(), layouts, accumulate };
    let compile = || -> Result<(Program<T>, u64)> {
        let shapes: Vec<Vec<usize>> = operands.iter().map(|matrix| matrix.layout.shape().to_vec()).collect();
        let fixed = FixedDistributions {
            operands: operands.iter().map(|matrix| Some(matrix.layout.distribution(ranks))).collect(),
            output: Some(out.layout.distribution(ranks)),
        };
        let options = PlanOptions::default().dtype(T::DTYPE).fixed(fixed).conjugate(conjugated);
        let options = options.accumulate(accumulate);
        let plan = Problem::parse(expression)?.shapes(&shapes)?.plan(machine, &options)?;
        Ok((world.compile(&plan)?, plan.peak_bytes(0)))
    };
    let program = programs.get_or_compile(signature, compile)?;
    let lent = |matrix: &Matrix<T>, ranks: &[usize]| {
        let (shape, distribution) = (matrix.layout.shape(), matrix.layout.distribution(ranks));
        // SAFETY: guaranteed by the caller.
        DistTensor::lent(world, &shape, &distribution, |_, _| unsafe { Lent::new(matrix.local.view()) })
    };
    let tensors: Vec<DistTensor<T>> = operands.iter().map(|matrix| lent(matrix, ranks)).collect::<Result<_>>()?;
    let mut out = lent(&out, ranks)?;
    program.run_dist(alpha, &tensors.iter().collect::<Vec<_>>(), beta, &mut out)
}
